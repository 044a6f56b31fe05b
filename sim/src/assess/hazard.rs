//! What may go wrong, as people say it, and the plan in which it does.

use super::Case;
use crate::error::Failed;
use protocols::{election::Protocol, fence::checks::Fencing};
use scenarios::{
    Params, Plan, Scenario, belief,
    fault::{Fault, PlannedFault, Who},
    plan::PPM_MAX,
    registry::Missing,
    scenario::{self, cut_ms, gc_pause},
};

/// What may go wrong; at least one of them is given.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hazards {
    /// The leader stops for so long, milliseconds.
    pub pause_ms: Option<u64>,
    /// The leader reaches neither the service nor the other candidates for so long, milliseconds; clients and store it does.
    pub cut_ms: Option<u64>,
    /// Candidates' clocks run so much too fast or too slow, parts per million.
    pub drift_ppm: Option<u64>,
    /// Their wall clocks are off by so much, milliseconds.
    pub skew_ms: Option<u64>,
    /// A packet takes so long one way, microseconds.
    pub latency_us: Option<u64>,
}

/// One of the hazards: what margins are measured along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// [`Hazards::pause_ms`].
    Pause,
    /// [`Hazards::cut_ms`].
    Cut,
    /// [`Hazards::drift_ppm`].
    Drift,
    /// [`Hazards::skew_ms`].
    Skew,
    /// [`Hazards::latency_us`].
    Latency,
}

/// The largest skew of wall clocks that is looked at, milliseconds.
const SKEW_MAX_MS: u64 = 3_600_000;
/// The longest way of a packet that is looked at, microseconds, and how many times the one that is asked for.
const LATENCY_MAX_US: u64 = 10_000_000;
const LATENCIES: u64 = 16;

impl Hazards {
    /// The first that is given, and its value.
    pub fn first(&self) -> Option<(Along, u64)> {
        [
            (Along::Pause, self.pause_ms),
            (Along::Cut, self.cut_ms),
            (Along::Drift, self.drift_ppm),
            (Along::Skew, self.skew_ms),
            (Along::Latency, self.latency_us),
        ]
        .into_iter()
        .find_map(|(along, value)| Some((along, value?)))
    }

    /// With another value of one of them.
    pub(super) fn with(self, along: Along, value: u64) -> Hazards {
        let value = Some(value);
        match along {
            Along::Pause => Hazards { pause_ms: value, ..self },
            Along::Cut => Hazards { cut_ms: value, ..self },
            Along::Drift => Hazards { drift_ppm: value, ..self },
            Along::Skew => Hazards { skew_ms: value, ..self },
            Along::Latency => Hazards { latency_us: value, ..self },
        }
    }

    /// The parameters of runs with them.
    pub(super) fn params(&self, params: &Params) -> Params {
        let mut params = params.clone();
        params.clock_drift_ppm = self.drift_ppm.unwrap_or(params.clock_drift_ppm);
        params.clock_skew_ms = self.skew_ms.unwrap_or(params.clock_skew_ms);
        params.latency_us = self.latency_us.map(|us| (us, us)).or(params.latency_us);
        params.pause_ms = self.pause_ms;
        params
    }
}

