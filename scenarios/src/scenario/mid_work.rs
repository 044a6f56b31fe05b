//! The leader pauses at a point of its work, as [`super::gc_pause`] does before any write: after some renewals, at a
//! phase from which a successor must have sealed before it wakes.

use super::{
    drawn_ms,
    gc_pause::{self, RENEWAL_TICK_MS, RENEWALS},
    settled_ms,
};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    streams,
};
use protocols::{election::Protocol, point::Point};
use rand_core::RngCore;

/// When the leader pauses, and for how long.
pub(super) struct Stop {
    renewal: u64,
    delay_ms: f64,
    pause_ms: u64,
}

impl Stop {
    /// Drawn for a work that reaches its point once per `cycle_ms`: the passage comes up to that much later, and must
    /// not come after the next renewal.
    pub fn drawn(
        random: &mut impl RngCore,
        params: &Params,
        protocol: &Protocol,
        pause_ms: u64,
        cycle_ms: u64,
    ) -> Stop {
        let renewal = streams::between(random, RENEWALS.0, RENEWALS.1);
        let (low_ms, high_ms) = gc_pause::phase_ms(params, protocol, pause_ms);
        let delay_ms = drawn_ms(random, low_ms, (high_ms - cycle_ms as f64).max(low_ms));
        Stop { renewal, delay_ms, pause_ms }
    }

    pub fn at(&self, point: Point) -> Trigger {
        let passage = |point: Point, nth, after, delay_ms| Trigger::Passage {
            point: point.name().to_owned(),
            node: Who::Leader,
            nth,
            after,
            delay_ms,
            matching: None,
        };
        let renewed = passage(Point::Renewed, self.renewal, None, 0.0);
        passage(point, 1, Some(Box::new(renewed)), self.delay_ms)
    }

    /// The pause; if the leader's lock outlasts any pause, an operator takes it away.
    pub fn faults(&self, when: &Trigger, params: &Params, protocol: &Protocol) -> Vec<PlannedFault> {
        let pause = Fault::Pause { node: Who::Trigger, for_ms: self.pause_ms as f64 };
        let mut faults = vec![PlannedFault { when: when.clone(), what: pause, group: 0 }];
        if protocol.service.outlasts_pauses {
            let what = Fault::DropKey { node: Who::Leader };
            faults.push(PlannedFault { when: gc_pause::unblocked(when, params, protocol), what, group: 0 });
        }
        faults
    }
}

/// When the leader is awake again at the latest, milliseconds.
pub(super) fn woken_ms(params: &Params, protocol: &Protocol, pause_ms: u64, cycle_ms: u64) -> u64 {
    let renew_ms = params.timings(protocol).renew_interval_ms;
    let begins_ms = settled_ms(params, protocol) + RENEWALS.1 * (renew_ms + RENEWAL_TICK_MS) + cycle_ms;
    begins_ms.saturating_add(pause_ms)
}
