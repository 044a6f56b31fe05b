//! Faults of links.

use super::{
    Later, Parts, Who,
    parts::{group, round, us},
};
use protocols::history::FaultKind;

pub(super) fn partition<'a>(from: &'a [Who], to: &'a [Who], one_way: bool, for_ms: Option<f64>) -> Parts<'a> {
    let (a, b) = (group(from), group(to));
    let parts = Parts::between(FaultKind::Partition, from, to).silent(for_ms);
    match one_way {
        true => parts.words(format!("drop all packets from {a} to {b}"), "{on} cannot reach {to}"),
        false => parts.words(format!("cut {a} off from {b}"), "{on} and {to} cut off from each other"),
    }
}

pub(super) fn latency<'a>(from: &'a [Who], to: &'a [Who], extra_us: u64, for_ms: Option<f64>) -> Parts<'a> {
    let order = format!("delay packets from {} to {} by {} ms", group(from), group(to), extra_us as f64 / 1e3);
    Parts::between(FaultKind::Latency, from, to)
        .lasting(for_ms)
        .later(Later { extra_us, packets: true, syncs: false })
        .words(order, format!("{{on}} to {{to}} takes {} longer", us(extra_us)))
}

pub(super) fn loss<'a>(from: &'a [Who], to: &'a [Who], probability: f64, for_ms: Option<f64>) -> Parts<'a> {
    let percent = (probability * 1e6).round() / 1e4;
    let order = format!("drop {percent} % of packets from {} to {}", group(from), group(to));
    let event = format!("{{on}} to {{to}} loses {} %", round(probability * 100.0));
    let parts = Parts::between(FaultKind::Loss, from, to).silent(for_ms).words(order, event);
    Parts { strength: (probability * 1e6) as u64, ..parts }
}

pub(super) fn hang<'a>(from: &'a [Who], to: &'a [Who], for_ms: Option<f64>) -> Parts<'a> {
    let order = format!("hang the connections between {} and {}", group(from), group(to));
    Parts::between(FaultKind::Hang, from, to).silent(for_ms).words(order, "connections between {on} and {to} hang")
}

pub(super) fn bandwidth(node: &Who, kbps: u64, for_ms: Option<f64>) -> Parts<'_> {
    let order = format!("limit the bandwidth of {node} to {kbps} kbit/s");
    let parts =
        Parts::of(FaultKind::Bandwidth, node).lasting(for_ms).words(order, format!("{{on}} can send {kbps} kbit/s"));
    Parts { strength: kbps, ..parts }
}
