//! Timing options that some protocols have and others do not: which ones, what they are by default, and what the
//! protocol's client refuses.

use super::Timings;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    /// How long a leader goes on trying to renew before it gives leadership up; client-go's `RenewDeadline`.
    RenewDeadline,
    /// From one attempt to acquire to the next; client-go's `RetryPeriod`, Consul's `DefaultLockRetryTime`.
    RetryPeriod,
    /// For how long the service keeps a lock from everybody after its holder's session ended; Consul's `LockDelay`.
    LockDelay,
    /// From one entry of the leader's to the next in the log that elections compare; without it the log has only what begins
    /// each term.
    EntryInterval,
    /// How long what the service's primary acknowledges takes to its replicas, beside the way there; they are told at once
    /// without it.
    ReplicaLag,
}

impl Timer {
    /// All of them.
    pub const ALL: [Timer; 5] =
        [Timer::RenewDeadline, Timer::RetryPeriod, Timer::LockDelay, Timer::EntryInterval, Timer::ReplicaLag];

    /// Its words in reports.
    pub const fn words(self) -> &'static str {
        match self {
            Timer::RenewDeadline => "renew deadline",
            Timer::RetryPeriod => "retry period",
            Timer::LockDelay => "lock delay",
            Timer::EntryInterval => "entry interval",
            Timer::ReplicaLag => "replica lag",
        }
    }

    /// Its name on the command line.
    pub const fn option(self) -> &'static str {
        match self {
            Timer::RenewDeadline => "--renew-deadline",
            Timer::RetryPeriod => "--retry-period",
            Timer::LockDelay => "--lock-delay",
            Timer::EntryInterval => "--entry-interval",
            Timer::ReplicaLag => "--replica-lag",
        }
    }

    /// Its name in plans.
    pub const fn field(self) -> &'static str {
        match self {
            Timer::RenewDeadline => "renew_deadline_ms",
            Timer::RetryPeriod => "retry_period_ms",
            Timer::LockDelay => "lock_delay_ms",
            Timer::EntryInterval => "entry_interval_ms",
            Timer::ReplicaLag => "replica_lag_ms",
        }
    }

    /// May it be nothing?
    pub const fn may_be_zero(self) -> bool {
        matches!(self, Timer::LockDelay)
    }
}

/// What they are set to; `None` for one that the protocol does not have, or for which it takes another timer unless told.
/// Protocols have nanoseconds, plans and options milliseconds.
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
}

impl Timers {
    /// None of them is set.
    pub const NONE: Timers =
        Timers { renew_deadline: None, retry_period: None, lock_delay: None, entry_interval: None, replica_lag: None };

    /// What this one is set to.
    pub const fn get(&self, timer: Timer) -> Option<u64> {
        match timer {
            Timer::RenewDeadline => self.renew_deadline,
            Timer::RetryPeriod => self.retry_period,
            Timer::LockDelay => self.lock_delay,
            Timer::EntryInterval => self.entry_interval,
            Timer::ReplicaLag => self.replica_lag,
        }
    }

    /// All of them from a function.
    pub fn from(value: impl Fn(Timer) -> Option<u64>) -> Timers {
        Timers {
            renew_deadline: value(Timer::RenewDeadline),
            retry_period: value(Timer::RetryPeriod),
            lock_delay: value(Timer::LockDelay),
            entry_interval: value(Timer::EntryInterval),
            replica_lag: value(Timer::ReplicaLag),
        }
    }

    /// The same in another unit.
    pub fn map(&self, convert: impl Fn(u64) -> u64) -> Timers {
        Timers::from(|timer| self.get(timer).map(&convert))
    }
}

/// A timing option that a protocol has.
pub struct OwnTimer {
    /// Which.
    pub timer: Timer,
    /// What it is unless it is given, for the granted time to live, both nanoseconds; without it the protocol takes another
    /// timer in its place, or does without.
    pub default: Option<fn(u64) -> u64>,
}

/// The timing options that a protocol has beside those that all have.
pub struct OwnTimers {
    /// Each at most once.
    pub list: &'static [OwnTimer],
    /// Is the retry period also the interval of renewals, as client-go has it? It must then have a default, and
    /// `--renew-interval` is another name for it.
    pub renews_at_retry: bool,
    /// Why the protocol's client refuses these timings, as one sentence in the words of [`Timer::words`]; nothing when it
    /// takes them.
    pub refuses: fn(&Timings) -> Option<String>,
}

impl OwnTimers {
    /// For a protocol that has no others.
    pub const NONE: OwnTimers = OwnTimers::of(&[]);

    /// These, which the client does not check.
    pub const fn of(list: &'static [OwnTimer]) -> OwnTimers {
        OwnTimers { list, renews_at_retry: false, refuses: |_| None }
    }

    /// The option, if it is among them.
    pub fn find(&self, timer: Timer) -> Option<&OwnTimer> {
        self.list.iter().find(|own| own.timer == timer)
    }

    /// What each of them is unless it is given, for the granted time to live, nanoseconds.
    pub fn defaults(&self, granted: u64) -> Timers {
        Timers::from(|timer| self.find(timer).and_then(|own| own.default).map(|default| default(granted)))
    }
}
