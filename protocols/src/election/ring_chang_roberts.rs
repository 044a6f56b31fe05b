//! `ring-chang-roberts`: a candidate's id goes around the ring until it meets a higher one; the candidate whose id
//! comes home leads.
//!
//! **Where it comes from.** Chang and Roberts, "An Improved Algorithm for Decentralized Extrema-Finding in Circular
//! Configurations of Processes" (CACM 22(5), 1979), with participants and the announcement as in Coulouris et al.,
//! "Distributed Systems" (5th edition, 15.3). A node passes a higher id on, and becomes a participant. A participant
//! swallows a lower id; another node replaces it with its own id. A node whose id comes home has won, and announces it
//! in a second lap. For comparison: tlaplus/Examples, `specifications/chang_roberts/ChangRoberts.tla`;
//! DistAlgo/distalgo, `benchmarks/crleader/orig.da`. `ring.rs` has the rest.
//!
//! **What it costs.** If all are candidates, 2n-1 messages when the ids rise along the ring (as they do here), n(n+1)/2
//! when they fall, and n(1 + 1/2 + … + 1/n) on average over all orders; plus n for the announcement. Only `ring-lelann`
//! needs links in FIFO order; this algorithm does not.
//!
//! **What it assumes about time.** A heartbeat lap always arrives within the TTL. A belief does not expire.
//!
//! **What breaks it.** A broken ring: a partition makes two rings, and each elects a leader. A pause of the leader: the
//! others skip it, and it wakes up as a second one. There is no quorum, no lease and no token.
//!
//! **What shows it.** `ring-break`, `isolate-leader`, `gc-pause`; `protocols/tests/election_messages.rs` counts its
//! messages.

use super::{
    OwnTimers, Preference, Protocol, Setup, Transport, promise,
    ring::{self, Member, Rules, Verdict},
};
use crate::{
    elector::{AnyElector, boxed},
    service::Service,
    types::{NodeId, SECOND},
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "ring-chang-roberts",
    about: "Chang and Roberts 1979: on a ring, a higher id swallows a lower one, and one gets all the way round; no \
            quorum, no token",
    service: &Service::NONE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: ring::takeover_max,
    preference: Preference::Highest,
    majority: false,
    ring: true,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: Some(ring::claim),
    read_lease: None,
    elector: |setup| {
        let order = ring::ascending(&setup);
        elector(setup, &order)
    },
    promise: ring::promise,
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// A candidate on the ring with the given order; the registry's is in the order of ids.
pub fn elector(setup: Setup, order: &[NodeId]) -> Box<AnyElector> {
    boxed(Member::new(setup, order, ChangRoberts))
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ChangRoberts;

impl Rules for ChangRoberts {
    fn begin(&mut self, _: NodeId) {}

    fn candidate(&mut self, own: NodeId, other: NodeId, takes_part: bool) -> Verdict {
        let is_higher = other > own;
        Verdict { stand: !is_higher && !takes_part, pass: is_higher }
    }

    fn winner(&self, own: NodeId) -> NodeId {
        own
    }

    fn announces(&self) -> bool {
        true
    }
}
