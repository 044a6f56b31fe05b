//! Writes that a resource accepts only from the newest leader that it has seen.
//!
//! A fence gives an order: once a newer leader has written, an older one is refused. It does not make a write happen
//! once. A leader that is interrupted may have written, and its successor will do the work again unless the data says
//! that it is done. So each fence says how a request is made once: with a name of its own, which is kept beside the
//! write and changes with it.
//!
//! Fences are per resource: a leader that has written one has not fenced another.

#[cfg(any(
    feature = "etcd",
    feature = "http",
    feature = "object-store",
    feature = "postgres",
    feature = "redis",
    feature = "sqlx",
    feature = "store"
))]
mod common;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "object-store")]
pub mod object_store;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "postgres", feature = "sqlx"))]
mod sql;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[cfg(feature = "store")]
pub mod store;

use crate::ended::Ended;

/// Why a fenced write did not happen, or may not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FenceError<E> {
    /// The leadership was over, or the resource refused its token; this attempt wrote nothing. A client that tries
    /// again by itself, as those of object stores and Redis clusters do, may have written before.
    #[error("not written: {0}")]
    Over(Ended),
    /// An error of the write itself, as which this one is shown: its source is that one's.
    #[error(transparent)]
    Write(E),
}
