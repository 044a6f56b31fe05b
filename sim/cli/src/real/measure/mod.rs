//! `measure`: what real processes do, beside what the simulation says that they do.

mod experiments;
mod failover;
mod simulator;
mod trials;

use super::args::Measure;
use crate::terminal::exit::Stop;

/// Carries out one of the commands.
pub fn run(what: &Measure) -> Result<u8, Stop> {
    match what {
        Measure::Failover(args) => failover::run(args),
        Measure::Experiments(args) => experiments::run(args),
    }
}
