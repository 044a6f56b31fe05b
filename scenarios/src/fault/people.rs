//! What people do: requests of an operator to a fleet, and faults by an adversary on the network.

use super::{Parts, Who, parts::group};
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

pub(super) fn forge_token(node: &Who) -> Parts<'_> {
    Parts::of(FaultKind::ForgeToken, node)
        .words(format!("send the store a forged token as {node}"), "somebody shows the store a forged token as {on}")
}

pub(super) fn forge_claim<'a>(node: &'a Who, to: &'a [Who]) -> Parts<'a> {
    let order = format!("tell {}, posing as {node}, that it leads", group(to));
    Parts::between(FaultKind::ForgeClaim, slice::from_ref(node), to)
        .words(order, "somebody tells {to} as {on} that it leads")
}

pub(super) fn rogue_fence<'a>(node: &'a Who, by: &'a Who) -> Parts<'a> {
    let order = format!("ask the fencing device, posing as {by}, to cut the power of {node}");
    Parts::between(FaultKind::RogueFence, slice::from_ref(node), slice::from_ref(by))
        .words(order, "somebody asks as {to} for {on's} power to be cut")
}
