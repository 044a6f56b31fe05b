//! What struck the processes, with texts: pauses, crashes, partitions and other faults.

use super::model::{Shade, Shading};
use crate::{
    phrases::{cut_off, parts, present},
    words::duration,
};
use protocols::{
    history::{Event, FaultEvent, FaultKind, Header, Kind, NodeState, Phase},
    types::NodeId,
};
use std::collections::BTreeMap;

/// Folds faults and the states of processes.
#[derive(Debug, Default)]
pub(super) struct Struck {
    pub(super) shades: Vec<Shade>,
    names: Vec<String>,
    /// Groups that need a majority: the candidates, and the members of a service.
    peers: Vec<Vec<u16>>,
    /// Partitions that are not healed yet.
    cuts: BTreeMap<u32, [Vec<NodeId>; 2]>,
    /// The last pause struck exactly between lease check and write.
    checked: bool,
}

impl Struck {
    /// With a header, all candidates begin as not started.
    pub(super) fn new(header: Option<&Header>) -> Self {
        let names = header.map_or_else(Vec::new, |h| h.nodes.clone());
        let candidates = (0..header.map_or(0, |h| h.candidates)).collect();
        let services = header.map_or_else(Vec::new, |h| h.services.iter().map(|node| node.0).collect());
        let mut struck = Struck { names, peers: vec![candidates, services], ..Struck::default() };
        for node in 0..header.map_or(0, |h| h.candidates) {
            struck.begin(0, vec![node], Shading::Unborn, "not started");
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

    /// Is the process dead?
    pub(super) fn is_down(&self, node: NodeId) -> bool {
        self.shades.iter().any(|s| s.open && s.kind == Shading::Down && s.nodes == [node.0])
    }

    fn begin(&mut self, t: u64, nodes: Vec<u16>, kind: Shading, text: &str) -> &mut Shade {
        let (from, to, text) = (t, t, text.to_owned());
        self.shades.push(Shade {
            nodes,
            kind,
            from,
            to,
            text,
            checked: false,
            fault: None,
            what: None,
            healed: false,
            open: true,
        });
        let latest = self.shades.len() - 1;
        &mut self.shades[latest]
    }

    fn end(&mut self, t: u64, which: impl Fn(&Shade) -> bool) {
        for shade in self.shades.iter_mut().filter(|s| s.open && which(s)) {
            (shade.to, shade.open, shade.healed) = (t, false, true);
        }
    }

    fn fault(&mut self, t: u64, fault: &FaultEvent) {
        if fault.kind == FaultKind::Pause {
            self.checked = fault.point.as_ref().is_some_and(|(point, _)| point == "lease_checked");
            return;
        }
        // The process's own state is more precise.
        if fault.kind.ends_process() {
            return;
        }
        let is_cut = fault.kind == FaultKind::Partition;
        match fault.phase {
            Phase::End => {
                self.end(t, |s| s.fault == Some(fault.index));
                self.cuts.remove(&fault.index);
            }
            Phase::Once => {}
            Phase::Begin => {
                let nodes = if is_cut { cut_off(fault).0 } else { &fault.on };
                let nodes = nodes.iter().map(|n| n.0).collect();
                let kind = if is_cut { Shading::Cut } else { Shading::Other };
                let text = present(fault, |node| self.name(node.0).into());
                let shade = self.begin(t, nodes, kind, &text);
                (shade.fault, shade.what) = (Some(fault.index), Some(Box::new(fault.clone())));
                if is_cut {
                    self.cuts.insert(fault.index, fault.sides.clone());
                }
            }
        }
        if is_cut {
            self.isolate(t);
        }
    }

    fn name(&self, node: u16) -> String {
        self.names.get(usize::from(node)).cloned().unwrap_or_else(|| format!("node-{node}"))
    }

    /// If partitions leave nobody a majority, the larger side is cut off as well: shades each node that reaches too few
    /// of its peers and is not shaded yet.
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
                let mut shades =
                    self.shades.iter().filter(|s| s.open && s.kind == Shading::Cut && s.nodes.contains(node));
                match (alone, shades.next().map(|shade| shade.fault)) {
                    (true, None) => begins.push((*node, missed)),
                    (false, Some(None)) => ends.push(*node),
                    _ => {}
                }
            }
        }
        for node in ends {
            self.end(t, |s| s.kind == Shading::Cut && s.fault.is_none() && s.nodes == [node]);
        }
        for (node, missed) in begins {
            let from: Vec<String> = missed.iter().map(|peer| self.name(*peer)).collect();
            let text = format!("{} cut off from {}", self.name(node), from.join(", "));
            let missed = missed.into_iter().map(NodeId).collect();
            self.begin(t, vec![node], Shading::Cut, &text).what = Some(Box::new(cut(NodeId(node), missed)));
        }
    }

    fn node(&mut self, t: u64, node: NodeId, state: NodeState) {
        let of = |kinds: &'static [Shading]| {
            move |s: &Shade| s.fault.is_none() && s.nodes == [node.0] && kinds.contains(&s.kind)
        };
        match state {
            NodeState::Up => self.end(t, of(&[Shading::Unborn, Shading::Down, Shading::Pause])),
            NodeState::Down | NodeState::Off => {
                self.end(t, of(&[Shading::Pause, Shading::Down]));
                self.begin(t, vec![node.0], Shading::Down, if state == NodeState::Off { "no power" } else { "down" });
            }
            NodeState::Paused => {
                let checked = std::mem::take(&mut self.checked);
                self.begin(t, vec![node.0], Shading::Pause, "paused").checked = checked;
            }
            NodeState::Resumed => self.end(t, of(&[Shading::Pause])),
            NodeState::Joined | NodeState::Left => {}
        }
    }

    /// Ends the history at `t_us`.
    pub(super) fn finish(&mut self, t_us: u64) {
        for shade in &mut self.shades {
            if shade.open {
                (shade.to, shade.open) = (t_us, false);
            }
            if shade.what.as_deref().is_some_and(parts) {
                shade.text += &shade.lasted();
            }
            if shade.kind == Shading::Pause {
                shade.text = format!("paused {}", duration((shade.to - shade.from) as f64));
            }
        }
    }
}

