//! What the fencing device answers, and what a candidate makes of it.

use super::{super::bugs::ACCEPTED_IS_STOPPED, Shot, Stonith};
use crate::{
    clock::Now,
    types::{NodeId, SECOND},
};

/// The longest that a request waits after the device has turned it away, nanoseconds: exponential back-off, as clients of
/// such APIs do it.
const BACK_OFF_MAX: u64 = 8 * SECOND;

impl Stonith {
    /// The device says that the target's power was cut.
    pub(super) fn fenced(&mut self, now: Now, target: NodeId, request: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == target) else { return };
        // Of an older claim.
        if other.shot.is_none_or(|shot| shot.request != request) {
            return;
        }
        other.shot = None;
        crate::mark!(StonithFenced);
        other.off = Some(now.mono);
        (other.arrived, other.heard) = (None, None);
        self.clear(now, target, false);
    }

    /// The device has accepted a request, and its target runs on.
    pub(super) fn accepted(&mut self, now: Now, target: NodeId, request: u64) {
        if self.setup.bugs.has(&ACCEPTED_IS_STOPPED) {
            return self.fenced(now, target, request);
        }
        if let Some(shot) = self.shot(target, request) {
            shot.throttled = 0;
        }
    }

    /// The device has turned a request away: the next comes twice as late as the one before.
    pub(super) fn throttled(&mut self, now: Now, target: NodeId, request: u64) {
        let retry = self.setup.timings.request_timeout;
        if let Some(shot) = self.shot(target, request) {
            shot.throttled += 1;
            shot.ask_at = now.mono + BACK_OFF_MAX.min(retry << shot.throttled.min(16));
        }
    }

    /// The power-off of that name, if it is still wanted.
    fn shot(&mut self, target: NodeId, request: u64) -> Option<&mut Shot> {
        let other = self.others.iter_mut().find(|other| other.node == target)?;
        other.shot.as_mut().filter(|shot| shot.request == request)
    }
}
