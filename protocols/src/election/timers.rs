//! Timing options that only some protocols have: which ones, their defaults, and what the protocol's client refuses.

use super::{Timings, timer::Timer};
use crate::parameter::Values;

/// The settings; `None` if the protocol does not have the option, or uses another timer by default. Protocols use
/// nanoseconds, plans and options milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Timers {
    /// See [`Timer::RenewDeadline`].
    pub renew_deadline: Option<u64>,
    /// See [`Timer::RetryPeriod`].
    pub retry_period: Option<u64>,
    /// See [`Timer::LockDelay`].
    pub lock_delay: Option<u64>,
    /// See [`Timer::EntryInterval`].
    pub entry_interval: Option<u64>,
    /// See [`Timer::ReplicaLag`].
    pub replica_lag: Option<u64>,
    /// What `--set` gave for parameters without a field of their own; durations in milliseconds.
    pub values: Values,
}

impl Timers {
    /// Nothing is set.
    pub const NONE: Timers = Timers {
        renew_deadline: None,
        retry_period: None,
        lock_delay: None,
        entry_interval: None,
        replica_lag: None,
        values: Values::NONE,
    };

    /// The setting of `timer`.
    pub const fn get(&self, timer: Timer) -> Option<u64> {
        match timer {
            Timer::RenewDeadline => self.renew_deadline,
            Timer::RetryPeriod => self.retry_period,
            Timer::LockDelay => self.lock_delay,
            Timer::EntryInterval => self.entry_interval,
            Timer::ReplicaLag => self.replica_lag,
        }
    }

    /// The settings from a function.
    pub fn from(value: impl Fn(Timer) -> Option<u64>) -> Timers {
        Timers {
            renew_deadline: value(Timer::RenewDeadline),
            retry_period: value(Timer::RetryPeriod),
            lock_delay: value(Timer::LockDelay),
            entry_interval: value(Timer::EntryInterval),
            replica_lag: value(Timer::ReplicaLag),
            values: Values::NONE,
        }
    }

    /// The settings in another unit.
    pub fn map(&self, convert: impl Fn(u64) -> u64) -> Timers {
        Timers { values: self.values, ..Timers::from(|timer| self.get(timer).map(&convert)) }
    }
}

pub struct OwnTimer {
    pub timer: Timer,
    /// The default for the granted TTL, both in nanoseconds; without a default, the protocol uses another timer in its
    /// place, or none.
    pub default: Option<fn(u64) -> u64>,
}

/// The timing options that a protocol has besides the common ones.
pub struct OwnTimers {
    /// Each at most once.
    pub list: &'static [OwnTimer],
    /// Whether the retry period is also the renewal interval, as in client-go. It must then have a default, and
    /// `--renew-interval` is another name for it.
    pub renews_at_retry: bool,
    /// Why the protocol's client refuses these timings, as one sentence with the names of [`Timer::words`]; `None` if
    /// it accepts them.
    pub refuses: fn(&Timings) -> Option<String>,
}

impl OwnTimers {
    /// No further options.
    pub const NONE: OwnTimers = OwnTimers::of(&[]);

    /// These options, which the client does not check.
    pub const fn of(list: &'static [OwnTimer]) -> OwnTimers {
        OwnTimers { list, renews_at_retry: false, refuses: |_| None }
    }

    /// The option, if it is in the list.
    pub fn find(&self, timer: Timer) -> Option<&OwnTimer> {
        self.list.iter().find(|own| own.timer == timer)
    }

    /// The defaults for the granted TTL, nanoseconds.
    pub fn defaults(&self, granted: u64) -> Timers {
        Timers::from(|timer| self.find(timer).and_then(|own| own.default).map(|default| default(granted)))
    }
}
