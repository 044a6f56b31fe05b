//! The fenced store: the resource that refuses the past.

pub mod ledger;
pub mod store;
