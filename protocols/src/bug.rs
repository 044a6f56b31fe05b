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
    /// The invariant that it violates.
    pub violation: &'static str,
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
