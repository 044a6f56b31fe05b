//! Hazards in the user's terms, and the plan that brings them about.

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

/// Hazards; at least one is given.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hazards {
    /// The leader's process pauses this long, in milliseconds.
    pub pause_ms: Option<u64>,
    /// The leader reaches neither the service nor other candidates this long, in milliseconds; it still reaches clients
    /// and store.
    pub cut_ms: Option<u64>,
    /// The clock drift of candidates, in parts per million.
    pub drift_ppm: Option<u64>,
    /// The wall-clock skew of candidates, in milliseconds.
    pub skew_ms: Option<u64>,
    /// The one-way latency of a packet, in microseconds.
    pub latency_us: Option<u64>,
}

/// The hazard along which margins are measured.
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

/// The largest wall-clock skew examined, in milliseconds.
const SKEW_MAX_MS: u64 = 3_600_000;
/// The largest one-way latency examined, in microseconds, and the largest multiple of the one asked for.
const LATENCY_MAX_US: u64 = 10_000_000;
const LATENCIES: u64 = 16;

impl Hazards {
    /// The first given hazard, and its value.
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

    /// The same hazards with another value of one.
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

    /// The parameters of runs under these hazards.
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
    /// The scenario that brings the hazards about. Clock errors and slow packets matter most to a leader that is cut
    /// off.
    pub fn scenario(&self) -> Result<&'static Scenario, Missing> {
        let name = match self.hazards.pause_ms {
            Some(_) => gc_pause::SCENARIO.name,
            None if self.protocol.service.elects => "partition",
            None => "isolate-leader",
        };
        scenario::find(name).ok_or_else(|| Missing { what: "scenario", name: name.to_owned() })
    }

    /// Whether plans differ from what the scenario makes of the options.
    pub fn is_patched(&self) -> bool {
        self.hazards.cut_ms.is_some() || self.protocol.service.outlasts_pauses
    }

    /// The plan of a seed. A pause too short to change the leader at any phase begins as late as possible after a
    /// renewal; see `gc-pause`.
    ///
    /// # Errors
    /// The parameters make no sense.
    pub fn plan(&self, fencing: Fencing, seed: u64) -> Result<Plan, Failed> {
        let params = Params { fencing, ..self.hazards.params(self.params) };
        let mut plan = self.registry.plans.compile(self.scenario()?, &params, self.protocol, seed)?;
        if !self.is_patched() {
            return Ok(plan);
        }
        // No operator ends the paused leader's session.
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

    /// The largest value examined: by then, everything that can happen to the leader has happened.
    pub(super) fn most(&self) -> u64 {
        let (params, asked) = (self.hazards.params(self.params), self.asked());
        match self.along() {
            Along::Pause => {
                let (ttl_ms, takeover_ms) =
                    (params.granted_ttl_ms(self.protocol), params.takeover_max_ms(self.protocol));
                // Heartbeats may leave no choice of phase; then every pause begins at the latest one.
                latest_phase_ms(&params, self.protocol).min(2 * (ttl_ms + takeover_ms) + 1_000).max(asked)
            }
            Along::Cut => cut_ms(&params, self.protocol).max(asked),
            Along::Drift => PPM_MAX,
            Along::Skew => SKEW_MAX_MS.max(asked),
            Along::Latency => LATENCY_MAX_US.min(LATENCIES * asked).max(asked),
        }
    }
}

/// The longest pause, in milliseconds, that `gc-pause` surely begins at the latest phase; a successor has sealed by its
/// end.
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

/// Cuts the leader off from those that elect for `for_ms`, from the start of its pause.
fn cut_with_the_pause(plan: &mut Plan, protocol: &Protocol, for_ms: u64) {
    let Some(pause) = plan.faults.iter().position(|fault| matches!(fault.what, Fault::Pause { .. })) else { return };
    let to = if protocol.service.elects { Who::Service } else { Who::Followers };
    let what = Fault::Partition { from: vec![Who::Trigger], to: vec![to], one_way: false, for_ms: Some(for_ms as f64) };
    let PlannedFault { when, group, .. } = plan.faults[pause].clone();
    // Before the pause: a process paused at the point does nothing more.
    plan.faults.insert(pause, PlannedFault { when, what, group });
    plan.duration_ms = plan.duration_ms.saturating_add(for_ms);
}

/// Sets the length of the scenario's own cut.
fn cut_for(plan: &mut Plan, for_ms: u64, usual_ms: u64) {
    for fault in &mut plan.faults {
        if let Fault::Partition { for_ms: lasts_ms, .. } = &mut fault.what {
            *lasts_ms = Some(for_ms as f64);
        }
    }
    plan.duration_ms = plan.duration_ms.saturating_add(for_ms.saturating_sub(usual_ms));
}