impl Case<'_> {
    /// The scenario that the hazards are brought into. Clocks and slow packets matter most to a leader that is cut off.
    pub fn scenario(&self) -> Result<&'static Scenario, Missing> {
        let name = match self.hazards.pause_ms {
            Some(_) => gc_pause::SCENARIO.name,
            None if self.protocol.service.elects => "partition",
            None => "isolate-leader",
        };
        scenario::find(name).ok_or_else(|| Missing { what: "scenario", name: name.to_owned() })
    }

    /// Does a plan differ from what its scenario makes of the options?
    pub fn is_patched(&self) -> bool {
        self.hazards.cut_ms.is_some() || self.protocol.service.outlasts_pauses
    }

    /// The plan of a seed. A pause begins as late after a renewal as it can where it is too short to change the leader in any
    /// phase; see `gc-pause`.
    ///
    /// # Errors
    /// The parameters make no sense, in one sentence.
    pub fn plan(&self, fencing: Fencing, seed: u64) -> Result<Plan, Failed> {
        let params = Params { fencing, ..self.hazards.params(self.params) };
        let mut plan = self.registry.plans.compile(self.scenario()?, &params, self.protocol, seed)?;
        if !self.is_patched() {
            return Ok(plan);
        }
        // Nobody ends the session of a sleeper by hand.
        plan.faults.retain(|fault| !matches!(fault.what, Fault::DropKey { .. }));
        match (self.hazards.pause_ms, self.hazards.cut_ms) {
            (Some(_), Some(for_ms)) => cut_with_the_pause(&mut plan, self.protocol, for_ms),
            (None, Some(for_ms)) => cut_for(&mut plan, for_ms, cut_ms(&params, self.protocol)),
            (_, None) => {}
        }
        plan.requires.clear();
        plan.dual_belief_bound_ms = belief::bound_ms(&plan, self.protocol);
        self.registry.plans.validate(&plan)?;
        Ok(plan)
    }

    /// The largest value that is looked at: whatever can happen to the leader has happened by then.
    pub(super) fn most(&self) -> u64 {
        let (params, asked) = (self.hazards.params(self.params), self.asked());
        match self.along() {
            Along::Pause => {
                let (ttl_ms, takeover_ms) =
                    (params.granted_ttl_ms(self.protocol), params.takeover_max_ms(self.protocol));
                // A heartbeat may leave no room for a phase, and then each pause begins in the latest.
                latest_phase_ms(&params, self.protocol).min(2 * (ttl_ms + takeover_ms) + 1_000).max(asked)
            }
            Along::Cut => cut_ms(&params, self.protocol).max(asked),
            Along::Drift => PPM_MAX,
            Along::Skew => SKEW_MAX_MS.max(asked),
            Along::Latency => LATENCY_MAX_US.min(LATENCIES * asked).max(asked),
        }
    }
}

/// The longest pause that `gc-pause` begins in the latest phase for sure, milliseconds: by then a successor has sealed.
fn latest_phase_ms(params: &Params, protocol: &Protocol) -> u64 {
    let is_latest = |ms: u64| {
        let (low_ms, high_ms) = gc_pause::phase_ms(params, protocol, ms);
        low_ms >= high_ms
    };
    let (mut low, mut high) = (0, 86_400_000);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_latest(middle) { low = middle } else { high = middle }
    }
    low
}

/// Nothing passes between the leader and whoever elects, while it sleeps and as long after.
fn cut_with_the_pause(plan: &mut Plan, protocol: &Protocol, for_ms: u64) {
    let Some(pause) = plan.faults.iter().position(|fault| matches!(fault.what, Fault::Pause { .. })) else { return };
    let to = if protocol.service.elects { Who::Service } else { Who::Followers };
    let what = Fault::Partition { from: vec![Who::Trigger], to: vec![to], one_way: false, for_ms: Some(for_ms as f64) };
    let PlannedFault { when, group, .. } = plan.faults[pause].clone();
    // First, since whoever is paused at the point runs nothing any more.
    plan.faults.insert(pause, PlannedFault { when, what, group });
    plan.duration_ms = plan.duration_ms.saturating_add(for_ms);
}

/// The scenario's own cut, but so long.
fn cut_for(plan: &mut Plan, for_ms: u64, usual_ms: u64) {
    for fault in &mut plan.faults {
        if let Fault::Partition { for_ms: lasts_ms, .. } = &mut fault.what {
            *lasts_ms = Some(for_ms as f64);
        }
    }
    plan.duration_ms = plan.duration_ms.saturating_add(for_ms.saturating_sub(usual_ms));
}
