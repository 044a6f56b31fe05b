//! Writes that a resource accepts only from the newest leader that it has seen.
//!
//! A fence gives an order: once a newer leader has written, an older one is refused. It does not make a write happen
//! once. A leader that is interrupted may have written, and its successor will do the work again unless the data says
//! that it is done: keep a row per request, with a unique key, beside the write and in its transaction.

#[cfg(feature = "postgres")]
pub mod postgres;

use crate::ended::Ended;

/// Why a fenced write did not happen, or may not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FenceError<E> {
    /// The leadership was over, or the resource refused its token; nothing was written.
    Over(Ended),
    /// An error of the write itself.
    Write(E),
}

impl<E: std::fmt::Display> std::fmt::Display for FenceError<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            FenceError::Over(why) => write!(f, "not written: {why}"),
            FenceError::Write(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for FenceError<E> {}
