//! What all fences do.

use super::FenceError;
use crate::{
    ended::Ended,
    lead::{Fenced, Lead},
};

/// Where a leader has asked nothing of a resource yet.
pub(super) fn begin<E>(lead: &Lead<Fenced>) -> Result<(), FenceError<E>> {
    lead.check().map_err(FenceError::Over)
}

/// A resource has refused the token: this leadership is over.
pub(super) fn refused<T, E>(lead: &Lead<Fenced>) -> Result<T, FenceError<E>> {
    lead.refused();
    Err(FenceError::Over(Ended::Refused))
}

/// A token as text that sorts like the number.
#[cfg(any(feature = "etcd", feature = "redis"))]
pub(super) fn sortable(token: u64) -> String {
    format!("{token:020}")
}

/// What a request is called beside the resource's other requests, and those of other resources.
#[cfg(any(feature = "etcd", feature = "postgres", feature = "redis", feature = "sqlx"))]
pub(super) fn of_resource(resource: &str, request: &str) -> String {
    format!("{}/{request}", resource.replace('%', "%25").replace('/', "%2F"))
}
