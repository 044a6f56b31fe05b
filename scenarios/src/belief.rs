//! For how long two nodes that run may believe at one time in a plan: the protocol's arithmetic, with what the plan does to
//! clocks and messages at the worst.
//!
//! What counts is what could be, not what the seed makes of it: any fault may strike at the worst moment, and whoever is
//! named only by what it does (`leader`, `trigger`) is any candidate.

use crate::{
    fault::{Fault, Who},
    plan::{LONGEST_MS, Plan},
};
use protocols::{
    election::Conditions,
    types::{MICROSECOND, MILLISECOND},
};

/// How long resending delays a packet on a network that loses some, nanoseconds: three losses in a row, after 200, 400 and
/// 800 ms.
const RESENT: u64 = 1_400 * MILLISECOND;
/// How long a write to a healthy disk keeps a candidate that waits for it, nanoseconds.
const WRITE: u64 = 20 * MILLISECOND;
/// How many syncs one write may take.
const SYNCS: u64 = 4;

/// The bound of a plan, milliseconds; `None` when two may believe for any length of time.
pub fn bound_ms(plan: &Plan) -> Option<f64> {
    let protocol = plan.election()?;
    let overlap = (protocol.belief_overlap)(&plan.timings.resolved(), &conditions(plan))?;
    // Histories have microseconds, and round down: one more at either end.
    let us = if overlap == 0 { 0 } else { overlap.div_ceil(MICROSECOND) + 2 };
    Some(us as f64 / 1e3)
}

/// What the plan does to clocks and messages at the worst.
pub fn conditions(plan: &Plan) -> Conditions {
    let network = &plan.network;
    let resent = if network.loss > 0.0 { RESENT } else { 0 };
    let mut worst = Conditions {
        candidates: plan.candidates.len(),
        travel: network.one_way_max_us() * MICROSECOND + resent,
        unread: WRITE,
        ..Conditions::default()
    };
    plan.candidates.iter().for_each(|candidate| rate(&mut worst, candidate.rate_ppm));
    for fault in &plan.faults {
        strike(&mut worst, plan, &fault.what);
    }
    worst
}

fn rate(worst: &mut Conditions, ppm: i64) {
    let by = ppm.unsigned_abs();
    let side = if ppm < 0 { &mut worst.slow_ppm } else { &mut worst.fast_ppm };
    *side = by.max(*side);
}

/// Milliseconds as nanoseconds; what has no end lasts as long as any run.
fn length(for_ms: Option<f64>) -> u64 {
    (for_ms.unwrap_or(LONGEST_MS as f64) * 1e6) as u64
}

fn strike(worst: &mut Conditions, plan: &Plan, what: &Fault) {
    let (on, _) = what.groups();
    let [candidates, service] = [on.iter().any(|who| elects(plan, who)), on.iter().any(|who| serves(plan, who))];
    match what {
        Fault::Pause { for_ms, .. } if candidates => worst.unread = worst.unread.saturating_add(length(Some(*for_ms))),
        Fault::Kill { restart_after_ms, .. } | Fault::PowerLoss { restart_after_ms, .. } if candidates => {
            worst.restarts |= restart_after_ms.is_some();
        }
        Fault::Restart { .. } if candidates => worst.restarts = true,
        // Streams are silent in it, and say what they had to say when it is over.
        Fault::Partition { for_ms, .. } | Fault::Loss { for_ms, .. } => {
            worst.travel = worst.travel.saturating_add(length(*for_ms)).saturating_add(RESENT);
        }
        Fault::Latency { extra_us, .. } => worst.travel = worst.travel.saturating_add(extra_us * MICROSECOND),
        Fault::SlowDisk { extra_us, .. } if candidates => {
            worst.unread = worst.unread.saturating_add(SYNCS * extra_us * MICROSECOND);
        }
        Fault::ClockStep { by_ms, .. } if service => {
            let ahead = u64::try_from(*by_ms).unwrap_or(0).saturating_mul(MILLISECOND);
            worst.service_ahead = worst.service_ahead.saturating_add(ahead);
        }
        Fault::ClockRate { ppm, .. } => {
            if candidates {
                rate(worst, *ppm);
            }
            if service {
                worst.service_fast_ppm = worst.service_fast_ppm.max(u64::try_from(*ppm).unwrap_or(0));
            }
        }
        _ => match what.kind() {
            "sync-hang" | "sync-fail" => worst.hung_disk |= candidates,
            "drop-lease" | "drop-key" => worst.drops = true,
            _ => {}
        },
    }
}

/// Can this be a candidate?
fn elects(plan: &Plan, who: &Who) -> bool {
    plan.resolve(who).is_none_or(|nodes| nodes.iter().any(|node| plan.candidate_nodes().contains(&node.0)))
}

/// Is this the coordination service?
fn serves(plan: &Plan, who: &Who) -> bool {
    let service = plan.service_node();
    plan.resolve(who).is_some_and(|nodes| nodes.iter().any(|node| Some(*node) == service))
}
