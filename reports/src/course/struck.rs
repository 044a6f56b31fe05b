//! What struck the processes: pauses, crashes, partitions, and whatever else faults do to them, with words.

use super::model::Shade;
use crate::words::duration;
use protocols::{
    history::{Event, FaultEvent, Header, Kind, NodeState, Phase},
    types::NodeId,
};

/// Folds faults and the states of processes.
#[derive(Debug, Default)]
pub(super) struct Struck {
    pub(super) shades: Vec<Shade>,
    /// The last pause was at the point between checking the lease and writing.
    checked: bool,
}

/// Those on the smaller side of a partition: the others are many, and go on.
fn cut_off(fault: &FaultEvent) -> Vec<NodeId> {
    let [one, other] = &fault.sides;
    match (one.is_empty(), other.is_empty()) {
        (true, _) | (_, true) => fault.on.clone(),
        _ if other.len() < one.len() => other.clone(),
        _ => one.clone(),
    }
}

impl Struck {
    /// Before a header's processes start, they are not there.
    pub(super) fn new(header: Option<&Header>) -> Self {
        let mut struck = Struck::default();
        for node in 0..header.map_or(0, |h| h.candidates) {
            struck.begin(0, vec![node], "unborn", "not started", None);
        }
        struck
    }

    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Fault(fault) => self.fault(event.t_us, fault),
            Kind::Node { node, state } => self.node(event.t_us, *node, *state),
            _ => {}
        }
    }

    fn begin(&mut self, t: u64, nodes: Vec<u16>, kind: &'static str, text: &str, fault: Option<u32>) {
        let text = text.to_owned();
        self.shades.push(Shade { nodes, kind, from: t, to: t, text, checked: false, fault, open: true });
    }

    fn end(&mut self, t: u64, which: impl Fn(&Shade) -> bool) {
        for shade in self.shades.iter_mut().filter(|s| s.open && which(s)) {
            (shade.to, shade.open) = (t, false);
        }
    }

    fn fault(&mut self, t: u64, fault: &FaultEvent) {
        if fault.fault == "pause" {
            self.checked = fault.point.as_ref().is_some_and(|(point, _)| point == "lease_checked");
            return;
        }
        // The process's own state says more of these.
        if ["kill", "power-loss", "restart"].contains(&&*fault.fault) {
            return;
        }
        match fault.phase {
            Phase::End => self.end(t, |s| s.fault == Some(fault.index)),
            Phase::Once => {}
            Phase::Begin => {
                let cut = fault.fault == "partition";
                let nodes = if cut { cut_off(fault) } else { fault.on.clone() };
                let kind = if cut { "cut" } else { "other" };
                let text = if fault.detail.is_empty() { &fault.fault } else { &fault.detail };
                self.begin(t, nodes.iter().map(|n| n.0).collect(), kind, text, Some(fault.index));
            }
        }
    }

    fn node(&mut self, t: u64, node: NodeId, state: NodeState) {
        let of = |kinds: &'static [&'static str]| {
            move |s: &Shade| s.fault.is_none() && s.nodes == [node.0] && kinds.contains(&s.kind)
        };
        match state {
            NodeState::Up => self.end(t, of(&["unborn", "down", "pause"])),
            NodeState::Down | NodeState::Off => {
                self.end(t, of(&["pause", "down"]));
                self.begin(t, vec![node.0], "down", if state == NodeState::Off { "no power" } else { "down" }, None);
            }
            NodeState::Paused => {
                self.begin(t, vec![node.0], "pause", "paused", None);
                let checked = std::mem::take(&mut self.checked);
                self.shades.iter_mut().rev().take(1).for_each(|shade| shade.checked = checked);
            }
            NodeState::Resumed => self.end(t, of(&["pause"])),
            NodeState::Joined | NodeState::Left => {}
        }
    }

    /// Nothing happens after `t_us`.
    pub(super) fn finish(&mut self, t_us: u64) {
        self.end(t_us, |_| true);
        for shade in &mut self.shades {
            if shade.kind == "pause" {
                shade.text = format!("paused {}", duration((shade.to - shade.from) as f64));
            }
        }
    }
}
