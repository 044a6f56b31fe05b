//! The story of a run: lines for its highlights, each with the state of every node.
//!
//! [`Highlights`] collects it while the history streams by. Ordinary writes are only counted; a line shows a change of
//! belief, a fault, a seal, the first write of an incarnation, or a refused or stale write (successive ones share a
//! line). The first and the last lines are kept, with the number of those left out between them.

pub(crate) mod draw;
mod leaders;
pub mod page;
mod reads;
mod row;
mod writes;

pub use leaders::Leader;

use crate::{
    by_resource::ByResource,
    cause::Cause,
    clock::Clock,
    freshness::Freshness,
    metrics::DarkStretch,
    reads::Reads,
    told,
    words::{Names, count, duration, grouped},
};
use leaders::Leaders;
use protocols::{
    elector::Deposed,
    history::{Deleted, Event, FaultEvent, FaultKind, GrantEnd, Header, Kind, NodeState, Phase, Sink},
    message::WriteVerdict,
    types::{Incarnation, NodeId, Resource},
};
use row::{About, LaneState, Mark, Row, Running};
use std::collections::{BTreeMap, VecDeque};

/// How many lines are kept from the start of a run, and how many from its end.
const KEPT: (usize, usize) = (40, 20);

#[derive(Debug)]
pub struct Highlights {
    /// The group that it is about, if there are several.
    pub(crate) group: Option<u16>,
    /// The cause; empty unless [`crate::stories::Stories`] supplied it.
    pub cause: Cause,
    /// The intervals in which no request would have been served in time.
    pub(crate) dark: Vec<DarkStretch>,
    names: Names,
    /// Nodes with a lane. Without a header, a node gets one when it first acts.
    lanes: Vec<NodeId>,
    states: Vec<LaneState>,
    cut: BTreeMap<u32, Vec<NodeId>>,
    fixed: bool,
    leaders: Leaders,
    freshness: Freshness,
    in_effect: ByResource<Option<Incarnation>>,
    accepted: u64,
    /// Grants of a log that have not ended.
    granted: Vec<(NodeId, Option<u64>)>,
    reads: Reads,
    /// How many lines show stale writes of each leadership, by whether they were accepted.
    stale_lines: BTreeMap<(Incarnation, bool), usize>,
    /// The time of the last event, microseconds, and whether it was the end of the run.
    now: (u64, bool),
    pub(crate) head: Vec<Row>,
    pub(crate) tail: VecDeque<Row>,
    pub(crate) left_out: u64,
}

impl Highlights {
    /// An empty story for a history with this header; `names` are those of its processes.
    pub fn new(header: Option<&Header>, names: &Names) -> Self {
        let lanes: Vec<_> = (0..header.map_or(0, |h| h.candidates)).map(NodeId).collect();
        Highlights {
            group: None,
            cause: Cause::default(),
            dark: Vec::new(),
            names: names.clone(),
            states: vec![LaneState::default(); lanes.len()],
            lanes,
            cut: BTreeMap::new(),
            fixed: header.is_some(),
            leaders: Leaders::default(),
            freshness: Freshness::new(header),
            in_effect: ByResource::default(),
            accepted: 0,
            granted: Vec::new(),
            reads: Reads::default(),
            stale_lines: BTreeMap::new(),
            now: (0, false),
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
        }
    }

