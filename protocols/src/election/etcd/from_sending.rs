//! `etcd-election-from-sending`: etcd's recipe as `fencepost-seat` runs it, with a belief that ends before the lease.
//!
//! **Where it comes from.** The queue, its keys and its transactions are those of `etcd-election`, so both kinds of
//! candidates can stand in one queue. What differs is the deadline: it counts from when the confirmed keepalive was
//! *sent*, not from when its answer was read, and nothing rounds it up to a whole second. For that, one keepalive is
//! on its way at a time; one that stays unanswered for a request's timeout is given up with its stream, since a late
//! answer could not be told from the next one's.
//!
//! **What it assumes about time.** For a unique *belief*: that a node's monotonic clock is not slower than the server's
//! by more than the margin that its user leaves. For safety nothing, as with `etcd-election`.
//!
//! **What breaks it.** A pause longer than the lease, between a check of the belief and the write: the resource refuses
//! the write by its token.
//!
//! `--protocol` takes it by name; sweeps of all protocols leave it out, since whoever uses etcd's own library has the other
//! deadline.

use super::{candidate::EtcdElection, session::Recipe};
use crate::{
    election::{Promise, Protocol, hazard, promise},
    elector::boxed,
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "etcd-election-from-sending",
    about: "etcd's recipe with a belief that counts from when a keepalive was sent, and so ends before the lease",
    // The server counts from the keepalive's arrival.
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    elector: |setup| boxed(EtcdElection::new(setup, Recipe::SafeQueue)),
    promise: |hazard, fencing| match hazard {
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::CLOCK_DRIFT if !fencing => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE if !fencing => Promise::Holds,
        hazard => (super::PROTOCOL.promise)(hazard, fencing),
    },
    belief_overlap: promise::from_sending,
    ..super::PROTOCOL
};
