//! Known bugs that can be switched on: mistakes of real systems, each in the place where it was made.
//!
//! A bug is one constant beside the code that it affects, and one `if` there, named after it: without it the code reads
//! as if there were no bug. The plan says which are switched on; electors, the fenced store and the models of services
//! consult it.

use std::{fmt, sync::Arc};

/// A bug that can be switched on.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Bug {
    /// Its name on the command line and in plans.
    pub id: &'static str,
    /// The protocols that have it; empty for all.
    pub protocols: &'static [&'static str],
    /// The mistake, in one sentence.
    pub what: &'static str,
    /// Where it happened, or what it is derived from.
    pub source: &'static str,
    /// The violated invariant, or the figure of reports that it moves, such as `metrics.elections`.
    pub violation: &'static str,
    /// The command that shows it.
    pub shown: Shown,
}

/// The command that shows a bug: a sweep with the bug switched on. The same sweep without the bug passes.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Shown {
    pub scenario: &'static str,
    pub protocol: &'static str,
    /// Further command-line options.
    pub options: &'static str,
    /// How many seeds are enough; any consecutive ones do.
    pub seeds: u64,
    /// For a figure: the fixed form never exceeds this.
    pub above: u64,
}

/// Unsafe by design or configuration, so there is nothing to switch on.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct ByDesign {
    /// The defect and what shows it; `id` only names it, and `--bug` does not accept it.
    pub bug: Bug,
    /// A correct alternative under the same faults, with its command.
    pub mended: Shown,
}

impl Shown {
    /// A sweep of this scenario with this protocol, over that many seeds.
    pub const fn by(scenario: &'static str, protocol: &'static str, seeds: u64) -> Self {
        Shown { scenario, protocol, options: "", seeds, above: 0 }
    }

    /// Adds options.
    pub const fn with(self, options: &'static str) -> Self {
        Shown { options, ..self }
    }

    /// Sets the limit of the figure.
    pub const fn above(self, above: u64) -> Self {
        Shown { above, ..self }
    }

    /// The command without the bug: `sweep gc-pause --protocol …`.
    pub fn command(&self) -> String {
        let Shown { scenario, protocol, options, seeds, .. } = self;
        let space = if options.is_empty() { "" } else { " " };
        format!("sweep {scenario} --protocol {protocol}{space}{options} --nodes 3 --seeds 0..{seeds}")
    }
}

impl Bug {
    /// Whether it can be switched on in this protocol.
    pub fn concerns(&self, protocol: &str) -> bool {
        self.protocols.is_empty() || self.protocols.contains(&protocol)
    }
}

/// The bugs that are switched on; usually none.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bugs(Arc<[&'static Bug]>);

impl Bugs {
    pub fn new(on: impl IntoIterator<Item = &'static Bug>) -> Self {
        Bugs(on.into_iter().collect())
    }

    #[inline]
    pub fn has(&self, bug: &Bug) -> bool {
        self.0.iter().any(|on| on.id == bug.id)
    }
}

impl fmt::Debug for Bugs {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|bug| bug.id)).finish()
    }
}
