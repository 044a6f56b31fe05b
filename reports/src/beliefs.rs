//! Who believes to lead: from the election until the belief ends, or the process does. A paused process still believes.

use protocols::{
    history::{Event, Kind, NodeState},
    types::{Incarnation, NodeId},
};

/// The beliefs of all nodes at the current moment.
#[derive(Debug, Default)]
pub(crate) struct Beliefs {
    nodes: Vec<Option<Incarnation>>,
    count: u64,
    most: u64,
    several_since_us: u64,
    several_us: u64,
}

impl Beliefs {
    /// Takes any event; elections, depositions and the ends of processes matter.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => self.set(event.t_us, incarnation.node, Some(*incarnation)),
            Kind::Deposed { incarnation, .. } if self.of(incarnation.node) == Some(*incarnation) => {
                self.set(event.t_us, incarnation.node, None);
            }
            Kind::Node { node, state: NodeState::Down | NodeState::Off | NodeState::Up } => {
                self.set(event.t_us, *node, None);
            }
            _ => {}
        }
    }

    fn set(&mut self, t_us: u64, node: NodeId, belief: Option<Incarnation>) {
        if self.nodes.len() <= node.index() {
            if belief.is_none() {
                return;
            }
            self.nodes.resize(node.index() + 1, None);
        }
        let several = self.count > 1;
        let before = std::mem::replace(&mut self.nodes[node.index()], belief);
        self.count = self.count + u64::from(belief.is_some()) - u64::from(before.is_some());
        self.most = self.most.max(self.count);
        match (several, self.count > 1) {
            (false, true) => self.several_since_us = t_us,
            (true, false) => self.several_us += t_us - self.several_since_us,
            _ => {}
        }
    }

    /// What a node believes.
    pub(crate) fn of(&self, node: NodeId) -> Option<Incarnation> {
        self.nodes.get(node.index()).copied().flatten()
    }

    /// Most nodes that believed at one time.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// How long more than one node believed, until `now_us`; microseconds.
    pub(crate) fn several_us(&self, now_us: u64) -> u64 {
        self.several_us + if self.count > 1 { now_us - self.several_since_us } else { 0 }
    }
}
