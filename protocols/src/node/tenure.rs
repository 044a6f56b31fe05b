//! How a leader comes into its office, and how it is sent out of it by mistake.
//!
//! A new leader may need some time before it serves anybody: it fills caches, makes connections, recovers state. And what watches
//! over leaders errs: a health check that takes a healthy leader for a sick one costs a change of leadership, and another
//! warm-up. If that is longer than checks take to err, nobody ever serves: an election storm (*Leader election:
//! mechanisms, failure modes, fencing*, "Election storms": buggy health checks; cache warm-up; "after a recent
//! failover, wait longer before another"). A hold-down is the remedy: what a check says of a leader that is younger
//! than that is not believed. So does Orchestrator for MySQL, which replaces no primary of a cluster that it has
//! replaced within `RecoveryPeriodBlockSeconds`.
//!
//! A leader can also be unable to work although it holds on to its lease: it renews, and the store does not answer it. To those who
//! would replace it nothing is wrong, and nobody leads in effect (tikv/pd issue 10671: 47 minutes; AcalephStorage/consul-alerts
//! issue 40; kubernetes/kubernetes issue 70819). [`Tenure::step_down_after`] is the remedy: such a leader resigns. Where the store
//! fails everybody, each resignation in a row without an answer in between takes twice as long, up to [`PATIENCE_MAX`] times, so
//! that leadership does not go round for nothing.
//!
//! Such a leader must not be elected again at once, as it would be where the protocol prefers it. It stands aside for
//! [`STANDS_ASIDE`] times as long as it had waited for the store, and so for twice as long after each failure in a row: of a
//! fault that lasts, no more than about a tenth is spent on finding out that it still lasts. Others may fail as well, so
//! whoever stands aside leads all the same where nobody else does.
//!
//! A leader that dies or loses its lease is replaced as ever: no hold-down stands in the way of that.

use crate::{address::Claim, core::TimerId, random::Random, types::SECOND};

/// From one health check to the next, nanoseconds.
pub const CHECKED_EVERY: u64 = SECOND;
/// Timers beside those of the works: the warm-up is over, the next health check, and the next claim of the address.
pub(super) const TIMERS: TimerId = 3;

/// How much longer than at first a leader waits for the store at most, after it has stepped down for its silence again and again.
pub(super) const PATIENCE_MAX: u32 = 8;

/// For so many times as long as it had waited for the store a leader stands aside after it has stepped down for its silence.
pub(super) const STANDS_ASIDE: u64 = 10;

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
    /// A leader to which the store has owed an answer for this long resigns, nanoseconds; 0 for never.
    pub step_down_after: u64,
    /// The address that a leader claims, if clients go by one.
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
