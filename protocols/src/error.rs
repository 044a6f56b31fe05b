//! How asking somebody can fail. *Rejected* and *unknown* are never mixed up: after the first nothing happened, after the
//! second anything may have.

use std::fmt;

/// Why a request brought no answer of its own kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The service said no, in these words; nothing was changed.
    Rejected(String),
    /// No answer came (timeout, broken connection); the request may have taken effect, or may yet.
    Unknown(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failure::Rejected(why) => write!(f, "rejected: {why}"),
            Failure::Unknown(why) => write!(f, "outcome unknown: {why}"),
        }
    }
}

impl std::error::Error for Failure {}
