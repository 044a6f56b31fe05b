//! Faults in words, for histories and reports.

use crate::fault::{Fault, Who};
use protocols::{
    history::{FaultEvent, Phase},
    types::NodeId,
};

/// Milliseconds as people write them.
fn duration(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", round(ms / 1_000.0)) } else { format!("{} ms", round(ms)) }
}

fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// `n1's`, `the followers'`.
fn possessive(on: &str) -> String {
    if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
}

impl Fault {
    /// What histories say of it; `names` says what processes are called.
    pub fn event(
        &self,
        index: u32,
        phase: Phase,
        (on, to): (&[NodeId], &[NodeId]),
        names: impl Fn(&[NodeId]) -> String,
    ) -> FaultEvent {
        let detail = self.describe(&names(on), &names(to));
        // A partition strikes both sides.
        let (sides, on, to) = match self {
            Fault::Partition { .. } => ([on.to_vec(), to.to_vec()], [on, to].concat(), Vec::new()),
            _ => (Default::default(), on.to_vec(), to.to_vec()),
        };
        let one_way = matches!(self, Fault::Partition { one_way: true, .. });
        let strength = match self {
            Fault::Latency { extra_us, .. } | Fault::SlowDisk { extra_us, .. } => *extra_us,
            Fault::Loss { probability, .. } => (probability * 1e6) as u64,
            _ => 0,
        };
        FaultEvent {
            index,
            fault: self.kind().to_owned(),
            phase,
            on,
            to,
            sides,
            one_way,
            strength,
            point: None,
            detail,
        }
    }

    /// One line for people; `on` and `to` name whom it strikes.
    pub fn describe(&self, on: &str, to: &str) -> String {
        let lasting = |for_ms: &Option<f64>| for_ms.map_or(String::new(), |ms| format!(" for {}", duration(ms)));
        let back = |after: &Option<f64>| after.map_or(String::new(), |ms| format!(", back after {}", duration(ms)));
        match self {
            Fault::Pause { for_ms, .. } => format!("{on} paused for {}", duration(*for_ms)),
            Fault::Kill { restart_after_ms, .. } => format!("{on} killed{}", back(restart_after_ms)),
            Fault::PowerLoss { restart_after_ms, .. } => format!("{on} loses power{}", back(restart_after_ms)),
            Fault::Restart { .. } => format!("{on} started again"),
            Fault::Partition { one_way: true, for_ms, .. } => format!("{on} cannot reach {to}{}", lasting(for_ms)),
            Fault::Partition { for_ms, .. } => format!("{on} and {to} cut off from each other{}", lasting(for_ms)),
            Fault::Latency { extra_us, for_ms, .. } => {
                let extra = duration(*extra_us as f64 / 1_000.0);
                format!("{on} to {to} takes {extra} longer{}", lasting(for_ms))
            }
            Fault::Loss { probability, for_ms, .. } => {
                format!("{on} to {to} loses {} %{}", round(probability * 100.0), lasting(for_ms))
            }
            Fault::SlowDisk { extra_us, for_ms, .. } => {
                let extra = duration(*extra_us as f64 / 1_000.0);
                format!("{} disk takes {extra} longer to sync{}", possessive(on), lasting(for_ms))
            }
            Fault::SyncHang { for_ms, .. } => format!("no sync of {} disk ends{}", possessive(on), lasting(for_ms)),
            Fault::SyncFail { silent, for_ms, .. } => {
                let unnoticed = if *silent { " unnoticed" } else { "" };
                format!("syncs of {} disk fail{unnoticed}{}", possessive(on), lasting(for_ms))
            }
            Fault::ClockStep { by_ms, .. } => format!("{} wall clock steps by {by_ms} ms", possessive(on)),
            Fault::ClockRate { ppm, for_ms, .. } => {
                format!("{} clocks run at {ppm:+} ppm{}", possessive(on), lasting(for_ms))
            }
            Fault::Resign { .. } => format!("{on} asked to resign"),
            Fault::Transfer { .. } => format!("{on} asked to hand over to {to}"),
            Fault::Join { .. } => format!("{on} starts, to join"),
            Fault::Leave { .. } => format!("{on} is to leave"),
            Fault::DropLease { .. } => format!("{} lease is dropped by the service", possessive(on)),
            Fault::DropKey { node: Who::Service } => "the service loses its counter of tokens".to_owned(),
            Fault::DropKey { .. } => format!("{} key is dropped by the service", possessive(on)),
        }
    }
}
