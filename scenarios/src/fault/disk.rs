//! Faults of disks.

use super::{Later, Parts, Who, process::SUPERVISOR_MS, text::us};
use protocols::history::FaultKind;

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
