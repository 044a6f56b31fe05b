//! What becomes of a leader's work, and of its candidacy, when its belief ends. The work stops within the same step, and the
//! elector stands again; unless one of two bugs is switched on.

use super::{
    AGAIN, LOOK, Lead, Node, WORK,
    bugs::{HOOK_BLOCKS, STANDS_ONCE, WORKS_ON_AFTER_LOSS},
};
use crate::{
    clock::Now,
    core::Output,
    elector::{self, Deposed, ServiceOutput},
};

/// Does an elector's output only end what it had begun?
pub(super) fn cleans_up(output: &elector::Output) -> bool {
    use elector::Output::{CancelTimer, Service};
    matches!(output, CancelTimer(_) | Service(ServiceOutput::Cancel(_) | ServiceOutput::Close(_)))
}

impl Node {
    /// Ends everything that a leader does beside its election.
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

    /// [`STANDS_ONCE`]: the call that elects has returned, and nobody calls it again.
    pub(super) fn retire_after(&mut self, reason: Deposed) {
        if reason != Deposed::Resigned && self.bugs.has(&STANDS_ONCE) {
            (self.retired, self.observed) = (true, None);
        }
    }

    /// [`WORKS_ON_AFTER_LOSS`]: does the work go on, although the belief is over?
    pub(super) fn outlives(&self, reason: Deposed, lead: &Lead) -> bool {
        let lost = matches!(reason, Deposed::Expired | Deposed::Lost);
        lost && lead.work.is_some() && self.bugs.has(&WORKS_ON_AFTER_LOSS)
    }

    /// The work goes on for as long as the hook blocks.
    pub(super) fn work_on(&mut self, now: Now, lead: Lead) {
        self.lead = Some(Lead { valid_until: now.mono + HOOK_BLOCKS, outlived: true, ..lead });
    }

    /// Work that outlived its belief ends: the hook has returned, the resource has refused it, or the node leads again.
    pub(super) fn stop_outlived(&mut self, out: &mut Vec<Output>) {
        if self.lead.take_if(|lead| lead.outlived).is_some() {
            self.stop_work(out);
        }
    }
}
