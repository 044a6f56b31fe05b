//! etcd, as far as a client can tell: one member, its key-value store, leases and watches.
//!
//! [`model`] is pure. [`wire`] serves it over gRPC, so that the genuine client runs against it unmodified.
//!
//! Not here: authentication, cluster and maintenance calls (`Unimplemented`); more than one member; lease checkpoints
//! (they only shorten leases of more than five minutes after a change of leader); unsolicited progress notices on watches
//! (every ten minutes); fragmented watch responses; the time that consensus and disk take.

pub mod model;
pub mod wire;
