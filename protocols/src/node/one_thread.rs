//! A node whose only thread is at a job: its elector hears of nothing until that is done.

use super::{Node, bugs::RENEWS_BETWEEN_JOBS};
use crate::{clock::Now, core::Output, work::duties::Duties};

impl Node {
    /// [`RENEWS_BETWEEN_JOBS`]: is its only thread at a job?
    pub(super) fn is_deaf(&self) -> bool {
        let work = self.lead.as_ref().and_then(|lead| lead.work.as_ref());
        self.bugs.has(&RENEWS_BETWEEN_JOBS) && work.is_some_and(Duties::is_at_work)
    }

    /// A job may be done: then the elector is told what has come meanwhile, and what is due.
    pub(super) fn hear(&mut self, now: Now, out: &mut Vec<Output>) {
        while !self.unheard.is_empty() && !self.is_deaf() {
            let input = self.unheard.remove(0);
            self.elect(now, input, out);
        }
    }
}
