//! How a run failed, as far as it decides whether another run failed the same way.

use reports::{Judgement, Verdict, invariant::Class};
use std::{collections::BTreeSet, fmt};

/// The verdict of a run that failed, and what it violated. Whether its situation arose as well does not count: a run that is
/// unsafe shows that it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symptom {
    /// Safety or liveness.
    pub verdict: Verdict,
    /// The invariants that did not hold.
    pub violated: BTreeSet<&'static str>,
}

impl Symptom {
    /// That of a run; `None` when it did not fail.
    pub fn of(judgement: &Judgement) -> Option<Symptom> {
        let counts = judgement.invariants.iter().filter(|i| !i.holds && i.class != Class::Vacuity);
        match judgement.verdict {
            Verdict::Pass | Verdict::Vacuous => None,
            verdict => Some(Symptom { verdict, violated: counts.map(|i| i.name).collect() }),
        }
    }
}

/// `safety (no_stale_write, one_number)`.
impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let violated: Vec<&str> = self.violated.iter().copied().collect();
        write!(f, "{} ({})", self.verdict.name(), violated.join(", "))
    }
}

/// What came of taking a plan apart.
#[derive(Debug)]
pub enum Looked<T> {
    /// It fails, and this is what was found.
    Failed(T),
    /// It does not fail.
    Holds(Verdict),
    /// It was asked to end before anything was found.
    Interrupted,
}
