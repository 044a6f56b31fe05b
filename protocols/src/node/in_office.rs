//! What happens to a leader apart from its work: it warms up, and is checked.

use super::{
    Node, WORK,
    tenure::{CHECKED_EVERY, PATIENCE_MAX, STANDS_ASIDE, Tenure},
};
use crate::{
    clock::Now,
    core::{Output, TimerId},
    elector,
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
