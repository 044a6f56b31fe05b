//! What an operator asks of a fleet.

use super::{Parts, Who};
use std::slice;

pub(super) fn resign(node: &Who) -> Parts<'_> {
    Parts::of("resign", node).words(format!("ask {node} to resign"), "{on} asked to resign")
}

pub(super) fn transfer<'a>(node: &'a Who, to: &'a Who) -> Parts<'a> {
    let order = format!("ask {node} to hand over to {to}");
    Parts::between("transfer", slice::from_ref(node), slice::from_ref(to))
        .words(order, "{on} asked to hand over to {to}")
}

pub(super) fn join(node: &Who) -> Parts<'_> {
    Parts::of("join", node).words(format!("have {node} join"), "{on} starts, to join")
}

pub(super) fn leave(node: &Who) -> Parts<'_> {
    Parts::of("leave", node).words(format!("have {node} leave"), "{on} is to leave")
}
