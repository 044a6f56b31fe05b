//! A node whose elector gets no inputs until the current job is done: the only thread is busy with the job, or the
//! renewing task has ended and the node waits for the job before it notices.

use super::{
    Node,
    bugs::{NOT_CANCELLED, RENEWS_BETWEEN_JOBS},
};
use crate::{
    clock::Now,
    core::Output,
    elector::{Input, ServiceInput},
    work::duties::Duties,
};

impl Node {
    fn is_at_work(&self) -> bool {
        self.lead.as_ref().and_then(|lead| lead.work.as_ref()).is_some_and(Duties::is_at_work)
    }

    /// [`RENEWS_BETWEEN_JOBS`], and [`NOT_CANCELLED`] after a failed renewal: whether the elector waits for the job.
    pub(super) fn is_deaf(&self) -> bool {
        (self.renewal_failed || self.bugs.has(&RENEWS_BETWEEN_JOBS)) && self.is_at_work()
    }

    /// [`NOT_CANCELLED`]: a request that fails during a job ends the renewing task.
    pub(super) fn note_failed_renewal(&mut self, input: &Input) {
        let failed = matches!(input, Input::Service(ServiceInput::Reply { reply: Err(_), .. }));
        self.renewal_failed |= failed && self.bugs.has(&NOT_CANCELLED) && self.is_at_work();
    }

    /// If no job is running any more, hands the elector its waiting inputs and due timers.
    pub(super) fn hear(&mut self, now: Now, out: &mut Vec<Output>) {
        self.renewal_failed &= self.is_at_work();
        while !self.unheard.is_empty() && !self.is_deaf() {
            let input = self.unheard.remove(0);
            self.elect(now, input, out);
        }
    }
}