/// A partition that stands for the combined effect of several.
fn cut(node: NodeId, missed: Vec<NodeId>) -> FaultEvent {
    FaultEvent {
        index: u32::MAX,
        kind: FaultKind::Partition,
        phase: Phase::Begin,
        on: vec![node],
        to: Vec::new(),
        sides: [vec![node], missed],
        one_way: false,
        strength: 0,
        point: None,
        detail: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parting(index: u32, phase: Phase, sides: [&[u16]; 2]) -> FaultEvent {
        let sides = sides.map(|side| side.iter().map(|node| NodeId(*node)).collect::<Vec<_>>());
        let on = sides.concat();
        let detail = "some and others cut off from each other for 2 s".to_owned();
        let (to, kind) = (Vec::new(), FaultKind::Partition);
        FaultEvent { index, kind, phase, on, to, sides, one_way: false, strength: 0, point: None, detail }
    }

    fn cut_at(struck: &Struck, t: u64) -> Vec<u16> {
        let then = struck.shades.iter().filter(|s| s.kind == Shading::Cut && s.from <= t && (s.open || s.to > t));
        let mut nodes: Vec<u16> = then.flat_map(|s| s.nodes.iter().copied()).collect();
        nodes.sort_unstable();
        nodes
    }

    #[test]
    fn where_nobody_has_a_majority_all_are_cut_off() {
        let names: Vec<String> = (1..6).map(|n| format!("n{n}")).collect();
        let mut struck = Struck { names, peers: vec![vec![0, 1, 2, 3, 4]], ..Struck::default() };
        let [first, second]: [[&[u16]; 2]; 2] = [[&[0, 2], &[1, 3, 4]], [&[1, 3], &[4]]];
        struck.fault(10, &parting(0, Phase::Begin, first));
        assert_eq!(cut_at(&struck, 10), [0, 2], "three of five go on");
        struck.fault(20, &parting(1, Phase::Begin, second));
        assert_eq!(cut_at(&struck, 20), [0, 1, 2, 3, 4]);
        let text = |struck: &Struck, node: u16| {
            struck.shades.iter().rfind(|s| s.nodes.contains(&node)).map(|s| s.text.clone())
        };
        assert_eq!(text(&struck, 0).as_deref(), Some("n1, n3 cut off from n2, n4, n5"));
        assert_eq!(text(&struck, 3).as_deref(), Some("n4 cut off from n1, n3, n5"));
        struck.fault(30, &parting(1, Phase::End, second));
        assert_eq!(cut_at(&struck, 30), [0, 2]);
        struck.fault(40, &parting(0, Phase::End, first));
        assert_eq!(cut_at(&struck, 40), [0; 0]);
    }

    #[test]
    fn whoever_is_on_both_sides_is_not_cut_off_from_itself() {
        let fault = parting(0, Phase::Begin, [&[2], &[0, 1, 2]]);
        assert_eq!(present(&fault, |node| format!("n{}", node.0).into()), "n2 cut off from n0, n1");
    }
}
