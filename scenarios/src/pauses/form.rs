//! The content of a log of pauses.

use crate::units::Unread;
use std::fmt;

/// Observed pauses.
#[derive(Clone, PartialEq, Debug)]
pub struct Pauses {
    /// Milliseconds, ascending.
    pub lengths_ms: Vec<f64>,
    /// How long the process was observed, milliseconds; `None` if the log does not tell.
    pub over_ms: Option<f64>,
    pub form: Form,
}

/// Why no pauses can be read from a log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoPauses {
    #[error("there is no pause in it")]
    None,
    #[error("line {line}: {why}")]
    Line { line: usize, why: Unread },
}

/// The format of a log of pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `-Xlog:safepoint`: every stop of a JVM's threads, garbage collection included.
    JvmSafepoints,
    /// `-Xlog:gc`: the JVM's collector alone.
    JvmCollections,
    /// `GODEBUG=gctrace=1`.
    Go,
    /// One duration per line.
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

/// The span of times in seconds, as milliseconds; `None` for fewer than two distinct times.
pub(super) fn span_ms(times_s: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let first = times_s.clone().reduce(f64::min)?;
    let last = times_s.reduce(f64::max)?;
    (last > first).then_some((last - first) * 1e3)
}
