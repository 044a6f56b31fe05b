//! `zk-election`: Apache Curator's LeaderLatch on ZooKeeper.
//!
//! **Where it comes from.** apache/curator 5.8, `curator-recipes`, `leader/LeaderLatch.java` (`reset`, `checkLeadership`,
//! `getChildren`, `handleStateChange`, `setNode`), `locks/LockInternals.java` and `LockInternalsSorter` (the order of the
//! queue), `curator-framework`, `imps/CreateBuilderImpl.java` and `ProtectedMode.java` (a create whose answer is lost); the
//! client below it is in `zookeeper/curator.rs`, and ZooKeeper's own in `protocols-clients`. Each candidate holds an
//! ephemeral sequential node, `/fencepost/latch/_c_<id>-latch-<number>`; the lowest number leads; everybody else watches
//! only the node in front of its own. The leader's fencing token is its node's `czxid`, the transaction that created it,
//! which only grows; not the number in its name: that begins anew when the folder is created again.
//!
//! **What it assumes about time.** Nothing for the grant: ZooKeeper's log makes it unique. The *belief* has no end of its
//! own: `hasLeadership()` is a flag, taken down when the client tells that the connection is lost (`SUSPENDED`), which it
//! does when nothing was heard for two thirds of the session timeout, or the connection breaks. The session ends at the
//! server one timeout, rounded up to whole ticks (2 s), after the last sign of life. As long as clocks are not off by a
//! third, and nothing that the server says comes late, a leader that runs has stopped before its successor starts.
//!
//! **What breaks it.** A pause longer than the session: the leader wakes up with the flag up, and acts until its client has
//! looked at the clock. Only the resource can refuse it, by the token. `gc-pause` shows it. And nobody watches its own node:
//! a leader whose node is deleted by somebody else believes on, and the next in the queue leads beside it, until the
//! resource refuses it. `lost-lease` with a lost key shows that.
//!
//! **Not as the library.** Since 5.4 (CURATOR-644) a latch that comes back within its session looks at the queue, finds its
//! node still in front, and leads again *by the same node*: the same `czxid` for a second leadership. A token must not come
//! twice, or what the first leadership has under way passes for the second's. So a node that has led once is given up when
//! the connection comes back, as the library did before; [`REGAINS`](super::zookeeper::REGAINS) is what it does now. Followers keep their places.
//! Whoever waits reads who is in front of everybody, and reads again when that node goes: what applications do by
//! `getLeader()`, when they want to know.

pub mod drill;
mod latch;

use super::{
    Conditions, Hazard, OwnTimers, Preference, Promise, Protocol, Timings, Transport,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::zookeeper::{self, TICK, granted},
    types::{MILLISECOND, SECOND},
};
use latch::Latch;

/// The registry's entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "zk-election",
    about: "Curator's LeaderLatch: a queue of ephemeral sequential nodes; the node's czxid is the fencing token",
    service: &zookeeper::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 60 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: zookeeper::ping_interval,
    takeover_max,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Latch::new(setup)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss => promise::granted_again(fencing),
        // Sessions are made anew, and their numbers are tokens: they may have caught up by the first election.
        Hazard::ServiceRestored => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation | Hazard::ClockDrift => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// Sessions end with the tick after their time, and the successor takes three questions to be sure; with slack for messages.
pub(super) fn takeover_max(_: &Timings, _: u16) -> u64 {
    TICK + 600 * MILLISECOND
}

/// The server counts a session from the last sign of life, at least for its timeout; the client gives the connection up two
/// thirds of it after it has heard something. What it hears may be late, but not by more than it waits.
pub(super) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    if c.drops {
        // Nobody watches its own node.
        return None;
    }
    let timeout = granted(timings.lease_ttl);
    let belief = c.slow(timeout / 3 * 2);
    let late = c.travel.saturating_add(c.unread).min(belief);
    // A step of the wall clock ends no session.
    let session = Conditions { service_ahead: 0, ..*c }.service(timeout);
    Some(belief.saturating_add(late).saturating_sub(session))
}
