//! Who believes to lead: from the election until the belief ends, or the process does. A paused process still believes, but
//! does not *run*: it can do nothing with its belief until it wakes up.

use protocols::{
    history::{Event, Kind, NodeState},
    types::{Incarnation, NodeId},
};

/// The beliefs of all nodes at the current moment.
#[derive(Debug, Default)]
pub(crate) struct Beliefs {
    nodes: Vec<Node>,
    all: Several,
    awake: Several,
    most: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    belief: Option<Incarnation>,
    paused: bool,
}

impl Node {
    fn counts(&self) -> (u64, u64) {
        let believes = u64::from(self.belief.is_some());
        (believes, if self.paused { 0 } else { believes })
    }
}

/// How long more than one did something at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Several {
    count: u64,
    since_us: u64,
    total_us: u64,
    longest: Option<Stretch>,
}

/// A stretch of time, microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// When it began.
    pub(crate) from_us: u64,
    /// How long it lasted.
    pub(crate) us: u64,
}

impl Several {
    fn change(&mut self, t_us: u64, before: u64, after: u64) {
        let several = self.count > 1;
        self.count = self.count + after - before;
        match (several, self.count > 1) {
            (false, true) => self.since_us = t_us,
            (true, false) => *self = self.until(t_us),
            _ => {}
        }
    }

    /// The same, with the stretch under way ending now.
    fn until(mut self, now_us: u64) -> Several {
        let us = now_us.saturating_sub(self.since_us);
        self.total_us += us;
        if self.longest.is_none_or(|l| us > l.us) {
            self.longest = Some(Stretch { from_us: self.since_us, us });
        }
        self
    }

    fn at(self, now_us: u64) -> Several {
        if self.count > 1 { self.until(now_us) } else { self }
    }
}

impl Beliefs {
    /// Takes any event; elections, depositions and what becomes of processes matter.
    pub(crate) fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.set(t_us, incarnation.node, |node| node.belief = Some(*incarnation));
            }
            Kind::Deposed { incarnation, .. } if self.of(incarnation.node) == Some(*incarnation) => {
                self.set(t_us, incarnation.node, |node| node.belief = None);
            }
            Kind::Node { node, state: NodeState::Down | NodeState::Off | NodeState::Up } => {
                self.set(t_us, *node, |node| *node = Node::default());
            }
            Kind::Node { node, state: NodeState::Paused } => self.set(t_us, *node, |node| node.paused = true),
            Kind::Node { node, state: NodeState::Resumed } => self.set(t_us, *node, |node| node.paused = false),
            _ => {}
        }
    }

    fn set(&mut self, t_us: u64, node: NodeId, change: impl FnOnce(&mut Node)) {
        if self.nodes.len() <= node.index() {
            self.nodes.resize(node.index() + 1, Node::default());
        }
        let node = &mut self.nodes[node.index()];
        let before = node.counts();
        change(node);
        let after = node.counts();
        self.all.change(t_us, before.0, after.0);
        self.awake.change(t_us, before.1, after.1);
        self.most = self.most.max(self.all.count);
    }

    /// What a node believes.
    pub(crate) fn of(&self, node: NodeId) -> Option<Incarnation> {
        self.nodes.get(node.index()).and_then(|n| n.belief)
    }

    /// Those who believe and run, in the order of their ids.
    pub(crate) fn awake(&self) -> impl Iterator<Item = Incarnation> + '_ {
        self.nodes.iter().filter(|n| !n.paused).filter_map(|n| n.belief)
    }

    /// How many believe and run.
    pub(crate) fn awake_count(&self) -> u64 {
        self.awake.count
    }

    /// Most nodes that believed at one time.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// How long more than one node believed, until `now_us`; microseconds.
    pub(crate) fn several_us(&self, now_us: u64) -> u64 {
        self.all.at(now_us).total_us
    }

    /// The same of nodes that ran.
    pub(crate) fn several_awake_us(&self, now_us: u64) -> u64 {
        self.awake.at(now_us).total_us
    }

    /// The longest time for which more than one node that ran believed without a break; `None` when that never was.
    pub(crate) fn longest_awake(&self, now_us: u64) -> Option<Stretch> {
        self.awake.at(now_us).longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::elector::Deposed;

    fn incarnation(node: u16) -> Incarnation {
        Incarnation { token: u64::from(node) + 1, node: NodeId(node), generation: 1 }
    }

    fn fold(events: impl IntoIterator<Item = (u64, Kind)>) -> Beliefs {
        let mut beliefs = Beliefs::default();
        events.into_iter().for_each(|(t_us, kind)| beliefs.observe(&Event { t_us, group: 0, kind }));
        beliefs
    }

    #[test]
    fn a_paused_node_believes_but_does_not_run() {
        let state = |node, state| Kind::Node { node: NodeId(node), state };
        let deposed = Kind::Deposed { incarnation: incarnation(0), reason: Deposed::Expired };
        let story = |wakes_for: u64| {
            [
                (1, Kind::Elected(incarnation(0))),
                (10, state(0, NodeState::Paused)),
                (20, Kind::Elected(incarnation(1))),
                (50, state(0, NodeState::Resumed)),
                (50 + wakes_for, deposed.clone()),
            ]
        };
        let beliefs = fold(story(0));
        assert_eq!((beliefs.several_us(99), beliefs.several_awake_us(99)), (30, 0));
        assert_eq!(beliefs.longest_awake(99), Some(Stretch { from_us: 50, us: 0 }));
        let beliefs = fold(story(7));
        assert_eq!((beliefs.several_us(99), beliefs.several_awake_us(99)), (37, 7));
        // One that is still going on counts until now.
        let beliefs = fold(story(7).into_iter().take(4));
        assert_eq!(beliefs.longest_awake(99), Some(Stretch { from_us: 50, us: 49 }));
        assert_eq!(beliefs.awake_count(), 2);
    }
}
