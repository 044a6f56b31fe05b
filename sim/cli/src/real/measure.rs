//! `measure`: figures of real processes, beside the simulated ones.

mod experiments;
mod failover;
mod simulator;
mod trials;

use super::args::Measure;
use crate::terminal::exit::Stop;

/// Runs one of the commands.
pub fn run(what: &Measure) -> Result<u8, Stop> {
    match what {
        Measure::Failover(args) => failover::run(args),
        Measure::Experiments(args) => experiments::run(args),
    }
}
