//! Real mode: the same cores on tokio and real sockets; the node and the store as programs. Empty without feature
//! `real`.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.

#![cfg(feature = "real")]

pub mod directory;
pub mod exposition;
pub mod http;
pub mod log;
pub mod node;
pub mod points;
pub mod raise;
pub mod store;
pub mod tls;
