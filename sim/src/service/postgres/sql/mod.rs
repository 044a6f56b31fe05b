//! SQL, as much as elections use, and what goes beyond it refused: statements as data, and how they are read.

mod expression;
mod lexer;
mod parser;
mod statement;
mod writes;

pub use parser::parse;
pub use statement::*;
