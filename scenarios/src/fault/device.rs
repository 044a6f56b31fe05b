//! Faults of a fencing device.

use super::{Parts, Who, text::duration};
use protocols::history::FaultKind;

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
