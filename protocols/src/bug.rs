//! Known bugs, to be switched on: what real systems got wrong, in the place where they got it wrong.
//!
//! A bug is one constant beside the code that it spoils, and one `if` there, named after it: without it the code reads as if
//! there were none. What is switched on comes from the plan, and reaches electors, the fenced store and the models of
//! services.

use std::{fmt, sync::Arc};

/// A bug that can be switched on.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Bug {
    /// What it is called on the command line and in plans.
    pub id: &'static str,
    /// The protocols that it can be switched on in; in all of them when none is named.
    pub protocols: &'static [&'static str],
    /// What is done wrong: one sentence.
    pub what: &'static str,
    /// Where it happened, or what it is derived from.
    pub source: &'static str,
    /// The invariant that it violates; or the figure of reports that it moves, as `metrics.elections`.
    pub violation: &'static str,
    /// What shows it.
    pub shown: Shown,
}

/// The command that shows a bug: a sweep of this, with the bug switched on. The same without it holds.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Shown {
    /// The scenario.
    pub scenario: &'static str,
    /// The protocol.
    pub protocol: &'static str,
    /// Further options, as on the command line.
    pub options: &'static str,
    /// So many seeds, any that follow each other, are enough.
    pub seeds: u64,
    /// Where a figure shows it: the fixed form's is never above this.
    pub above: u64,
}

/// Unsafe by design or configuration, so there is nothing to switch on.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct ByDesign {
    /// What is wrong, and what shows it; `id` only names it, and --bug does not accept it.
    pub bug: Bug,
    /// What does right under the same faults, and whose command it is.
    pub mended: Shown,
}

impl Shown {
    /// Shown by this scenario with this protocol, within that many seeds.
    pub const fn by(scenario: &'static str, protocol: &'static str, seeds: u64) -> Self {
        Shown { scenario, protocol, options: "", seeds, above: 0 }
    }

    /// The same with these options.
    pub const fn with(self, options: &'static str) -> Self {
        Shown { options, ..self }
    }

    /// The same, where the figure is above this.
    pub const fn above(self, above: u64) -> Self {
        Shown { above, ..self }
    }

    /// The command, but for the bug: `sweep gc-pause --protocol …`.
    pub fn command(&self) -> String {
        let Shown { scenario, protocol, options, seeds, .. } = self;
        let space = if options.is_empty() { "" } else { " " };
        format!("sweep {scenario} --protocol {protocol}{space}{options} --nodes 3 --seeds 0..{seeds}")
    }
}

impl Bug {
    /// Can it be switched on in this protocol?
    pub fn concerns(&self, protocol: &str) -> bool {
        self.protocols.is_empty() || self.protocols.contains(&protocol)
    }
}

/// The bugs that are switched on; usually none.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bugs(Arc<[&'static Bug]>);

impl Bugs {
    /// These.
    pub fn new(on: impl IntoIterator<Item = &'static Bug>) -> Self {
        Bugs(on.into_iter().collect())
    }

    /// Is this one switched on?
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
