//! Writes that a resource accepts only from the newest leader that it has seen.
//!
//! A fence gives an order: once a newer leader has written, an older one is refused. It does not make a write happen
//! once. A leader that is interrupted may have written, and its successor will do the work again unless the data says
//! that it is done. So each fence says how a request is made once: with a name of its own, which is kept beside the
//! write and changes with it.
//!
//! Fences are per resource: a leader that has written one has not fenced another.

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

use crate::{
    ended::Ended,
    lead::{Fenced, Lead},
};

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

/// Where a leader has asked nothing of a resource yet.
#[cfg(any(
    feature = "etcd",
    feature = "http",
    feature = "object-store",
    feature = "postgres",
    feature = "redis",
    feature = "sqlx"
))]
fn begin<E>(lead: &Lead<Fenced>) -> Result<(), FenceError<E>> {
    lead.check().map_err(FenceError::Over)
}

/// A resource has refused the token: this leadership is over.
#[cfg(any(
    feature = "etcd",
    feature = "http",
    feature = "object-store",
    feature = "postgres",
    feature = "redis",
    feature = "sqlx"
))]
fn refused<T, E>(lead: &Lead<Fenced>) -> Result<T, FenceError<E>> {
    lead.refused();
    Err(FenceError::Over(Ended::Refused))
}

/// A token as text that sorts like the number.
#[cfg(any(feature = "etcd", feature = "redis"))]
fn sortable(token: u64) -> String {
    format!("{token:020}")
}

/// What a request is called beside the resource's other requests, and those of other resources.
#[cfg(any(feature = "postgres", feature = "redis", feature = "sqlx"))]
fn of_resource(resource: &str, request: &str) -> String {
    format!("{}/{request}", resource.replace('%', "%25").replace('/', "%2F"))
}
