//! LeaseGuard: the log is the lease.
//!
//! **Where it comes from.** Davis, Demirbas and Deng, "LeaseGuard: Raft Leases Done Right" (SIGMOD 2026; arXiv
//! 2512.15659). The rules below are the actions `ClientRead` and `CommitEntry` of its specification
//! (muratdem/RaftLeaderLeases, `TLA/leaseGuard.tla`), with the comparisons of intervals of its simulator
//! (`Python/lease_guard.py: has_lease, is_past`). ScyllaDB has it since pull request 30697 (August 2026), and
//! databendlabs/openraft issue 1651 asks for it.
//!
//! **What it does.** Every entry has the time at which its leader made it, as an interval that contains the true time.
//! - A leader answers a read from its own copy while its newest *committed* entry, of whatever leadership, is certainly
//!   younger than the lease.
//! - A new leader commits nothing until every entry that it found in its log is certainly older than the lease. Meanwhile
//!   it takes writes and replicates them (*deferred commit*).
//! - Meanwhile it answers reads by the old leader's lease (*inherited lease*), unless an entry after the commit index
//!   that it knew at its election writes to the same resource (*limbo region*): the old leader may have committed it.
//!   The answer carries the old leader's token: it is given in the name of its lease.
//! - An idle leader appends entries without content, or its lease would end.
//!
//! Votes, terms and heartbeats stay as they are, so that a lease may be longer than an election takes.
//!
//! **What it assumes about time.** That every node's wall clock is within the declared bound of true time. Beyond that,
//! reads may be stale; writes stay safe. (A variant with timers needs only bounded rates, but cannot inherit:
//! `TLA/leaseRaftWithTimers.tla`.)
//!
//! **What differs.** The paper has one lease for all nodes. Here an entry also says how long its lease is, and a
//! successor waits for that, so that nodes may be configured differently. The log is that of the copies, whose new
//! leader takes over the newest log of a majority, where Raft would not have elected it; both give it every committed
//! entry, which is all that the rules need. A read without a lease asks a majority.

use super::log::{Durable, Stamp};
use crate::{
    bug::{Bug, Bugs, Shown},
    clock::Now,
    types::{Incarnation, NodeId, Resource},
};

/// An entry without the length of its lease.
pub const UNEQUAL_LEASES: Bug = Bug {
    id: "leaseguard-unequal-leases",
    protocols: &["raft-core"],
    what: "The first candidate is configured with four times the lease of the others, and a new leader waits for the \
           lease of its own configuration: it commits while the first candidate still answers reads.",
    source: "the first review of ScyllaDB's LeaseGuard (scylladb/scylladb pull request 30697, `raft/server.hh`, and again \
             in 30777): the lease is a local setting, and entries carry only times",
    violation: "no_stale_read",
    shown: Shown::by("majority-copies", "raft-core", 24).with(
        "--read-lease on --clock-skew 1ms --set raft-core.lease-guard=500ms --set raft-core.clock-bound=10ms \
         --set raft-core.leader-lease=off --set raft-core.check-quorum=off",
    ),
};

/// The candidate with the longer lease under [`UNEQUAL_LEASES`], and how many times longer that is.
const LONGER: (NodeId, u64) = (NodeId(0), 4);

/// A node's settings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The lease that a committed entry gives, nanoseconds.
    lease: u64,
    /// How far the node's wall clock may be from true time, nanoseconds.
    clock_bound: u64,
    /// Whether reads are answered by the lease; otherwise a majority is asked for each.
    reads: bool,
    bugs: Bugs,
}

/// What a new leader found, and has to wait out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inherited {
    /// The number of entries.
    pub length: u64,
    /// When all of them are certainly older than their leases, by this node's wall clock, nanoseconds.
    until: u64,
}

impl Guard {
    /// The settings of `node`.
    pub fn new(node: NodeId, lease: u64, clock_bound: u64, reads: bool, bugs: &Bugs) -> Guard {
        let longer = node == LONGER.0 && bugs.has(&UNEQUAL_LEASES);
        let lease = if longer { lease.saturating_mul(LONGER.1) } else { lease };
        Guard { lease, clock_bound, reads, bugs: bugs.clone() }
    }

    /// The longest time that a new leader may have to wait for the end of such a lease, nanoseconds: two clocks may be
    /// wrong in opposite directions, and each node allows for that.
    pub fn longest_wait(&self) -> u64 {
        self.lease.saturating_add(self.clock_bound.saturating_mul(4))
    }

    /// The stamp of an entry made now.
    pub(super) fn stamp(&self, now: Now) -> Stamp {
        let (earliest, latest) = (now.wall.saturating_sub(self.clock_bound), now.wall.saturating_add(self.clock_bound));
        Stamp { earliest, latest, lease: self.lease }
    }

    /// Whether an entry is certainly younger than its lease.
    fn lasts(&self, stamp: Stamp, now: Now) -> bool {
        stamp.earliest.saturating_add(stamp.lease) > now.wall.saturating_add(self.clock_bound)
    }

    /// Whether an idle leader whose newest entry this is should append another.
    pub(super) fn wants_entry(&self, newest: Stamp, now: Now) -> bool {
        now.wall.saturating_sub(newest.latest.saturating_sub(self.clock_bound)) >= self.lease / 3
    }

    /// How often an idle leader has to look, nanoseconds.
    pub(super) fn look_every(&self) -> u64 {
        (self.lease / 6).max(1)
    }

    /// What a new leader with this log has to wait out.
    pub(super) fn inherits(&self, log: &Durable) -> Inherited {
        let own_only = self.bugs.has(&UNEQUAL_LEASES);
        let ends = |stamp: Stamp| stamp.latest.saturating_add(if own_only { self.lease } else { stamp.lease });
        let last = log.stamps().map(ends).max();
        Inherited { length: log.len(), until: last.map_or(0, |last| last.saturating_add(self.clock_bound)) }
    }

    /// The last number of `resource` if this leader, `by`, may tell it without asking anybody; and the leadership whose
    /// lease allows it.
    pub(super) fn read(
        &self,
        log: &Durable,
        commit: u64,
        (by, inherited): (Incarnation, Inherited),
        resource: Resource,
        now: Now,
    ) -> Option<(Incarnation, u64)> {
        let (lender, stamp) = (log.by(commit)?, log.stamp(commit)?);
        if !self.reads || !self.lasts(stamp, now) {
            return None;
        }
        let in_limbo = log.last_write(resource, inherited.length).is_some_and(|(place, _)| place > commit);
        if lender != by && in_limbo {
            return None;
        }
        Some((lender, log.last_write(resource, commit).map_or(0, |(_, seq)| seq)))
    }
}

impl Inherited {
    /// Whether anything must not be committed yet.
    pub(super) fn defers(&self, now: Now) -> bool {
        now.wall <= self.until
    }

    /// When that ends, by the monotonic clock, if nobody sets the wall clock meanwhile.
    pub(super) fn ends_at(&self, now: Now) -> Option<u64> {
        self.defers(now).then(|| now.mono.saturating_add(self.until - now.wall).saturating_add(1))
    }
}

#[cfg(test)]
mod tests;
