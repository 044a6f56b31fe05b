//! What a log of pauses says.

use crate::units::Unread;
use std::fmt;

/// Pauses that were seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Pauses {
    /// Their lengths, milliseconds, in rising order.
    pub lengths_ms: Vec<f64>,
    /// The time in which they were seen, milliseconds; `None` when the log does not say.
    pub over_ms: Option<f64>,
    /// What the log was.
    pub form: Form,
}

/// Why a log tells of no pauses.
#[allow(missing_docs, reason = "each says itself")]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoPauses {
    #[error("there is no pause in it")]
    None,
    #[error("line {line}: {why}")]
    Line { line: usize, why: Unread },
}

/// What a log of pauses is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `-Xlog:safepoint`: all that stops a JVM's threads, garbage collection among it.
    JvmSafepoints,
    /// `-Xlog:gc`: the JVM's collector alone.
    JvmCollections,
    /// `GODEBUG=gctrace=1`.
    Go,
    /// One duration a line.
    Durations,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Form::JvmSafepoints => "JVM safepoints",
            Form::JvmCollections => "JVM garbage collection",
            Form::Go => "Go garbage collection",
            Form::Durations => "a list of durations",
        })
    }
}

/// From the first to the last of these times, seconds, in milliseconds; `None` when there are fewer than two of them.
pub(super) fn span_ms(times_s: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let first = times_s.clone().reduce(f64::min)?;
    let last = times_s.reduce(f64::max)?;
    (last > first).then_some((last - first) * 1e3)
}
