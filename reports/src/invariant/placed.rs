//! Each shard comes to be led by the member that should lead it, and stays there.
//!
//! **Formula.** If the header has a placement rule for shards: whenever nothing has changed for the liveness bound plus
//! the time in which shards are handed over ([`protocols::sharding::SETTLED_WITHIN`]), the node that believes it leads
//! the shard is the running candidate to which the rule assigns it. Changes are any fault and its end, and any process
//! that starts, stops or resumes; while a fault lasts or a process is paused, nothing is claimed.
//!
//! **Could fail** if there was such a time. Not judged if shards are not placed.
//!
//! **Source.** Karger et al., "Consistent Hashing and Random Trees", STOC 1997, for the rule; Kafka's preferred leader
//! election (documentation, "Balancing leadership"), for moving a leader back to where it should be.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::words::count;
use protocols::{
    history::{Header, NodeState, Phase},
    sharding::{Places, SETTLED_WITHIN},
    types::{MICROSECOND, NodeId},
};
use std::collections::BTreeSet;

pub const ENTRY: Entry = Entry {
    name: "placed",
    about: "Once everything has settled, each shard is led by the member that its placement assigns.",
    class: Class::Liveness,
    only_defects: true,
    new: |header| Box::new(Placed::new(header)),
};

struct Placed {
    /// `None` if shards are not placed.
    places: Option<Places>,
    shard: u16,
    members: usize,
    bound_us: u64,
    runs: BTreeSet<NodeId>,
    stopped: BTreeSet<NodeId>,
    /// Faults in progress.
    lasting: BTreeSet<u32>,
    believes: BTreeSet<NodeId>,
    /// The time of the last change.
    changed_us: u64,
    judged: u64,
    wrong: Violations<(Option<NodeId>, NodeId)>,
}

impl Placed {
    fn new(header: Option<&Header>) -> Self {
        let places = header.and_then(|h| Some(Places::new(h.placement?, h.nodes.get(..usize::from(h.candidates))?)));
        let bound_ms = header.map_or(0, |h| h.liveness_bound_ms);
        Placed {
            places,
            shard: header.map_or(0, |h| h.group),
            members: header.map_or(0, |h| h.candidates.into()),
            bound_us: bound_ms.saturating_mul(1_000).saturating_add(SETTLED_WITHIN / MICROSECOND),
            runs: BTreeSet::new(),
            stopped: BTreeSet::new(),
            lasting: BTreeSet::new(),
            believes: BTreeSet::new(),
            changed_us: 0,
            judged: 0,
            wrong: Violations::default(),
        }
    }

    /// Checks the leader before a change at this time, or before the end of the history.
    fn judge(&mut self, t_us: u64) {
        let quiet = self.lasting.is_empty() && self.stopped.is_empty() && t_us - self.changed_us >= self.bound_us;
        let owner = self.places.as_ref().and_then(|p| p.owner(self.shard, |member| self.runs.contains(&member)));
        if let Some(owner) = owner.filter(|_| quiet) {
            self.judged += 1;
            if !self.believes.iter().eq([&owner]) {
                self.wrong.add(t_us, (self.believes.first().copied(), owner));
            }
        }
    }

    fn changes(&mut self, t_us: u64) {
        self.judge(t_us);
        self.changed_us = t_us;
    }

    fn node(&mut self, node: NodeId, state: NodeState) {
        match state {
            NodeState::Up => _ = self.runs.insert(node),
            NodeState::Down | NodeState::Off => {
                self.runs.remove(&node);
                self.stopped.remove(&node);
                self.believes.remove(&node);
            }
            NodeState::Paused => _ = self.stopped.insert(node),
            NodeState::Resumed => _ = self.stopped.remove(&node),
            _ => {}
        }
    }
}

impl Invariant for Placed {
    fn concerns(&self) -> bool {
        self.places.is_some()
    }

    fn wants(&self) -> Kinds {
        Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::NODE).and(Kinds::FAULT)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => _ = self.believes.insert(incarnation.node),
            Kind::Deposed { incarnation, .. } => _ = self.believes.remove(&incarnation.node),
            Kind::Node { node, state } => {
                self.changes(event.t_us);
                if node.index() < self.members || !matches!(state, NodeState::Up) {
                    self.node(*node, *state);
                }
            }
            Kind::Fault(fault) => {
                self.changes(event.t_us);
                match fault.phase {
                    Phase::Begin => _ = self.lasting.insert(fault.index),
                    Phase::End => _ = self.lasting.remove(&fault.index),
                    Phase::Once => {}
                }
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.wrong.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        self.judge(ending.t_us);
        let wrong = self.wrong.sentence(|(leader, owner)| {
            let name = |node: &NodeId| ending.names.node(*node);
            let led = leader.as_ref().map_or("nobody leads".to_owned(), |leader| format!("{} leads", name(leader)));
            format!("{led} the shard, which is placed at {}", name(owner))
        });
        let seen = match self.judged {
            0 => "the cluster was never quiet for long enough".to_owned(),
            times => {
                format!("led by the member that it is placed at, {} after everything had settled", count(times, "time"))
            }
        };
        Finding { holds: wrong.is_none(), could_fail: self.judged > 0, detail: wrong.unwrap_or(seen.into()) }
    }
}
