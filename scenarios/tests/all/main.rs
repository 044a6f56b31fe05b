//! Plans: what every scenario makes of its parameters, and what is rejected.

mod copies;
mod elections;
mod errors;
mod own_timers;
mod plans;
mod programs;
mod trouble;
