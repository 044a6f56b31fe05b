//! How a leader starts to serve, and how it is removed by mistake.
//!
//! A new leader may need some time before it serves anybody: it fills caches, makes connections, recovers state. And
//! health checks err: one that reports a healthy leader as failed costs a change of leadership, and another warm-up. If
//! the warm-up takes longer than the time between such errors, nobody ever serves: an election storm (*Leader election:
//! mechanisms, failure modes, fencing*, "Election storms": buggy health checks; cache warm-up; "after a recent
//! failover, wait longer before another"). A hold-down is the remedy: a check's report on a leader younger than that is
//! ignored. Orchestrator for MySQL does the same: it does not replace a primary of a cluster that had a recovery within
//! `RecoveryPeriodBlockSeconds`.
//!
//! A leader can also be unable to work although it keeps its lease: it renews, but the store does not answer it. Its
//! possible successors see nothing wrong, and effectively nobody leads (tikv/pd issue 10671: 47 minutes;
//! AcalephStorage/consul-alerts issue 40; kubernetes/kubernetes issue 70819). [`Tenure::step_down_after`] is the
//! remedy: such a leader resigns. If the store fails everybody, each resignation in a row without an answer in between
//! takes twice as long, up to [`PATIENCE_MAX`] times, so that leadership does not circulate in vain.
//!
//! Such a leader must not be re-elected at once, as it would be where the protocol prefers it. It stands aside for
//! [`STANDS_ASIDE`] times as long as it had waited for the store, and so for twice as long after each failure in a row:
//! no more than about a tenth of a lasting fault's duration is spent on finding out that it still lasts. Others may
//! fail as well, so a node that stands aside still leads if nobody else does.
//!
//! A leader that dies or loses its lease is replaced as usual, regardless of the hold-down.

use crate::{address::Claim, core::TimerId, random::Random, types::SECOND};

/// The interval between health checks, nanoseconds.
pub const CHECKED_EVERY: u64 = SECOND;
/// Timers besides those of the works: the end of the warm-up, the next health check, and the next claim of the address.
pub(super) const TIMERS: TimerId = 3;

/// The longest patience with a silent store after repeated resignations, as a multiple of the first.
pub(super) const PATIENCE_MAX: u32 = 8;

/// How long a leader stands aside after it resigned because of a silent store, as a multiple of its wait.
pub(super) const STANDS_ASIDE: u64 = 10;

/// Events of a leadership other than its work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tenure {
    /// How long after its election a leader does not serve yet, nanoseconds.
    pub warm_up: u64,
    /// How long after its election a leader ignores health checks, nanoseconds.
    pub hold_down: u64,
    /// How many health checks in a million report a healthy leader as failed, which then resigns.
    pub check_errors_ppm: u32,
    /// Decides which ones.
    pub random: Random,
    /// How long the store may owe a leader an answer before it resigns, nanoseconds; 0 for no limit.
    pub step_down_after: u64,
    /// The address that a leader claims, if clients use one.
    pub address: Option<Claim>,
}

impl Default for Tenure {
    fn default() -> Self {
        Tenure {
            warm_up: 0,
            hold_down: 0,
            check_errors_ppm: 0,
            random: Random::new(0),
            step_down_after: 0,
            address: None,
        }
    }
}
