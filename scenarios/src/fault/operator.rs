//! Requests of an operator to a fleet.

use super::{Parts, Who};
use protocols::history::FaultKind;
use std::slice;

pub(super) fn resign(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::Resign, node).words(format!("ask {node} to resign"), "{on} asked to resign")
}

pub(super) fn transfer<'a>(node: &'a Who, to: &'a Who) -> Parts<'a> {
    let order = format!("ask {node} to hand over to {to}");
    Parts::between(FaultKind::Transfer, slice::from_ref(node), slice::from_ref(to))
        .words(order, "{on} asked to hand over to {to}")
}

pub(super) fn join(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::Join, node).words(format!("have {node} join"), "{on} starts, to join")
}

pub(super) fn leave(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::Leave, node).words(format!("have {node} leave"), "{on} is to leave")
}
