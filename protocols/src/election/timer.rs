//! The names of timing options that only some protocols have.

/// A timing option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timer {
    /// How long a leader tries to renew before it resigns; client-go's `RenewDeadline`.
    RenewDeadline,
    /// The interval between attempts to acquire; client-go's `RetryPeriod`, Consul's `DefaultLockRetryTime`.
    RetryPeriod,
    /// How long the service keeps a lock unavailable after its holder's session ended; Consul's `LockDelay`.
    LockDelay,
    /// The interval between the leader's entries in the log that elections compare; without it the log has only each
    /// term's first entry.
    EntryInterval,
    /// How long the primary of the service takes to send acknowledged writes to its replicas, besides the travel time;
    /// without it, it sends them at once.
    ReplicaLag,
}

impl Timer {
    pub const ALL: [Timer; 5] =
        [Timer::RenewDeadline, Timer::RetryPeriod, Timer::LockDelay, Timer::EntryInterval, Timer::ReplicaLag];

    /// Its name in reports.
    pub const fn words(self) -> &'static str {
        match self {
            Timer::RenewDeadline => "renew deadline",
            Timer::RetryPeriod => "retry period",
            Timer::LockDelay => "lock delay",
            Timer::EntryInterval => "entry interval",
            Timer::ReplicaLag => "replica lag",
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

    /// Whether it may be 0.
    pub const fn may_be_zero(self) -> bool {
        matches!(self, Timer::LockDelay)
    }
}
