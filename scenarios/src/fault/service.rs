//! Faults of a coordination service's state, and of a fencing device.

use super::{
    Parts, Who,
    machine::{back, dead},
    parts::{duration, restart_after},
};
use protocols::history::FaultKind;

pub(super) fn drop_lease(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::DropLease, node)
        .words(format!("drop the lease of {node}"), "{on's} lease is dropped by the service")
}

pub(super) fn drop_key(node: &Who) -> Parts<'_> {
    let parts = Parts::of(FaultKind::DropKey, node);
    match node {
        Who::Service => parts.words("drop the token counter".to_owned(), "the service loses its counter of tokens"),
        _ => parts.words(format!("drop the key of {node}"), "{on's} key is dropped by the service"),
    }
}

pub(super) fn lose_data(node: &Who, restart_after_ms: Option<f64>) -> Parts<'_> {
    let order = format!("lose the data of {node}{}", restart_after(restart_after_ms));
    dead(FaultKind::LoseData, node, restart_after_ms)
        .words(order, format!("{{on}} killed, its data lost{}", back(restart_after_ms)))
}

pub(super) fn restore_copy(node: &Who, copied_at_ms: f64, restart_after_ms: Option<f64>) -> Parts<'_> {
    let of = format!("a copy made at {}", duration(copied_at_ms));
    let order = format!("restore {node} from {of}{}", restart_after(restart_after_ms));
    dead(FaultKind::RestoreCopy, node, restart_after_ms)
        .words(order, format!("{{on}} killed, and restored from {of}{}", back(restart_after_ms)))
}

pub(super) fn lies(node: &Who, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("have {node} confirm power cuts without making them");
    Parts::of(FaultKind::LyingDevice, node).lasting(for_ms).words(order, "{on} confirms cuts that it does not make")
}

pub(super) fn cloud(node: &Who, stopping_ms: f64, throttle_ms: f64, for_ms: Option<f64>) -> Parts<'_> {
    let order =
        format!("have {node} accept a request every {throttle_ms} ms and stop the machine {stopping_ms} ms later");
    let (stopping, throttle) = (duration(stopping_ms), duration(throttle_ms));
    let event = format!("{{on}} stops machines {stopping} after it accepts, and takes one request in {throttle}");
    Parts::of(FaultKind::CloudDevice, node).lasting(for_ms).words(order, event)
}
