//! The cache invalidator: records a new version, and sends it to every edge, which then replaces its own. The next
//! version is recorded once all edges have answered, so an edge is at most one version behind, and not for long.
//!
//! A leader lost between the two steps leaves edges with old versions. Its successor's seals have read the last
//! recorded version and each edge's version, and it first updates the edges that are behind.
//!
//! An edge takes whatever it is sent for the newest version: it does not compare versions, like a cache that is told to
//! drop an entry and refills it from whatever copy it asks. A late message from a former leader sets it back, unless
//! its token is checked, and it stays set back until the next version.
//!
//! After the article *Leader election: mechanisms, failure modes, fencing*, "Distributed cache invalidator": one node
//! broadcasts invalidations to N edge servers.

use super::{Context, Kind, Work};
use crate::{
    bug::{Bug, Shown},
    core::TimerId,
    point::Point,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId},
};

pub const WORK: Kind = Kind {
    name: "cache-invalidator",
    about: "Records one version after the other, and refreshes the caches of two edges with each.",
    resources: &["records", "edge-1", "edge-2"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Invalidator::default()),
};

/// The resource of the versions.
pub const RECORDS: &str = WORK.resources[0];

/// A successor that starts with its own first version.
pub const NOT_CAUGHT_UP: Bug = Bug {
    id: "cache-not-caught-up",
    protocols: &[],
    what: "A new leader does not check which edges have heard of the last version: one that its predecessor had \
           recorded but told nobody of never reaches any edge.",
    source: "derived: the outbox pattern without its outbox, as in debezium's documentation, \"Outbox Event Router\" (dual writes)",
    violation: "no_stale_cache_entry",
    shown: Shown::by("stale-cache", "etcd-election", 4),
};

const VERSIONS: usize = 0;
const EDGES: [usize; 2] = [1, 2];
const NEXT: TimerId = 0;

/// The interval between versions, nanoseconds.
pub const PERIOD: u64 = 50 * MILLISECOND;

/// The invalidator of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Invalidator {
    writes: u32,
}

impl Invalidator {
    fn request(&mut self, at: &Context) -> RequestId {
        self.writes += 1;
        at.own_request(self.writes)
    }

    /// Sends the last version to the edges that are behind; the lease has been checked.
    fn tell(&mut self, at: &mut Context) {
        let Some(Payload { number, .. }) = at.outbox(VERSIONS).payload() else { return };
        at.point(Point::RefreshChecked);
        let at_us = at.now.wall / MICROSECOND;
        for edge in EDGES {
            if is_behind(edge, at) {
                let request = self.request(at);
                at.operate(edge, request, Operation::Refresh, Some(Payload { number, at_us }));
            }
        }
    }
}

/// Whether that edge has not been sent the last version.
fn is_behind(edge: usize, at: &Context) -> bool {
    let version = |resource| at.outbox(resource).payload().map(|payload| payload.number);
    version(edge) < version(VERSIONS)
}

impl Work for Invalidator {
    fn start(&mut self, at: &mut Context) {
        let behind = EDGES.into_iter().any(|edge| is_behind(edge, at)) && !at.has(&NOT_CAUGHT_UP);
        if behind && at.may_act() {
            self.tell(at);
        }
        at.set_timer(NEXT, at.now.mono + PERIOD);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        let waits = (0..WORK.resources.len()).any(|resource| !at.outbox(resource).is_empty());
        let behind = EDGES.into_iter().any(|edge| is_behind(edge, at)) && !at.has(&NOT_CAUGHT_UP);
        if !waits && at.may_act() {
            match behind {
                true => self.tell(at),
                false => {
                    let version = Payload::after(at.outbox(VERSIONS).payload(), at.now.wall);
                    let request = self.request(at);
                    at.write(VERSIONS, request, Some(version));
                }
            }
        }
        at.set_timer(NEXT, at.now.mono + PERIOD);
    }

    fn done(&mut self, resource: usize, _: RequestId, _: u64, at: &mut Context) {
        if resource == VERSIONS && at.may_act() {
            self.tell(at);
        }
    }
}
