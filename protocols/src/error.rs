//! How a request can fail. *Rejected* and *unknown* are strictly separate: after the first nothing has happened, after
//! the second anything may have.

use std::fmt;

/// Why a request has no regular answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The service refused, with this message; nothing was changed.
    Rejected(String),
    /// No answer came (timeout, broken connection); the request may have taken effect, or may still do so.
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
