//! How a run failed, for comparison with other runs.

use reports::{Judgement, Verdict, invariant::Class};
use std::{collections::BTreeSet, fmt};

/// The verdict and the violated invariants, except vacuity: an unsafe run shows its failure even if the situation under
/// test did not arise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symptom {
    pub verdict: Verdict,
    pub violated: BTreeSet<&'static str>,
}

impl Symptom {
    /// The symptom of a run; `None` if it did not fail.
    pub fn of(judgement: &Judgement) -> Option<Symptom> {
        let counts = judgement.invariants.iter().filter(|i| !i.holds && i.class != Class::Vacuity);
        match judgement.verdict {
            Verdict::Pass | Verdict::Vacuous => None,
            verdict => Some(Symptom { verdict, violated: counts.map(|i| i.name).collect() }),
        }
    }

    /// Whether the verdict is the same, and one of the violated invariants.
    pub fn resembles(&self, other: &Symptom) -> bool {
        self.verdict == other.verdict && !self.violated.is_disjoint(&other.violated)
    }
}

/// `safety (no_stale_write, one_number)`.
impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let violated: Vec<&str> = self.violated.iter().copied().collect();
        write!(f, "{} ({})", self.verdict.name(), violated.join(", "))
    }
}

/// The result of reducing a plan.
#[derive(Debug)]
pub enum Looked<T> {
    /// The plan fails; the findings.
    Failed(T),
    /// The plan does not fail.
    Holds(Verdict),
    /// The search was asked to end before it found anything.
    Interrupted,
}
