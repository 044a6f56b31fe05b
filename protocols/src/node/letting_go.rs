//! How a leader lets go: by resigning, and after its belief has ended.

use super::{
    AGAIN, LOOK, Lead, Node, WORK,
    bugs::{HOOK_BLOCKS, RELEASED_BEFORE_JOINED, SHUTDOWN_STARTS_WORK, STANDS_ONCE, WORKS_ON_AFTER_LOSS},
};
use crate::{
    clock::Now,
    core::Output,
    elector::{self, Deposed, ServiceOutput},
    types::{Incarnation, NodeId},
    work::duties::Duties,
};

impl Node {
    pub(super) fn let_go(&mut self, now: Now, successor: Option<NodeId>, out: &mut Vec<Output>) {
        if let Some(lead) = self.lead.as_mut().filter(|lead| !lead.outlived) {
            if let Some(work) = lead.work.as_mut().filter(|_| !self.resigning && now.mono < lead.valid_until) {
                work.leave(&self.works, now, out);
            }
            self.resigning = true;
            self.successor = successor;
            self.let_go_when_joined(now, out);
        } else if self.bugs.has(&SHUTDOWN_STARTS_WORK) {
            self.start_unled(now, out);
        }
    }

    /// [`SHUTDOWN_STARTS_WORK`]: works for two periods, whoever leads.
    fn start_unled(&mut self, now: Now, out: &mut Vec<Output>) {
        let incarnation = Incarnation { token: 0, node: self.place.node, generation: self.place.starts << 16 };
        let sealed = self.works.each().map(|_| None).collect();
        let (valid_until, at) = (now.mono + 2 * self.place.tick, now.mono);
        let (owed_since, work, outlived) = (None, None, false);
        self.lead =
            Some(Lead { incarnation, valid_until, elected_at: at, sealed, asked_at: at, owed_since, work, outlived });
        self.seal(out);
    }

    pub(super) fn is_joined(&self) -> bool {
        self.lead.as_ref().and_then(|lead| lead.work.as_ref()).is_none_or(Duties::is_joined)
    }

    pub(super) fn let_go_when_joined(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.lead.is_none() {
            return;
        }
        let joined = self.is_joined();
        if !joined {
            crate::mark!("node: a resignation waits for the writes under way");
        }
        if self.released {
            if joined {
                self.deposed(now, elector::Deposed::Resigned, out);
            }
        } else if joined || self.bugs.has(&RELEASED_BEFORE_JOINED) {
            let input = self.successor.take().map_or(elector::Input::Resign, elector::Input::Transfer);
            self.elect(now, input, out);
        }
    }
}

// A leader's work and candidacy after its belief ends. The work stops within the same step, and the elector campaigns
// again, unless one of two bugs is switched on.

/// Whether an elector's output only ends something begun earlier.
pub(super) fn cleans_up(output: &elector::Output) -> bool {
    use elector::Output::{CancelTimer, Service};
    matches!(output, CancelTimer(_) | Service(ServiceOutput::Cancel(_) | ServiceOutput::Close(_)))
}

impl Node {
    /// Ends all of a leader's activities apart from its election.
    pub(super) fn stop_work(&mut self, out: &mut Vec<Output>) {
        out.push(Output::CancelTimer(LOOK));
        out.push(Output::CancelTimer(AGAIN));
        (0..self.works.timers()).for_each(|timer| out.push(Output::CancelTimer(WORK + timer)));
        self.leave_office(out);
    }

    /// The resource has refused this leader's token.
    pub(super) fn fenced(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.lead.as_ref().is_some_and(|lead| lead.outlived) {
            self.stop_outlived(out);
        } else {
            self.elect(now, elector::Input::Fenced, out);
        }
    }

    /// [`STANDS_ONCE`]: the electing call has returned, and is not made again.
    pub(super) fn retire_after(&mut self, reason: Deposed) {
        if reason != Deposed::Resigned && self.bugs.has(&STANDS_ONCE) {
            (self.retired, self.observed) = (true, None);
        }
    }

    /// [`WORKS_ON_AFTER_LOSS`]: whether the work continues although the belief has ended.
    pub(super) fn outlives(&self, reason: Deposed, lead: &Lead) -> bool {
        let lost = matches!(reason, Deposed::Expired | Deposed::Lost);
        lost && lead.work.is_some() && self.bugs.has(&WORKS_ON_AFTER_LOSS)
    }

    /// Continues the work while the hook blocks.
    pub(super) fn work_on(&mut self, now: Now, lead: Lead) {
        self.lead = Some(Lead { valid_until: now.mono + HOOK_BLOCKS, outlived: true, ..lead });
    }

    /// Ends work that outlived its belief: the hook has returned, the resource has refused it, or the node leads again.
    pub(super) fn stop_outlived(&mut self, out: &mut Vec<Output>) {
        if self.lead.take_if(|lead| lead.outlived).is_some() {
            self.stop_work(out);
        }
    }
}
