//! Exit codes.

use super::parse::Refused;
use logs::LogError;
use scenarios::{plan::Invalid, suggest::Unknown};
use std::fmt;

/// Safety was violated.
pub const VIOLATED: u8 = 1;
/// Wrong arguments or unreadable input.
pub const USAGE: u8 = 64;
/// The harness itself failed.
pub const HARNESS: u8 = 70;
/// The run shows nothing either way.
pub const INCONCLUSIVE: u8 = 2;
/// Not deterministic.
pub const NOT_DETERMINISTIC: u8 = 4;
/// Replay of another build refused.
pub const OTHER_BUILD: u8 = 5;
/// A sweep's figure is far outside its baseline.
pub const MOVED: u8 = 6;

/// Why a command ended early: one sentence and an exit code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    pub code: u8,
    /// What is wrong and what would be right.
    pub why: String,
}

impl Stop {
    /// The user's input is wrong.
    pub fn usage(why: impl Into<String>) -> Self {
        Stop { code: USAGE, why: why.into() }
    }

    /// The harness failed.
    pub fn harness(why: impl Into<String>) -> Self {
        Stop { code: HARNESS, why: why.into() }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Sets the exit code for each type of error.
macro_rules! ends_with {
    ($($error:ty: $code:ident),+ $(,)?) => {$(
        impl From<$error> for Stop {
            fn from(why: $error) -> Stop {
                Stop::$code(why.to_string())
            }
        }
    )+};
}
pub(crate) use ends_with;

ends_with! {
    Invalid: usage,
    Refused: usage,
    Unknown: usage,
    LogError: usage,
}
