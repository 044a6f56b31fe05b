//! Why a check failed.

use std::{fmt, path::PathBuf};

/// Why a check failed, and what to do: the text that [`World::check`](crate::World::check) panics with.
#[derive(Clone)]
pub struct Failure {
    pub kind: Kind,
    text: String,
    /// What it took, if a run was broken.
    pub broken: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Two leaders took effect, or another invariant of safety was violated.
    Safety,
    /// Nobody wrote for too long, although it was possible.
    Liveness,
    /// What a scenario is about did not arise in any run.
    Inconclusive,
    /// Nobody ever wrote.
    NobodyWrites,
    /// A leader died, and nobody else wrote.
    NobodyTakesOver,
    /// The check itself is wrong, as described.
    Wrong,
    /// A run could not be finished.
    Harness,
}

/// The run that failed.
#[derive(Clone, Debug)]
pub struct Broken {
    pub scenario: String,
    pub seed: u64,
    /// The invariants that were violated.
    pub violated: Vec<&'static str>,
    /// How many runs had been made, this one included.
    pub runs: u64,
    /// Its files: the page, the report, the plans.
    pub folder: PathBuf,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: String) -> Failure {
        Failure { kind, text, broken: None }
    }

    pub(crate) fn of(self, broken: Broken) -> Failure {
        Failure { broken: Some(broken), ..self }
    }

    pub(crate) fn wrong(why: impl fmt::Display) -> Failure {
        Failure::new(Kind::Wrong, why.to_string())
    }

    pub(crate) fn harness(why: impl fmt::Display) -> Failure {
        Failure::new(Kind::Harness, why.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `unwrap` shows the text as it is.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
