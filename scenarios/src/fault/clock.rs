//! Faults of clocks.

use super::{Parts, Who};
use protocols::history::FaultKind;

pub(super) fn step(node: &Who, by_ms: i64) -> Parts<'_> {
    let order = format!("step the wall clock of {node} by {by_ms:+} ms");
    Parts::of(FaultKind::ClockStep, node).words(order, format!("{{on's}} wall clock steps by {by_ms} ms"))
}

pub(super) fn rate(node: &Who, ppm: i64, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("run the clocks of {node} at {ppm:+} ppm");
    Parts::of(FaultKind::ClockRate, node).lasting(for_ms).words(order, format!("{{on's}} clocks run at {ppm:+} ppm"))
}