    /// Adds names that the history's reader has met since: without a header they come just before the events that use
    /// them.
    pub fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.names.learn(nodes, resources);
    }

    /// Sets the clock that formats times.
    pub(crate) fn tell_times(&mut self, clock: Clock) {
        self.names.tell_times(clock);
    }

    /// The leaderships, in the order of their elections or first writes.
    pub fn leaders(&self) -> &[Leader] {
        self.leaders.all()
    }

    /// Does the log fail to report the end of this leadership, though another was elected after it?
    pub(crate) fn leaves_open(&self, leader: &Leader) -> bool {
        let later =
            |other: &Leader| other.elected_us > leader.elected_us && other.incarnation.node != leader.incarnation.node;
        !self.fixed && leader.ended.is_none() && self.leaders.all().iter().any(later)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn lanes(&self) -> &[NodeId] {
        &self.lanes
    }

    fn state(&mut self, node: NodeId) -> Option<&mut LaneState> {
        let known = self.lanes.iter().position(|n| *n == node);
        if known.is_none() && self.fixed {
            return None;
        }
        let lane = known.unwrap_or_else(|| {
            self.lanes.push(node);
            self.states.push(LaneState { running: Running::Runs, ..LaneState::default() });
            self.lanes.len() - 1
        });
        self.states.get_mut(lane)
    }

    fn last(&mut self) -> Option<&mut Row> {
        if self.tail.is_empty() { self.head.last_mut() } else { self.tail.back_mut() }
    }

    fn row(&mut self, t_us: u64, mark: Mark, about: About, text: String) {
        let in_effect = self.in_effect.of(Resource::SEQUENCE).map(|i| i.node);
        let (lanes, accepted) = (self.states.clone(), self.accepted);
        let row = Row { t_us, lanes, in_effect, accepted, mark, text, about };
        if self.head.len() < KEPT.0 {
            self.head.push(row);
            return;
        }
        if self.tail.len() == KEPT.1 {
            self.tail.pop_front();
            self.left_out += 1;
        }
        self.tail.push_back(row);
    }

    /// The last line, if it has this time: the current event may belong to it.
    fn last_of(&mut self, t_us: u64) -> Option<&mut Row> {
        self.last().filter(|row| row.t_us == t_us)
    }

    /// Updates the states of the last line, which already tells of the change.
    fn refresh_last(&mut self) {
        let states = self.states.clone();
        if let Some(row) = self.last() {
            row.lanes = states;
        }
    }

    fn elected(&mut self, t_us: u64, incarnation: Incarnation) {
        let others: Vec<_> = (self.lanes.iter().zip(&self.states))
            .filter(|(node, state)| state.believes && **node != incarnation.node)
            .map(|(node, state)| match state.running {
                Running::Paused => format!("{} (paused)", self.names.node(*node)),
                _ => self.names.node(*node).into_owned(),
            })
            .collect();
        if let Some(state) = self.state(incarnation.node) {
            (state.believes, state.untold) = (true, false);
        }
        self.leaders.elected(t_us, incarnation);
        let who = self.names.incarnation(incarnation);
        let text = if self.fixed {
            told::elected(&who, &others, &[])
        } else {
            // It may have been killed, which nobody logs.
            let former = |(node, _): &(&NodeId, &LaneState)| **node != incarnation.node;
            let open: Vec<_> = self.lanes.iter().zip(&self.states).filter(former).map(|(node, _)| *node).collect();
            for node in open {
                if let Some(state) = self.state(node) {
                    (state.believes, state.untold) = (false, state.believes || state.untold);
                }
            }
            told::elected(&who, &[], &others)
        };
        self.row(t_us, Mark::Quiet, About::Other, text);
    }

    fn deposed(&mut self, t_us: u64, incarnation: Incarnation, reason: Deposed) {
        if let Some(state) = self.state(incarnation.node) {
            (state.believes, state.untold) = (false, false);
        }
        self.leaders.ended(t_us, incarnation, reason.name());
        let text = told::deposed(&self.names.node(incarnation.node), reason);
        self.row(t_us, Mark::Quiet, About::Other, text);
    }

    /// Takes a grant of a log; a run has elections.
    fn granted(&mut self, t_us: u64, node: NodeId, token: Option<u64>) {
        if !self.fixed && !self.granted.contains(&(node, token)) {
            self.granted.retain(|(other, _)| *other != node);
            self.granted.push((node, token));
            let with = token.map_or(String::new(), |token| format!(" with token {token}"));
            let text = format!("leadership is granted to {}{with}", self.names.node(node));
            self.row(t_us, Mark::Quiet, About::Other, text);
        }
    }

    fn grant_ended(&mut self, t_us: u64, node: NodeId, token: Option<u64>, reason: GrantEnd) {
        if let Some(place) = self.granted.iter().position(|granted| *granted == (node, token)) {
            self.granted.swap_remove(place);
            let why = match reason {
                // Also the reason if a log gives none.
                GrantEnd::Lost => String::new(),
                _ => format!(": {}", told::grant_ended(reason)),
            };
            let text = format!("the grant to {} ends{why}", self.names.node(node));
            self.row(t_us, Mark::Quiet, About::Other, text);
        }
    }

    fn seal(&mut self, t_us: u64, resource: Resource, incarnation: Incarnation, accepted: bool, seq: u64) {
        let who = self.names.incarnation(incarnation);
        if !accepted {
            let text = format!("refused: {who} tried to seal {}", self.names.resource(resource));
            self.row(t_us, Mark::Refused(incarnation.node), About::Other, text);
            return;
        }
        let mut resources = vec![resource];
        let mut last_seq = if resource == Resource::SEQUENCE { seq } else { 0 };
        let mut joins = false;
        if let Some(Row { about: About::Seal { incarnation: i, resources: before, seq, .. }, .. }) = self.last() {
            if *i == incarnation && !before.contains(&resource) {
                joins = true;
                resources.splice(0..0, before.drain(..));
                last_seq = last_seq.max(*seq);
            }
        }
        let sealed: Vec<_> = resources.iter().map(|r| self.names.resource(*r)).collect();
        let text = format!("{who} seals {} (last seq {})", sealed.join(" and "), grouped(last_seq));
        let about = About::Seal { incarnation, resources, seq: last_seq };
        match self.last() {
            Some(row) if joins => (row.text, row.about) = (text, about),
            _ => self.row(t_us, Mark::Accepted(incarnation.node), about, text),
        }
    }

    /// Adds to a stale clean-up what it has removed.
    fn deleted(&mut self, t_us: u64, deleted: &Deleted) {
        let plans = count(deleted.plans.len() as u64, "plan");
        if let Some(Row { mark: Mark::Stale(_), text, .. }) = self.last_of(t_us) {
            *text += &format!("; {plans} deleted");
        }
    }

    fn fault(&mut self, t_us: u64, fault: &FaultEvent) {
        if fault.kind == FaultKind::Partition {
            match fault.phase {
                Phase::Begin => self.cut.insert(fault.index, fault.on.clone()),
                _ => self.cut.remove(&fault.index),
            };
            for (node, state) in self.lanes.iter().zip(&mut self.states) {
                state.cut_off = self.cut.values().any(|on| on.contains(node));
            }
        }
        let struck: Vec<_> = fault.on.iter().map(|n| self.names.node(*n)).collect();
        let what = match fault.detail.is_empty() {
            true => format!("{} on {}", fault.kind, struck.join(", ")),
            false => fault.detail.clone(),
        };
        let healed = fault.phase == Phase::End;
        let told = |row: &Row| matches!(&row.about, About::Node(node) if fault.on.contains(node));
        if self.last_of(t_us).is_some_and(|row| told(row) && healed) {
            self.refresh_last();
            return;
        }
        let text = format!("{}: {what}", if healed { "healed" } else { "fault" });
        self.row(t_us, Mark::Quiet, About::Fault(fault.on.clone()), text);
    }

    fn node(&mut self, t_us: u64, node: NodeId, to: NodeState) {
        let Some(state) = self.state(node) else { return };
        let before = *state;
        match to {
            NodeState::Up => *state = LaneState { running: Running::Runs, believes: false, untold: false, ..before },
            NodeState::Down | NodeState::Off => {
                *state = LaneState { running: Running::Down, believes: false, untold: false, ..before }
            }
            // A dead process neither pauses nor resumes.
            NodeState::Paused | NodeState::Resumed if before.running == Running::Down => return,
            NodeState::Paused => state.running = Running::Paused,
            NodeState::Resumed => state.running = Running::Runs,
            NodeState::Joined | NodeState::Left => {}
        }
        if before.believes && matches!(to, NodeState::Up | NodeState::Down | NodeState::Off) {
            self.leaders.died(t_us, node);
        }
        // The start of a run's processes is no news.
        if before.running == Running::NotYet && to == NodeState::Up {
            return;
        }
        let told = |row: &mut Row| matches!(&row.about, About::Fault(on) if on.contains(&node));
        let told = self.last_of(t_us).is_some_and(told);
        if told {
            self.refresh_last();
        }
        if told && matches!(to, NodeState::Down | NodeState::Off | NodeState::Paused) {
            return;
        }
        let text = told::node(&self.names.node(node), to, before.believes);
        match self.last() {
            // The node's recovery says more than the end of its fault.
            Some(row) if told => row.text = text,
            _ => self.row(t_us, Mark::Quiet, About::Node(node), text),
        }
    }

    fn rewound(&mut self, t_us: u64, node: NodeId, onto: Incarnation, entries: u64) {
        let (who, onto, by) = (self.names.node(node), self.names.incarnation(onto), count(entries, "entry"));
        let text = format!("the copy of {who} is rewound by {by} and follows {onto}");
        self.row(t_us, Mark::Quiet, About::Other, text);
    }

    /// Ends the story: a log does not mark its own end.
    pub(crate) fn finish(&mut self) {
        let (t_us, over) = self.now;
        if !over && self.last().is_some() {
            self.row(t_us, Mark::Quiet, About::Other, "the log ends".to_owned());
        }
    }

    fn ended(&mut self, t_us: u64) {
        let quiet = self.last_accepted_for(t_us).map(|quiet| format!(", {quiet} after the last accepted write"));
        self.row(t_us, Mark::Quiet, About::Other, format!("the run ends{}", quiet.unwrap_or_default()));
    }

    /// How long ago the last accepted write was, if that is worth reporting.
    fn last_accepted_for(&self, t_us: u64) -> Option<String> {
        let last_us = self.leaders.all().iter().filter_map(|l| l.last_us).max()?;
        (t_us - last_us > 1_000_000).then(|| duration((t_us - last_us) as f64))
    }
}

