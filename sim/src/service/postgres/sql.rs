//! The subset of SQL that elections and small services use; anything beyond it is refused.

mod expression;
mod lexer;
mod parser;
mod statement;
mod writes;

pub use parser::parse;
pub use statement::*;
