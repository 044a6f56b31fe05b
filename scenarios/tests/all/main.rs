//! Plans: what every scenario makes of its parameters, and what is refused.

mod elections;
mod errors;
mod plans;
mod trouble;
