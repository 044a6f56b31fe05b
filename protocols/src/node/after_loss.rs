//! A leader's work and candidacy after its belief ends. The work stops within the same step, and the elector campaigns
//! again, unless one of two bugs is switched on.

use super::{
    AGAIN, LOOK, Lead, Node, WORK,
    bugs::{HOOK_BLOCKS, STANDS_ONCE, WORKS_ON_AFTER_LOSS},
};
use crate::{
    clock::Now,
    core::Output,
    elector::{self, Deposed, ServiceOutput},
};

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
