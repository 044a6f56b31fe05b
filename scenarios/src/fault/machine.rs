//! Faults of one machine: of its processes, its clocks and its disk.

use super::{
    Later, Parts, Who,
    parts::{duration, restart_after, us},
};
use protocols::history::FaultKind;

// Faults of processes and machines.

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

// Faults of clocks.

pub(super) fn step(node: &Who, by_ms: i64) -> Parts<'_> {
    let order = format!("step the wall clock of {node} by {by_ms:+} ms");
    Parts::of(FaultKind::ClockStep, node).words(order, format!("{{on's}} wall clock steps by {by_ms} ms"))
}

pub(super) fn rate(node: &Who, ppm: i64, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("run the clocks of {node} at {ppm:+} ppm");
    Parts::of(FaultKind::ClockRate, node).lasting(for_ms).words(order, format!("{{on's}} clocks run at {ppm:+} ppm"))
}

// Faults of disks.

pub(super) fn slow(node: &Who, extra_us: u64, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("delay each sync of {node}'s disk by {} ms", extra_us as f64 / 1e3);
    Parts::of(FaultKind::SlowDisk, node)
        .lasting(for_ms)
        .later(Later { extra_us, packets: false, syncs: true })
        .words(order, format!("{{on's}} disk takes {} longer to sync", us(extra_us)))
}

pub(super) fn hang(node: &Who, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("hang each sync of {node}'s disk");
    Parts::of(FaultKind::SyncHang, node).silent(for_ms).words(order, "no sync of {on's} disk ends")
}

pub(super) fn fail(node: &Who, silent: bool, for_ms: Option<f64>) -> Parts<'_> {
    let unnoticed = if silent { " unnoticed" } else { "" };
    let order = format!("fail each sync of {node}'s disk{unnoticed}");
    let parts = Parts::of(FaultKind::SyncFail, node).lasting(for_ms);
    // A process that cannot trust its disk exits, and its supervisor restarts it.
    Parts { silent_ms: Some(for_ms.unwrap_or(0.0) + SUPERVISOR_MS), ..parts }
        .words(order, format!("syncs of {{on's}} disk fail{unnoticed}"))
}
