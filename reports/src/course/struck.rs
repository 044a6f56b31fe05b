//! What struck the processes: pauses, crashes, partitions, and whatever else faults do to them, with words.

use super::model::Shade;
use crate::words::duration;
use protocols::{
    history::{Event, FaultEvent, Header, Kind, NodeState, Phase},
    types::NodeId,
};
use std::collections::BTreeMap;

/// Folds faults and the states of processes.
#[derive(Debug, Default)]
pub(super) struct Struck {
    pub(super) shades: Vec<Shade>,
    names: Vec<String>,
    /// Those who need a majority of each other: candidates, and members of a service.
    peers: Vec<Vec<u16>>,
    /// Partitions that are not healed yet.
    cuts: BTreeMap<u32, [Vec<NodeId>; 2]>,
    /// The last pause was at the point between checking the lease and writing.
    checked: bool,
}

/// Those on the smaller side of a partition, whom the others miss, and those others.
fn cut_off(fault: &FaultEvent) -> (&[NodeId], &[NodeId]) {
    let [one, other] = &fault.sides;
    match (one.is_empty(), other.is_empty()) {
        (true, _) | (_, true) => (&fault.on, &[]),
        _ if other.len() < one.len() => (other, one),
        _ => (one, other),
    }
}

/// What a fault does, in words; a partition says who is on which side.
pub(super) fn words(fault: &FaultEvent, name: impl Fn(NodeId) -> String) -> String {
    let list = |nodes: &[NodeId]| nodes.iter().map(|node| name(*node)).collect::<Vec<_>>().join(", ");
    let (few, all) = cut_off(fault);
    // Whoever is cut off from all of a service may be one of them.
    let many: Vec<NodeId> = all.iter().copied().filter(|node| !few.contains(node)).collect();
    match fault.detail.split_once(" cut off from each other") {
        Some((_, tail)) if !many.is_empty() => {
            format!("{} cut off from {}{tail}", list(few), list(&many))
        }
        _ if fault.detail.is_empty() => format!("{} on {}", fault.fault, list(&fault.on)),
        _ => fault.detail.clone(),
    }
}

impl Struck {
    /// Before a header's processes start, they are not there.
    pub(super) fn new(header: Option<&Header>) -> Self {
        let names = header.map_or_else(Vec::new, |h| h.nodes.clone());
        let candidates = (0..header.map_or(0, |h| h.candidates)).collect();
        let services = header.map_or_else(Vec::new, |h| h.services.iter().map(|node| node.0).collect());
        let mut struck = Struck { names, peers: vec![candidates, services], ..Struck::default() };
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
        let cut = fault.fault == "partition";
        match fault.phase {
            Phase::End => {
                self.end(t, |s| s.fault == Some(fault.index));
                self.cuts.remove(&fault.index);
            }
            Phase::Once => {}
            Phase::Begin => {
                let nodes = if cut { cut_off(fault).0 } else { &fault.on };
                let nodes = nodes.iter().map(|n| n.0).collect();
                let kind = if cut { "cut" } else { "other" };
                let text = words(fault, |node| self.name(node.0));
                self.begin(t, nodes, kind, &text, Some(fault.index));
                if cut {
                    self.cuts.insert(fault.index, fault.sides.clone());
                }
            }
        }
        if cut {
            self.isolate(t);
        }
    }

    fn name(&self, node: u16) -> String {
        self.names.get(usize::from(node)).cloned().unwrap_or_else(|| format!("node-{node}"))
    }

    /// Where partitions leave nobody a majority, the larger side is cut off as well: each that reaches too few of its peers
    /// is, unless it is shaded already.
    fn isolate(&mut self, t: u64) {
        let parted = |a: u16, b: u16| {
            let has = |side: &[NodeId], node: u16| side.contains(&NodeId(node));
            self.cuts.values().any(|[one, other]| has(one, a) && has(other, b) || has(one, b) && has(other, a))
        };
        let (mut ends, mut begins) = (Vec::new(), Vec::new());
        for peers in self.peers.iter().filter(|peers| peers.len() > 2) {
            for node in peers {
                let missed: Vec<u16> =
                    peers.iter().copied().filter(|peer| peer != node && parted(*node, *peer)).collect();
                let alone = peers.len() - missed.len() <= peers.len() / 2;
                let mut shades = self.shades.iter().filter(|s| s.open && s.kind == "cut" && s.nodes.contains(node));
                match (alone, shades.next().map(|shade| shade.fault)) {
                    (true, None) => begins.push((*node, missed)),
                    (false, Some(None)) => ends.push(*node),
                    _ => {}
                }
            }
        }
        for node in ends {
            self.end(t, |s| s.kind == "cut" && s.fault.is_none() && s.nodes == [node]);
        }
        for (node, missed) in begins {
            let from: Vec<String> = missed.iter().map(|peer| self.name(*peer)).collect();
            self.begin(t, vec![node], "cut", &format!("{} cut off from {}", self.name(node), from.join(", ")), None);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(index: u32, phase: Phase, sides: [&[u16]; 2]) -> FaultEvent {
        let sides = sides.map(|side| side.iter().map(|node| NodeId(*node)).collect::<Vec<_>>());
        let on = sides.concat();
        let detail = "some and others cut off from each other for 2 s".to_owned();
        let (to, fault) = (Vec::new(), "partition".to_owned());
        FaultEvent { index, fault, phase, on, to, sides, one_way: false, strength: 0, point: None, detail }
    }

    fn cut_at(struck: &Struck, t: u64) -> Vec<u16> {
        let then = struck.shades.iter().filter(|s| s.kind == "cut" && s.from <= t && (s.open || s.to > t));
        let mut nodes: Vec<u16> = then.flat_map(|s| s.nodes.iter().copied()).collect();
        nodes.sort_unstable();
        nodes
    }

    #[test]
    fn where_nobody_has_a_majority_all_are_cut_off() {
        let names: Vec<String> = (1..6).map(|n| format!("n{n}")).collect();
        let mut struck = Struck { names, peers: vec![vec![0, 1, 2, 3, 4]], ..Struck::default() };
        let [first, second]: [[&[u16]; 2]; 2] = [[&[0, 2], &[1, 3, 4]], [&[1, 3], &[4]]];
        struck.fault(10, &cut(0, Phase::Begin, first));
        assert_eq!(cut_at(&struck, 10), [0, 2], "three of five go on");
        struck.fault(20, &cut(1, Phase::Begin, second));
        assert_eq!(cut_at(&struck, 20), [0, 1, 2, 3, 4]);
        let text = |struck: &Struck, node: u16| {
            struck.shades.iter().rfind(|s| s.nodes.contains(&node)).map(|s| s.text.clone())
        };
        assert_eq!(text(&struck, 0).as_deref(), Some("n1, n3 cut off from n2, n4, n5 for 2 s"));
        assert_eq!(text(&struck, 3).as_deref(), Some("n4 cut off from n1, n3, n5"));
        struck.fault(30, &cut(1, Phase::End, second));
        assert_eq!(cut_at(&struck, 30), [0, 2]);
        struck.fault(40, &cut(0, Phase::End, first));
        assert_eq!(cut_at(&struck, 40), [0; 0]);
    }

    #[test]
    fn whoever_is_on_both_sides_is_not_cut_off_from_itself() {
        let fault = cut(0, Phase::Begin, [&[2], &[0, 1, 2]]);
        assert_eq!(words(&fault, |node| format!("n{}", node.0)), "n2 cut off from n0, n1 for 2 s");
    }
}
