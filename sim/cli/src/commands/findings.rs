//! The commands that analyse failures.

use super::{exhaust, exit::Stop, explain, findings_args::FindingsCommand, merge, mutants, nightly, shrink};
use sim::registry::Registry;

/// Runs one of them.
///
/// # Errors
/// Those of the command.
pub fn run(registry: &Registry, command: &FindingsCommand) -> Result<u8, Stop> {
    match command {
        FindingsCommand::Explain(args) => explain::run(registry, args),
        FindingsCommand::Shrink(args) => shrink::run(registry, args),
        FindingsCommand::Mutants(args) => mutants::run(registry, args),
        FindingsCommand::Exhaust(args) => exhaust::run(registry, args),
        FindingsCommand::Nightly(args) => nightly::run(registry, args),
        FindingsCommand::Merge(args) => merge::run(registry, args),
    }
}