impl Sink for Highlights {
    fn record(&mut self, event: &Event) {
        let t_us = event.t_us;
        let stale = self.freshness.observe(event);
        self.now = (t_us, matches!(event.kind, Kind::End { .. }));
        match &event.kind {
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = write.incarnation(*node);
                match verdict {
                    WriteVerdict::Ok => self.accepted(t_us, incarnation, write, stale),
                    WriteVerdict::Fenced { highest } => self.fenced(t_us, incarnation, write, *highest),
                    WriteVerdict::Duplicate { .. } | WriteVerdict::Failed { .. } => {}
                }
            }
            Kind::Reply { .. } | Kind::ReadInvoke { .. } | Kind::ReadReply { .. } => {
                if let Some(read) = self.reads.observe(event) {
                    self.read(t_us, &read);
                }
            }
            Kind::Invoke { .. } | Kind::Issue { .. } | Kind::Campaign { .. } | Kind::Promoted { .. } => {}
            Kind::Deleted(deleted) => self.deleted(t_us, deleted),
            Kind::Grant { node, token } => self.granted(t_us, *node, *token),
            Kind::GrantEnd { node, token, reason } => self.grant_ended(t_us, *node, *token, *reason),
            Kind::Work { incarnation, for_us, .. } => {
                self.leaders.worked(*incarnation, t_us.saturating_sub(*for_us), t_us)
            }
            // The first one led before the run began, so it gets no row.
            Kind::MemberLeads { node, leads: true } if self.last().is_some() => {
                let text = told::leads_members(&self.names.node(*node));
                self.row(t_us, Mark::Quiet, About::Other, text);
            }
            Kind::Vote { .. } | Kind::Clock { .. } | Kind::MemberLeads { .. } => {}
            Kind::Elected(incarnation) => self.elected(t_us, *incarnation),
            Kind::Deposed { incarnation, reason } => self.deposed(t_us, *incarnation, *reason),
            Kind::Seal { resource, incarnation, accepted, seq, .. } => {
                self.seal(t_us, *resource, *incarnation, *accepted, *seq);
            }
            Kind::Fault(fault) => self.fault(t_us, fault),
            Kind::Rewound { node, onto, entries, .. } => self.rewound(t_us, *node, *onto, *entries),
            Kind::Node { node, state } => self.node(t_us, *node, *state),
            Kind::End { .. } => self.ended(t_us),
        }
    }
}
