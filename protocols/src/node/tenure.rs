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

use super::{Node, WORK};
use crate::{
    clock::Now,
    core::{Output, TimerId},
    random::Random,
    types::SECOND,
};

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

impl Node {
    /// The same candidate, to which that happens while it leads.
    pub fn with_tenure(self, tenure: Tenure) -> Self {
        Node { tenure, ..self }
    }

    fn warm(&self) -> TimerId {
        WORK + self.works.timers()
    }

    fn check(&self) -> TimerId {
        self.warm() + 1
    }

    /// It was elected at this moment.
    pub(super) fn take_office(&self, now: Now, out: &mut Vec<Output>) {
        let Tenure { warm_up, check_errors_ppm, .. } = self.tenure;
        if warm_up > 0 {
            out.push(Output::SetTimer { id: self.warm(), at: now.mono + warm_up });
        }
        if check_errors_ppm > 0 {
            out.push(Output::SetTimer { id: self.check(), at: now.mono + CHECKED_EVERY });
        }
    }

    /// It leads no more.
    pub(super) fn leave_office(&self, out: &mut Vec<Output>) {
        if self.tenure.warm_up > 0 || self.tenure.check_errors_ppm > 0 {
            out.extend([self.warm(), self.check()].map(Output::CancelTimer));
        }
    }

    /// Has a leader that was elected then been one for long enough to serve?
    pub(super) fn is_warm(&self, now: Now, elected_at: u64) -> bool {
        now.mono - elected_at >= self.tenure.warm_up
    }

    /// One of the timers fired, if it is one of them.
    pub(super) fn in_office(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) -> bool {
        if id == self.warm() {
            self.work_when_sealed(now, out);
        } else if id == self.check() {
            out.push(Output::SetTimer { id, at: now.mono + CHECKED_EVERY });
            self.check_health(now, out);
        } else {
            return false;
        }
        true
    }

    /// The leader is healthy. That is not always seen.
    fn check_health(&mut self, now: Now, out: &mut Vec<Output>) {
        let Tenure { hold_down, check_errors_ppm, .. } = self.tenure;
        let errs = self.tenure.random.next_u32() % 1_000_000 < check_errors_ppm;
        let held_down = self.lead.as_ref().is_none_or(|lead| now.mono - lead.elected_at < hold_down);
        if errs && !held_down && !self.resigning {
            self.let_go(now, None, out);
        }
    }
}
