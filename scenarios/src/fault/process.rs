//! Faults of processes and machines.

use super::{
    Parts, Who,
    text::{duration, restart_after},
};
use protocols::history::FaultKind;

/// How long a supervisor takes to restart a process that exited, milliseconds.
pub const SUPERVISOR_MS: f64 = 1_000.0;

pub(super) fn pause(node: &Who, for_ms: f64) -> Parts<'_> {
    Parts::of(FaultKind::Pause, node).silent(Some(for_ms)).words(format!("pause {node}"), "{on} paused")
}

pub(super) fn kill(node: &Who, restart_after_ms: Option<f64>) -> Parts<'_> {
    let order = format!("kill {node}{}", restart_after(restart_after_ms));
    dead(FaultKind::Kill, node, restart_after_ms).words(order, format!("{{on}} killed{}", back(restart_after_ms)))
}

pub(super) fn power_loss(node: &Who, restart_after_ms: Option<f64>) -> Parts<'_> {
    let order = format!("cut the power of {node}{}", restart_after(restart_after_ms));
    dead(FaultKind::PowerLoss, node, restart_after_ms)
        .words(order, format!("{{on}} loses power{}", back(restart_after_ms)))
}

pub(super) fn restart(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::Restart, node).words(format!("restart {node}"), "{on} started again")
}

/// A machine without power answers nothing, nor does one whose process is gone. Instantaneous: the restart has a time
/// of its own in the plan.
pub(super) fn dead<'a>(kind: FaultKind, node: &'a Who, restart_after_ms: Option<f64>) -> Parts<'a> {
    Parts { silent_ms: Some(restart_after_ms.unwrap_or(0.0)), ..Parts::of(kind, node) }
}

pub(super) fn back(after_ms: Option<f64>) -> String {
    after_ms.map_or(String::new(), |ms| format!(", back after {}", duration(ms)))
}
