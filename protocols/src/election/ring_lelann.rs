//! `ring-lelann`: every candidate's id goes around the ring, and the highest that stood leads.
//!
//! **Where it comes from.** Le Lann, "Distributed Systems: Towards a Formal Approach" (IFIP 1977), as Tel tells it
//! ("Introduction to Distributed Algorithms", 2nd edition, 7.2.1). A candidate sends its id around; everybody passes it on,
//! and every candidate keeps those that come by. When its own id is home, links being first in first out, it has seen all
//! who stand and knows the winner by itself. n messages for each who stands, n² when all do; nothing is swallowed. Le Lann
//! elects the lowest, the highest is elected here. What surrounds it is in `ring.rs`.
//!
//! In Tel's words who passes an id on without standing never stands, so that the best of those who *noticed* leads. Here a
//! better node that hears of the election stands too, which is what Chang and Roberts (1979) report of Le Lann's: otherwise
//! the worst of all leads whenever its clock is the fastest. Who did not stand learns of the winner from its heartbeat lap,
//! which follows at once; the algorithm has no announcement.
//!
//! **What it assumes about time.** That a heartbeat lap comes by within the ttl, always. A belief has no end of its own.
//!
//! **What breaks it.** A ring that does not hold: a cut makes two rings, each elects. A pause of the leader: the others skip
//! it, and it wakes as a second one. There is no quorum, no lease and no token.
//!
//! **What shows it.** `ring-break`, `isolate-leader`, `gc-pause`; the price of it, message for message, in
//! `protocols/tests/election_messages.rs`.

use super::{
    OwnTimers, Preference, Protocol, Setup, Transport, promise,
    ring::{self, Member, Rules, Verdict},
};
use crate::{
    elector::{AnyElector, boxed},
    service::Service,
    types::{NodeId, SECOND},
};

/// The protocol as the registry knows it.
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

/// A candidate on the ring that passes all of them in `order`, which the registry's has in the order of their ids.
pub fn elector(setup: Setup, order: &[NodeId]) -> Box<AnyElector> {
    let best = setup.node;
    boxed(Member::new(setup, order, LeLann { best }))
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct LeLann {
    /// The best of the list of those who stand; no more of the list matters.
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
