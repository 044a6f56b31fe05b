//! Replaces a broken connection to the store.

use super::{AGAIN, LOOK, LOOK_MIN, Node, PAUSE_MAX, PAUSE_MIN};
use crate::{clock::Now, core::Output, types::NodeId};

impl Node {
    /// Schedules the next check for a silent store.
    pub(super) fn look_later(&self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: LOOK, at: now.mono + LOOK_MIN.max(self.place.silence / 5) });
    }

    /// The connection to the store broke: after a pause, everything unanswered is resent over a new one.
    pub(super) fn disconnected(&mut self, now: Now, peer: NodeId, out: &mut Vec<Output>) {
        if peer == self.place.store && self.lead.is_some() {
            let pause = PAUSE_MAX.min(PAUSE_MIN << self.broken.min(16));
            self.broken += 1;
            out.push(Output::SetTimer { id: AGAIN, at: now.mono + pause });
            if let Some(work) = self.lead.as_mut().and_then(|lead| lead.work.as_mut()) {
                work.hold();
            }
        }
    }

    /// Resends everything unanswered over a new connection. The caller has checked that it is still valid.
    pub(super) fn start_over(&mut self, now: Now, out: &mut Vec<Output>) {
        // A second resend must be avoided: without a token the store would take it for another write.
        out.push(Output::CancelTimer(AGAIN));
        let Some(lead) = &mut self.lead else { return };
        lead.asked_at = now.mono;
        match &mut lead.work {
            Some(work) => work.start_over(now.mono, out),
            None => self.seal(out),
        }
    }
}
