//! Portals of the extended protocol.

use super::{analyse::Prepared, value::Value};
use std::sync::Arc;

/// A prepared statement with its parameters, waiting for execution.
#[derive(Clone)]
pub(super) struct Portal {
    pub(super) prepared: Arc<Prepared>,
    pub(super) values: Vec<Value>,
    pub(super) results: Vec<bool>,
}
