//! `zk-election`: Apache Curator's LeaderLatch on ZooKeeper.
//!
//! **Where it comes from.** apache/curator 5.8, `curator-recipes`, `leader/LeaderLatch.java` (`reset`,
//! `checkLeadership`, `getChildren`, `handleStateChange`, `setNode`), `locks/LockInternals.java` and
//! `LockInternalsSorter` (the order of the queue), `curator-framework`, `imps/CreateBuilderImpl.java` and
//! `ProtectedMode.java` (a create whose answer is lost). Curator's client is in `zookeeper/curator.rs`, and ZooKeeper's
//! own in `protocols-clients`. Each candidate holds an ephemeral sequential node,
//! `/fencepost/latch/_c_<id>-latch-<number>`; the lowest number leads, and each other candidate watches only the node
//! before its own. The leader's fencing token is its node's `czxid`, the transaction that created it, which always
//! grows; the number in its name does not, since it restarts when the folder is created again.
//!
//! **What it assumes about time.** Nothing for the grant: ZooKeeper's log makes it unique. The *belief* does not expire
//! by itself: `hasLeadership()` is a flag, cleared when the client reports that the connection is lost (`SUSPENDED`),
//! which happens after two thirds of the session timeout without a packet, or when the connection breaks. The server
//! ends the session one timeout, rounded up to whole ticks (2 s), after the last sign of life. As long as clock rates
//! differ by less than a third, and the server's packets are not late, a running leader has stopped before its
//! successor starts.
//!
//! **What breaks it.** A pause longer than the session: the leader wakes up with the flag set, and acts until its
//! client has checked the clock. Only the resource can refuse it, by the token. `gc-pause` shows it. Also, no candidate
//! watches its own node: if somebody deletes the leader's node, the leader keeps believing, and the next in the queue
//! leads alongside it, until the resource refuses it. `lost-lease` with a lost key shows that.
//!
//! **Not as the library.** Since 5.4 (CURATOR-644), a latch that reconnects within its session reads the queue, finds
//! its node still first, and leads again *by the same node*, with the same `czxid` for a second leadership. A token
//! must not come twice, or pending writes of the first leadership pass for the second's. So here a node that has led is
//! given up on reconnection, as in the earlier library; [`REGAINS`](super::zookeeper::REGAINS) is the present library's
//! behaviour. Followers keep their places. A waiting candidate reads the first node of the queue, and reads again when
//! that is gone, as applications do through `getLeader()`.

pub mod drill;
pub mod from_sending;
mod latch;

use super::{
    Conditions, OwnTimers, Preference, Promise, Protocol, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::zookeeper::{self, TICK, granted},
    types::{MILLISECOND, SECOND},
};
use latch::{Counting, Latch};

/// The registry entry.
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
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Latch::new(setup, Counting::Nothing)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS => promise::granted_again(fencing),
        // Sessions start over, and their numbers are tokens: they may have caught up by the first election.
        hazard::SERVICE_RESTORED => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// Sessions expire at the tick after their timeout, and the successor needs three requests to be sure; plus slack for
/// messages.
pub(super) fn takeover_max(_: &Timings, _: u16) -> u64 {
    TICK + 600 * MILLISECOND
}

/// The server counts at least the timeout from a session's last sign of life; the client drops the connection two
/// thirds of that after it last heard something. What it hears may be late, but not by more than it waits.
pub(super) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    if c.drops {
        // Nobody watches its own node.
        return None;
    }
    let timeout = granted(timings.lease_ttl);
    let belief = c.slow(timeout / 3 * 2);
    let late = c.travel.saturating_add(c.unread).min(belief);
    // A step of the wall clock does not end a session.
    let session = Conditions { service_ahead: 0, ..*c }.service(timeout);
    Some(belief.saturating_add(late).saturating_sub(session))
}
