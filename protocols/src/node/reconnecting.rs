//! A connection to the store that broke, and a new one.

use super::{AGAIN, LOOK, LOOK_MIN, Node, PAUSE_MAX, PAUSE_MIN};
use crate::{clock::Now, core::Output, types::NodeId};

impl Node {
    /// Looks later whether the store is silent.
    pub(super) fn look_later(&self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: LOOK, at: now.mono + LOOK_MIN.max(self.place.silence / 5) });
    }

    /// The connection to the store broke: after a pause everything unanswered is sent again, over a new one.
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

    /// Sends everything that the store has not answered over a connection that is new. What is no longer valid must not be
    /// sent again; the caller has checked that.
    pub(super) fn start_over(&mut self, now: Now, out: &mut Vec<Output>) {
        // Once is enough: without a token the store would take a second time for another write.
        out.push(Output::CancelTimer(AGAIN));
        let Some(lead) = &mut self.lead else { return };
        lead.asked_at = now.mono;
        match &mut lead.work {
            Some(work) => work.start_over(now.mono, out),
            None => self.seal(out),
        }
    }
}
