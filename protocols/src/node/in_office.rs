//! What happens to a leader beside its work: it warms up, and is looked at.

use super::{
    Node, WORK,
    tenure::{CHECKED_EVERY, Tenure},
};
use crate::{
    clock::Now,
    core::{Output, TimerId},
};

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
