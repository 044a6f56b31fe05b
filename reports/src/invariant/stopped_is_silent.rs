//! A stopped process does nothing.
//!
//! **Formula.** From 20 ms after a process was paused, killed or lost its power until it runs again, nothing in the
//! history comes from it: no campaign, vote, beginning or end of a belief, write or request. The 20 ms allow for real
//! processes, whose own clocks write the history.
//!
//! **Could fail** if a process was stopped for longer. This judges the world, not a protocol: a pause that stops no
//! timers would let everything else pass that it should have broken.
//!
//! **Source.** The project's design ("Faults": nothing on a paused node runs).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::words::{count, duration};
use protocols::{history::NodeState, types::NodeId};

pub const ENTRY: Entry = Entry {
    name: "stopped_is_silent",
    about: "A process that is paused or dead does nothing.",
    class: Class::Safety,
    only_defects: true,
    new: |_| Box::new(StoppedIsSilent::default()),
};

const GRACE_US: u64 = 20_000;

#[derive(Default)]
struct StoppedIsSilent {
    /// Since when each process has been stopped.
    stopped: Vec<Option<u64>>,
    stops: u64,
    violations: Violations<(NodeId, &'static str, u64)>,
}

impl StoppedIsSilent {
    fn state(&mut self, t_us: u64, node: NodeId, state: NodeState) {
        if self.stopped.len() <= node.index() {
            self.stopped.resize(node.index() + 1, None);
        }
        let stopped = &mut self.stopped[node.index()];
        match state {
            NodeState::Paused | NodeState::Down | NodeState::Off => *stopped = stopped.or(Some(t_us)),
            NodeState::Up | NodeState::Resumed => self.run(t_us, node),
            NodeState::Joined | NodeState::Left => {}
        }
    }

    fn run(&mut self, t_us: u64, node: NodeId) {
        let since_us = self.stopped[node.index()].take();
        self.stops += u64::from(since_us.is_some_and(|since_us| t_us - since_us > GRACE_US));
    }

    #[inline]
    fn acts(&mut self, t_us: u64, node: NodeId, what: &'static str) {
        if let Some(Some(since_us)) = self.stopped.get(node.index())
            && t_us > since_us + GRACE_US
        {
            let for_us = t_us - since_us;
            self.violations.add(t_us, (node, what, for_us));
        }
    }
}

impl Invariant for StoppedIsSilent {
    fn wants(&self) -> Kinds {
        let beliefs = Kinds::CAMPAIGN.and(Kinds::ELECTED).and(Kinds::DEPOSED).and(Kinds::VOTE);
        Kinds::NODE.and(beliefs).and(Kinds::ISSUE).and(Kinds::INVOKE)
    }

    fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        match &event.kind {
            Kind::Node { node, state } => self.state(t_us, *node, *state),
            Kind::Campaign { node } => self.acts(t_us, *node, "campaigned"),
            Kind::Elected(incarnation) => self.acts(t_us, incarnation.node, "was elected"),
            Kind::Deposed { incarnation, .. } => self.acts(t_us, incarnation.node, "stepped down"),
            Kind::Vote { voter, .. } => self.acts(t_us, *voter, "voted"),
            Kind::Issue { node, .. } => self.acts(t_us, *node, "sent a write"),
            Kind::Invoke { request } => self.acts(t_us, request.client, "sent a request"),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        for node in 0..self.stopped.len() {
            self.run(ending.t_us, NodeId(node as u16));
        }
        let violated = self.violations.sentence(|(node, what, for_us)| {
            let (node, for_us) = (ending.names.node(*node), duration(*for_us as f64));
            format!("{node} {what}, although it had been stopped for {for_us}")
        });
        let holds = violated.is_none();
        let detail = violated.unwrap_or_else(|| match self.stops {
            0 => "nobody was stopped".into(),
            stops => format!("{}; no stopped process did anything", count(stops, "stop")).into(),
        });
        Finding { holds, could_fail: self.stops > 0 || self.violations.count > 0, detail }
    }
}
