//! The figures that have a baseline.

use reports::Metrics;

pub struct Figure {
    /// Its name in baselines and reports.
    pub name: &'static str,
    /// Differences up to this never count as moved.
    pub(super) floor: f64,
    pub(super) of: fn(&Metrics) -> Option<f64>,
}

/// Every figure that has a baseline.
pub const FIGURES: [Figure; 24] = [
    Figure { name: "elections", floor: 1.0, of: |m| Some(m.elections as f64) },
    Figure { name: "contested_elections", floor: 1.0, of: |m| Some(m.contested_elections as f64) },
    Figure { name: "false_failovers", floor: 0.5, of: |m| Some(m.false_failovers as f64) },
    Figure { name: "writes_accepted", floor: 20.0, of: |m| Some(m.writes_accepted as f64) },
    Figure { name: "writes_fenced", floor: 3.0, of: |m| Some(m.writes_fenced as f64) },
    Figure { name: "writes_duplicate", floor: 10.0, of: |m| Some(m.writes_duplicate as f64) },
    Figure { name: "seq_gaps", floor: 10.0, of: |m| Some(m.seq_gaps as f64) },
    Figure { name: "messages", floor: 50.0, of: |m| Some(m.messages as f64) },
    Figure { name: "requests_to_service", floor: 5.0, of: |m| m.requests_to_service.map(|n| n as f64) },
    Figure { name: "dark_ms", floor: 50.0, of: |m| m.dark_ms },
    Figure { name: "dual_belief_ms", floor: 20.0, of: |m| Some(m.dual_belief_ms) },
    Figure { name: "failover_ms", floor: 50.0, of: |m| largest(&m.failover_ms) },
    Figure { name: "election_time_ms", floor: 50.0, of: |m| largest(&m.election_time_ms) },
    Figure { name: "election_latency_ms", floor: 20.0, of: |m| largest(&m.election_latency_ms) },
    Figure { name: "stop_after_loss_ms", floor: 20.0, of: |m| largest(&m.stop_after_loss_ms) },
    Figure { name: "handoff_intent_gap_ms", floor: 30.0, of: |m| smallest(&m.handoff_intent_gap_ms) },
    Figure { name: "startup_dark_ms", floor: 50.0, of: |m| m.startup_dark_ms },
    Figure { name: "served_after_ms", floor: 0.2, of: |m| m.served_after_ms },
    Figure { name: "requests_invoked", floor: 20.0, of: |m| Some(m.requests_invoked as f64) },
    Figure { name: "requests_answered", floor: 20.0, of: |m| Some(m.requests_answered as f64) },
    Figure { name: "reads_answered", floor: 20.0, of: |m| Some(m.reads_answered as f64) },
    Figure { name: "reads_stale", floor: 3.0, of: |m| Some(m.reads_stale as f64) },
    Figure { name: "writes_failed", floor: 5.0, of: |m| Some(m.writes_failed as f64) },
    Figure { name: "leaders_believing_max", floor: 0.5, of: |m| Some(m.leaders_believing_max as f64) },
];

fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}
