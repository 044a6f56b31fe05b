//! A seat at the bench: an elector, unless its process is down, with its clock, timers and disk.

use crate::{
    clock::Now,
    core::TimerId,
    elector::{Elector, Input, RequestNumber},
    types::{Leadership, NodeId},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A node's monotonic clock, which here is also its wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Clock {
    /// Its lead over true time at time 0, nanoseconds.
    pub ahead: i128,
    /// Its rate: parts per million faster than true time.
    pub fast_ppm: i64,
    /// Whether it stands still at 0, until a message arrives.
    pub stands: bool,
}

const MILLION: i128 = 1_000_000;

impl Clock {
    /// The reading at a true time, nanoseconds.
    pub fn shows(&self, time: u64) -> u64 {
        if self.stands {
            return 0;
        }
        let elapsed = i128::from(time) * (MILLION + i128::from(self.fast_ppm)) / MILLION;
        (elapsed + self.ahead).clamp(0, u64::MAX.into()) as u64
    }

    /// The true time at which it first shows `shown`, nanoseconds; `None` while it stands still.
    pub fn time(&self, shown: u64) -> Option<u64> {
        let rate = MILLION + i128::from(self.fast_ppm);
        let elapsed = ((i128::from(shown) - self.ahead).max(0) * MILLION + rate - 1) / rate;
        (!self.stands).then_some(elapsed.min(u64::MAX.into()) as u64)
    }

    /// Starts the clock at this true time, with the reading `shown`.
    pub fn start(&mut self, time: u64, shown: u64) {
        self.stands = false;
        self.ahead = 0;
        self.ahead = i128::from(shown) - i128::from(self.shows(time));
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Seat<E: Elector> {
    pub(super) elector: Option<E>,
    pub(super) starts: u32,
    pub(super) disk: Option<Vec<u8>>,
    pub(super) writing: VecDeque<Vec<u8>>,
    pub(super) timers: BTreeMap<TimerId, u64>,
    /// Unanswered requests to a service.
    pub(super) requests: BTreeSet<RequestNumber>,
    pub(super) paused_until: u64,
    /// Arrivals during a pause.
    pub(super) inbox: VecDeque<Input<E::Peer, E::Service>>,
    pub(super) belief: Option<Leadership>,
    pub(super) observed: Option<NodeId>,
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

    /// Drops the process and everything that is not on disk.
    pub(super) fn clear(&mut self) {
        let Seat { starts, clock, .. } = *self;
        let disk = self.disk.take();
        *self = Seat { starts, clock, disk, ..Seat::empty() };
    }

    pub(super) fn now(&self, time: u64) -> Now {
        let mono = self.clock.shows(time);
        Now { mono, wall: mono }
    }

    /// Its next timer, and the true time at which it fires.
    pub(super) fn due(&self) -> Option<(u64, TimerId)> {
        self.elector.as_ref()?;
        let (at, id) = self.timers.iter().map(|(id, at)| (*at, *id)).min()?;
        Some((self.clock.time(at)?.max(self.paused_until), id))
    }

    /// The elector, unless the process is down.
    pub fn elector(&self) -> Option<&E> {
        self.elector.as_ref()
    }

    /// Whether its process is running, perhaps paused.
    pub fn is_up(&self) -> bool {
        self.elector.is_some()
    }

    /// The end of its pause, true time in nanoseconds; in the past if it is not paused.
    pub fn paused_until(&self) -> u64 {
        self.paused_until
    }

    /// The content of its disk.
    pub fn disk(&self) -> Option<&[u8]> {
        self.disk.as_deref()
    }

    /// Its belief: the last `Elected` or `Renewed` without a later `Deposed`.
    pub fn belief(&self) -> Option<Leadership> {
        self.belief
    }

    /// The leader that it observes.
    pub fn observed(&self) -> Option<NodeId> {
        self.observed
    }

    /// Its requests to a service that are neither answered nor given up.
    pub fn requests(&self) -> &BTreeSet<RequestNumber> {
        &self.requests
    }

    pub fn timers(&self) -> &BTreeMap<TimerId, u64> {
        &self.timers
    }
}
