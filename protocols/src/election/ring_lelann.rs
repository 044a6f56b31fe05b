//! `ring-lelann`: every candidate's id goes around the ring, and the highest candidate leads.
//!
//! **Where it comes from.** Le Lann, "Distributed Systems: Towards a Formal Approach" (IFIP 1977), as presented by Tel
//! ("Introduction to Distributed Algorithms", 2nd edition, 7.2.1). A candidate sends its id around; every node passes
//! it on, and every candidate records those that pass. When its own id comes home over FIFO links, it has seen all
//! candidates and knows the winner by itself. That takes n messages per candidate, n² if all are candidates; nothing is
//! swallowed. Le Lann elects the lowest id; here the highest is elected. `ring.rs` has the rest.
//!
//! In Tel's version, a node that passes an id on without being a candidate never becomes one, so the best of those that
//! *noticed* leads. Here a better node that hears of the election becomes a candidate too, as Chang and Roberts (1979)
//! describe Le Lann's algorithm; otherwise the worst node leads whenever its clock is the fastest. Other nodes learn of
//! the winner from its heartbeat lap, which follows at once; the algorithm has no announcement.
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
    name: "ring-lelann",
    about: "Le Lann 1977: on a ring, every candidate's id goes around and each decides; no quorum, no token",
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
    let best = setup.node;
    boxed(Member::new(setup, order, LeLann { best }))
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct LeLann {
    /// The best candidate; the rest of the list does not matter.
    best: NodeId,
}

impl Rules for LeLann {
    fn begin(&mut self, own: NodeId) {
        self.best = own;
    }

    fn candidate(&mut self, own: NodeId, other: NodeId, takes_part: bool) -> Verdict {
        self.best = self.best.max(other);
        Verdict { stand: !takes_part && other < own, pass: true }
    }

    fn winner(&self, own: NodeId) -> NodeId {
        self.best.max(own)
    }

    fn announces(&self) -> bool {
        false
    }
}
