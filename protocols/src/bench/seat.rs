//! A place at the bench: an elector, or where one was and will be, with its clock, its timers and its disk.

use crate::{
    clock::Now,
    core::TimerId,
    elector::{Elector, Input, RequestNumber},
    types::{Leadership, NodeId},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A node's monotonic clock, which is also its wall clock here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Clock {
    /// What it is ahead of true time at time 0, nanoseconds.
    pub ahead: i128,
    /// How fast it runs: parts per million more than true time.
    pub fast_ppm: i64,
    /// It shows 0 and stands still until a message arrives.
    pub stands: bool,
}

const MILLION: i128 = 1_000_000;

impl Clock {
    /// What it shows at a true time, nanoseconds.
    pub fn shows(&self, time: u64) -> u64 {
        if self.stands {
            return 0;
        }
        let elapsed = i128::from(time) * (MILLION + i128::from(self.fast_ppm)) / MILLION;
        (elapsed + self.ahead).clamp(0, u64::MAX.into()) as u64
    }

    /// The true time from which on it shows that, nanoseconds; `None` while it stands still.
    pub fn time(&self, shown: u64) -> Option<u64> {
        let rate = MILLION + i128::from(self.fast_ppm);
        let elapsed = ((i128::from(shown) - self.ahead).max(0) * MILLION + rate - 1) / rate;
        (!self.stands).then_some(elapsed.min(u64::MAX.into()) as u64)
    }

    /// It runs from this true time on, and shows `shown` then.
    pub fn start(&mut self, time: u64, shown: u64) {
        self.stands = false;
        self.ahead = 0;
        self.ahead = i128::from(shown) - i128::from(self.shows(time));
    }
}

/// A place at the bench.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Seat<E: Elector> {
    pub(super) elector: Option<E>,
    pub(super) starts: u32,
    pub(super) disk: Option<Vec<u8>>,
    pub(super) writing: VecDeque<Vec<u8>>,
    pub(super) timers: BTreeMap<TimerId, u64>,
    /// Requests to a service that are not answered yet.
    pub(super) requests: BTreeSet<RequestNumber>,
    pub(super) paused_until: u64,
    /// What has arrived while it was paused.
    pub(super) inbox: VecDeque<Input<E::Peer, E::Service>>,
    pub(super) belief: Option<Leadership>,
    pub(super) observed: Option<NodeId>,
    /// Its clock.
    pub clock: Clock,
}

impl<E: Elector> Seat<E> {
    pub(super) fn empty() -> Self {
        Seat {
            elector: None,
            starts: 0,
            disk: None,
            writing: VecDeque::new(),
            timers: BTreeMap::new(),
            requests: BTreeSet::new(),
            paused_until: 0,
            inbox: VecDeque::new(),
            belief: None,
            observed: None,
            clock: Clock::default(),
        }
    }

    /// The process is gone, and everything that is not on disk.
    pub(super) fn clear(&mut self) {
        let Seat { starts, clock, .. } = *self;
        let disk = self.disk.take();
        *self = Seat { starts, clock, disk, ..Seat::empty() };
    }

    pub(super) fn now(&self, time: u64) -> Now {
        let mono = self.clock.shows(time);
        Now { mono, wall: mono }
    }

    /// Its next timer, and the true time at which that fires.
    pub(super) fn due(&self) -> Option<(u64, TimerId)> {
        self.elector.as_ref()?;
        let (at, id) = self.timers.iter().map(|(id, at)| (*at, *id)).min()?;
        Some((self.clock.time(at)?.max(self.paused_until), id))
    }

    /// The elector, unless the process is down.
    pub fn elector(&self) -> Option<&E> {
        self.elector.as_ref()
    }

    /// Does its process run, if perhaps paused?
    pub fn is_up(&self) -> bool {
        self.elector.is_some()
    }

    /// Until when it is paused, true time in nanoseconds; in the past when it is not.
    pub fn paused_until(&self) -> u64 {
        self.paused_until
    }

    /// What is on its disk.
    pub fn disk(&self) -> Option<&[u8]> {
        self.disk.as_deref()
    }

    /// What it believes: the last `Elected` or `Renewed` that no `Deposed` followed.
    pub fn belief(&self) -> Option<Leadership> {
        self.belief
    }

    /// Whom it observes as the leader.
    pub fn observed(&self) -> Option<NodeId> {
        self.observed
    }

    /// The timers that are set, and when each fires by its clock.
    pub fn timers(&self) -> &BTreeMap<TimerId, u64> {
        &self.timers
    }
}
