//! How a candidate handles the fencing device's answers.

use super::{super::bugs::ACCEPTED_IS_STOPPED, Shot, Stonith};
use crate::{
    clock::Now,
    types::{NodeId, SECOND},
};

/// The longest wait after the device has rejected a request, nanoseconds: exponential back-off, as clients of such APIs
/// do.
const BACK_OFF_MAX: u64 = 8 * SECOND;

impl Stonith {
    /// Handles the device's report that the target's power was cut.
    pub(super) fn fenced(&mut self, now: Now, target: NodeId, request: u64) {
        let Some(other) = self.others.iter_mut().find(|other| other.node == target) else { return };
        // For an earlier claim.
        if other.shot.is_none_or(|shot| shot.request != request) {
            return;
        }
        other.shot = None;
        crate::mark!("stonith: the device says that it is off");
        other.off = Some(now.mono);
        (other.arrived, other.heard) = (None, None);
        self.clear(now, target, false);
    }

    /// The device has accepted a request; its target is still running.
    pub(super) fn accepted(&mut self, now: Now, target: NodeId, request: u64) {
        if self.setup.bugs.has(&ACCEPTED_IS_STOPPED) {
            return self.fenced(now, target, request);
        }
        if let Some(shot) = self.shot(target, request) {
            shot.throttled = 0;
        }
    }

    /// The device has rejected a request: doubles the wait before the next one.
    pub(super) fn throttled(&mut self, now: Now, target: NodeId, request: u64) {
        let retry = self.setup.timings.request_timeout;
        if let Some(shot) = self.shot(target, request) {
            shot.throttled += 1;
            shot.ask_at = now.mono + BACK_OFF_MAX.min(retry << shot.throttled.min(16));
        }
    }

    /// The power-off with that number, if it is still wanted.
    fn shot(&mut self, target: NodeId, request: u64) -> Option<&mut Shot> {
        let other = self.others.iter_mut().find(|other| other.node == target)?;
        other.shot.as_mut().filter(|shot| shot.request == request)
    }
}
