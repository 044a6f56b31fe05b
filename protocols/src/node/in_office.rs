//! What happens to a leader apart from its work: it warms up, and is checked.

use super::{Node, WORK};
use crate::{
    address::Claim,
    clock::Now,
    core::{Output, TimerId},
    elector,
    random::Random,
    types::SECOND,
    work::duties::Duties,
};

impl Node {
    /// Sets the events of its leaderships.
    pub fn with_tenure(self, tenure: Tenure) -> Self {
        Node { tenure, ..self }
    }

    fn warm(&self) -> TimerId {
        WORK + self.works.timers()
    }

    fn check(&self) -> TimerId {
        self.warm() + 1
    }

    pub(super) fn claim_timer(&self) -> TimerId {
        self.check() + 1
    }

    /// Starts a leadership.
    pub(super) fn take_office(&mut self, now: Now, out: &mut Vec<Output>) {
        let Tenure { warm_up, check_errors_ppm, .. } = self.tenure;
        if warm_up > 0 {
            out.push(Output::SetTimer { id: self.warm(), at: now.mono + warm_up });
        }
        if check_errors_ppm > 0 {
            out.push(Output::SetTimer { id: self.check(), at: now.mono + CHECKED_EVERY });
        }
        self.claim(now, out);
    }

    /// Ends a leadership.
    pub(super) fn leave_office(&mut self, out: &mut Vec<Output>) {
        if self.tenure.warm_up > 0 || self.tenure.check_errors_ppm > 0 {
            out.extend([self.warm(), self.check()].map(Output::CancelTimer));
        }
        self.let_address_go(out);
    }

    /// Whether a leader elected at `elected_at` has been leading long enough to serve.
    pub(super) fn is_warm(&self, now: Now, elected_at: u64) -> bool {
        now.mono - elected_at >= self.tenure.warm_up
    }

    /// Handles its timers; returns whether `id` is one of them.
    pub(super) fn in_office(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) -> bool {
        if id == self.claim_timer() {
            self.claim(now, out);
        } else if self.lead.is_none() {
            return false;
        } else if id == self.warm() {
            self.work_when_sealed(now, out);
        } else if id == self.check() {
            out.push(Output::SetTimer { id, at: now.mono + CHECKED_EVERY });
            self.check_health(now, out);
        } else {
            return false;
        }
        true
    }

    /// Checks the leader's health. The leader is healthy, but checks may err.
    fn check_health(&mut self, now: Now, out: &mut Vec<Output>) {
        let Tenure { hold_down, check_errors_ppm, .. } = self.tenure;
        let errs = self.tenure.random.next_u32() % 1_000_000 < check_errors_ppm;
        let held_down = self.lead.as_ref().is_none_or(|lead| now.mono - lead.elected_at < hold_down);
        if errs && !held_down && !self.resigning {
            self.let_go(now, None, out);
        }
    }

    /// The store has answered.
    pub(super) fn store_answers(&mut self) {
        (self.broken, self.given_up) = (0, 0);
        if let Some(lead) = &mut self.lead {
            lead.owed_since = None;
        }
    }

    /// Steps down if the store has owed an answer for too long. Work under way is not waited for: it cannot be, and the
    /// resource must refuse it if it arrives after a successor's.
    pub(super) fn step_down_if_stuck(&mut self, now: Now, out: &mut Vec<Output>) {
        let patience = self.tenure.step_down_after << self.given_up.min(PATIENCE_MAX.ilog2());
        let Some(lead) = self.lead.as_mut().filter(|_| patience > 0 && !self.stuck) else { return };
        let owes = lead.work.as_ref().map_or_else(|| lead.sealed.iter().any(Option::is_none), Duties::is_owed);
        lead.owed_since = if owes { lead.owed_since.or(Some(now.mono)) } else { None };
        if lead.owed_since.is_some_and(|since| now.mono - since >= patience) {
            self.given_up += 1;
            (self.stuck, self.resigning) = (true, true);
            self.elect(now, elector::Input::Resign, out);
            self.elect(now, elector::Input::StandAside(STANDS_ASIDE * patience), out);
        }
    }
}

// How a leader starts to serve, and how it is removed by mistake.
//
// A new leader may need some time before it serves anybody: it fills caches, makes connections, recovers state. And
// health checks err: one that reports a healthy leader as failed costs a change of leadership, and another warm-up. If
// the warm-up takes longer than the time between such errors, nobody ever serves: an election storm (*Leader election:
// mechanisms, failure modes, fencing*, "Election storms": buggy health checks; cache warm-up; "after a recent
// failover, wait longer before another"). A hold-down is the remedy: a check's report on a leader younger than that is
// ignored. Orchestrator for MySQL does the same: it does not replace a primary of a cluster that had a recovery within
// `RecoveryPeriodBlockSeconds`.
//
// A leader can also be unable to work although it keeps its lease: it renews, but the store does not answer it. Its
// possible successors see nothing wrong, and effectively nobody leads (tikv/pd issue 10671: 47 minutes;
// AcalephStorage/consul-alerts issue 40; kubernetes/kubernetes issue 70819). [`Tenure::step_down_after`] is the
// remedy: such a leader resigns. If the store fails everybody, each resignation in a row without an answer in between
// takes twice as long, up to [`PATIENCE_MAX`] times, so that leadership does not circulate in vain.
//
// Such a leader must not be re-elected at once, as it would be where the protocol prefers it. It stands aside for
// [`STANDS_ASIDE`] times as long as it had waited for the store, and so for twice as long after each failure in a row:
// no more than about a tenth of a lasting fault's duration is spent on finding out that it still lasts. Others may
// fail as well, so a node that stands aside still leads if nobody else does.
//
// A leader that dies or loses its lease is replaced as usual, regardless of the hold-down.

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
