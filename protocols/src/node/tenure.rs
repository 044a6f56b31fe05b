//! How a leader comes into its office, and how it is sent out of it by mistake.
//!
//! A new leader may need some time before it serves anybody: it fills caches, makes connections, recovers state. And what watches
//! over leaders errs: a health check that takes a healthy leader for a sick one costs a change of leadership, and another
//! warm-up. If that is longer than checks take to err, nobody ever serves: an election storm (reference text 002, "Election
//! storms": buggy health checks; cache warm-up; "after a recent failover, wait longer before another"). A hold-down is the
//! remedy: what a check says of a leader that is younger than that is not believed. So does Orchestrator for MySQL, which
//! replaces no primary of a cluster that it has replaced within `RecoveryPeriodBlockSeconds`.
//!
//! A leader that dies or loses its lease is replaced as ever: no hold-down stands in the way of that.

use crate::{core::TimerId, random::Random, types::SECOND};

/// From one health check to the next, nanoseconds.
pub const CHECKED_EVERY: u64 = SECOND;
/// Timers beside those of the works: the warm-up is over, and the next health check.
pub(super) const TIMERS: TimerId = 2;

/// What happens to leaders beside their work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tenure {
    /// For so long after its election a leader serves nobody, nanoseconds.
    pub warm_up: u64,
    /// For so long after its election a leader does not resign because of a health check, nanoseconds.
    pub hold_down: u64,
    /// Of a million health checks so many take a healthy leader for a sick one, which then resigns.
    pub check_errors_ppm: u32,
    /// Which of them.
    pub random: Random,
}

impl Default for Tenure {
    fn default() -> Self {
        Tenure { warm_up: 0, hold_down: 0, check_errors_ppm: 0, random: Random::new(0) }
    }
}
