//! The course of a run as data: who led and with which grant, what struck whom, what the store accepted. Any history
//! can fill it. The text report and the page draw it, and the sentences that head every report of a failure come from
//! it.

mod curves;
pub(crate) mod ends;
mod leaderships;
mod misread;
pub(crate) mod model;
pub(crate) mod moment;
mod moments;
mod struck;
mod writes;

use crate::{Judgement, Names, Verdict, cause, clock::Clock as Times};
use ends::Members;
use leaderships::Leaderships;
use misread::Misreads;
use model::{Clock, Lane, Model, Tick};
use moments::Notes;
use protocols::{
    history::{Event, Header, Kind, NodeState, Sink},
    types::{Incarnation, NodeId, Resource},
};
use std::collections::BTreeMap;
use struck::Struck;
use writes::Writes;

/// How many resources beside the first get a strip: more would hide the rest of the picture.
const STRIPS_MOST: usize = 8;

/// Folds the events of one group. Memory grows with what is worth reporting, not with the number of writes.
pub(crate) struct Course {
    header: Option<Header>,
    names: Names,
    leaderships: Leaderships,
    struck: Struck,
    writes: Writes,
    notes: Notes,
    misreads: Misreads,
    members: Members,
    /// The instant shown as 0 s, if times were counted from elsewhere.
    epoch: Option<String>,
    clocks: Vec<Clock>,
    /// Nodes of a log without a header, and the event at which each first did something.
    acted: Vec<(NodeId, u64)>,
    ticks: Vec<Tick>,
    works: BTreeMap<usize, (u64, u64)>,
    begin: Option<u64>,
    end: u64,
    over: bool,
    events: u64,
}

impl Course {
    pub(crate) fn new(header: Option<&Header>, names: Names) -> Self {
        Course {
            header: header.cloned(),
            names,
            leaderships: Leaderships::default(),
            struck: Struck::new(header),
            writes: Writes::new(header),
            notes: Notes::default(),
            misreads: Misreads::default(),
            members: Members::default(),
            epoch: None,
            clocks: Vec::new(),
            acted: Vec::new(),
            ticks: Vec::new(),
            works: BTreeMap::new(),
            begin: header.map(|_| 0),
            end: 0,
            over: false,
            events: 0,
        }
    }

    /// Adds names that the history's reader has met since.
    pub(crate) fn learn(&mut self, nodes: &[String], resources: Option<&[String]>) {
        self.names.learn(nodes, resources);
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.header.is_none()
    }

    /// Does its history have an end?
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Times were counted from elsewhere; `epoch` is now 0 s.
    pub(crate) fn counts_from(&mut self, epoch: String) {
        self.epoch = Some(epoch);
    }

    /// Sets the clock that formats times.
    pub(crate) fn tell_times(&mut self, clock: Times) {
        self.names.tell_times(clock);
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The index of a leadership in [`Model::incarnations`].
    pub(crate) fn number(&mut self, incarnation: Incarnation) -> usize {
        self.leaderships.number(incarnation)
    }

    fn acted(&mut self, node: NodeId) {
        if self.header.is_none() && !self.acted.iter().any(|(of, _)| *of == node) {
            self.acted.push((node, self.events));
        }
    }

    fn wrote(&mut self, event: &Event, incarnation: Incarnation) {
        let i = self.leaderships.number(incarnation);
        self.acted(incarnation.node);
        if self.writes.observe(event, i, self.events) {
            self.tick(event.t_us);
        }
    }

    /// Keeps how many writes have been accepted by now: a moment begins.
    fn tick(&mut self, t: u64) {
        self.ticks.push(Tick { t, place: self.events, accepted: self.writes.accepted });
    }

    /// Takes an event of the processes or of the service, which is rare.
    fn happened(&mut self, event: &Event) {
        let Course { notes, leaderships, events: place, acted, .. } = &mut *self;
        let believes = |node| leaderships.believing().any(|i| leaderships.all[i].node == node);
        let known = matches!(event.kind, Kind::Node { node, .. } if acted.iter().any(|(of, _)| *of == node));
        notes.observe(event, *place, believes, known);
        leaderships.observe(event, *place);
        self.struck.observe(event);
        self.members.observe(event);
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.acted(incarnation.node);
                self.writes.elected(event);
            }
            Kind::Deposed { incarnation, .. } => {
                self.acted(incarnation.node);
                let i = self.leaderships.number(*incarnation);
                self.notes.deposed(event, self.events, i);
            }
            Kind::Node { node, .. } => self.acted(*node),
            Kind::Seal { incarnation, .. } => {
                self.wrote(event, *incarnation);
                let i = self.leaderships.number(*incarnation);
                self.notes.sealed(event, self.events, i);
            }
            Kind::Rewound { onto, .. } => {
                let onto = self.leaderships.number(*onto);
                self.notes.rewound(event, self.events, onto);
            }
            Kind::Grant { .. }
            | Kind::GrantEnd { .. }
            | Kind::Fault(_)
            | Kind::MemberLeads { .. }
            | Kind::End { .. } => {}
            Kind::Deleted(deleted) => return self.writes.deleted(event.t_us, deleted.plans.len()),
            Kind::Work { incarnation, for_us, .. } => {
                let i = self.leaderships.number(*incarnation);
                let (from, to) = (event.t_us.saturating_sub(*for_us), event.t_us);
                let known = self.works.entry(i).or_insert((from, to));
                known.1 = known.1.max(to);
                return;
            }
            Kind::Clock { node, wall_offset_us, rate_ppm } => {
                let (t, offset_us, ppm) = (event.t_us, *wall_offset_us, *rate_ppm);
                return self.clocks.push(Clock { node: node.0, t, offset_us, ppm });
            }
            _ => return,
        }
        self.tick(event.t_us);
    }

    /// The resources beside the first that get a strip, in order of their numbers, and how many get none. Those with
    /// violations have priority, then those with most writes.
    fn strips(&self) -> (Vec<usize>, usize) {
        let mut all: BTreeMap<usize, (bool, u64)> = BTreeMap::new();
        for effect in self.writes.effects.iter().filter(|e| e.r > 0) {
            let on = all.entry(effect.r).or_default();
            *on = (on.0 || effect.stale > 0, on.1 + effect.n);
        }
        let mut strips: Vec<usize> = all.keys().copied().collect();
        strips.sort_by_key(|r| std::cmp::Reverse(all[r]));
        let unshown = strips.len().saturating_sub(STRIPS_MOST);
        strips.truncate(STRIPS_MOST);
        strips.sort_unstable();
        (strips, unshown)
    }

    fn lanes(&self) -> Vec<Lane> {
        let Some(header) = &self.header else {
            let lane = |(node, since): &(NodeId, u64)| Lane { node: node.0, role: "candidate", since: *since };
            return self.acted.iter().map(lane).collect();
        };
        let lane = |node, role| Lane { node, role, since: 0 };
        let candidates = (0..header.candidates).map(|node| lane(node, "candidate"));
        let services = header.services.iter().map(|node| lane(node.0, "service"));
        let store = header.store.iter().map(|node| lane(node.0, "store"));
        candidates.chain(services).chain(store).collect()
    }

    fn title(&self, group: Option<(usize, usize)>) -> String {
        let of = group.map_or_else(String::new, |(group, groups)| format!(" · group {group} of {groups}"));
        match &self.header {
            Some(h) => format!("{} · {} · seed {} · fencing {}{of}", h.scenario, h.protocol, h.seed, h.fencing.word()),
            None => format!("a history{of}"),
        }
    }

    /// The complete model of a judged run; `group` is its group's number and the number of groups.
    pub(crate) fn into_model(mut self, judgement: &Judgement, group: Option<(usize, usize)>) -> Model {
        if self.header.is_none() {
            let effects = &self.writes.effects;
            self.leaderships.leave_open(|i| effects.iter().filter(|e| e.i == i).map(|e| e.to).max());
        }
        self.leaderships.finish(self.end);
        self.struck.finish(self.end);
        self.tick(self.end);
        let (title, lanes, begin, end) = (self.title(group), self.lanes(), self.begin.unwrap_or(0), self.end);
        let broken = judgement.invariants.iter().filter(|i| !i.holds).map(|i| (i.name.to_owned(), i.detail.clone()));
        let (acting, several) = curves::acting(&self.writes.effects, begin, end);
        let (strips, unshown) = self.strips();
        let mut model = Model {
            title,
            cut_short: judgement.is_cut_short,
            verdict: match judgement.verdict {
                Verdict::Pass => "Safe",
                Verdict::Safety => "Safety violated",
                Verdict::Liveness => "Liveness violated",
                Verdict::Vacuous => "Inconclusive",
            }
            .to_owned(),
            bad: matches!(judgement.verdict, Verdict::Safety | Verdict::Liveness),
            broken: broken.collect(),
            foreign: self.header.is_none(),
            begin,
            end,
            nodes: (0..self.names.len()).map(|n| self.names.node(NodeId(n as u16)).into_owned()).collect(),
            resources: (0..self.names.resources())
                .map(|r| self.names.resource(Resource(r as u16)).into_owned())
                .collect(),
            lanes,
            incarnations: self.leaderships.named(&self.names),
            believing: curves::believing(&self.leaderships.beliefs, begin, end),
            beliefs: self.leaderships.beliefs,
            grants: self.leaderships.grants,
            led: self.members.finish(end),
            effects: self.writes.effects,
            shades: self.struck.shades,
            stale: self.writes.stale,
            refused: self.writes.refused,
            dark: judgement.metrics.dark.iter().map(|d| (d.from_us, d.to_us, d.dark_us)).collect(),
            takeovers: self.writes.takeovers,
            acting,
            several,
            clocks: self.clocks,
            events: self.events,
            strips,
            unshown,
            misread: self.misreads.all,
            epoch: self.epoch,
            clock: self.names.clock(),
            ticks: self.ticks,
            works: self.works,
            ..Model::default()
        };
        model.moments = moments::moments(&model, self.notes, &judgement.invariants);
        model.cause = cause::sentences(&model, self.header.as_ref());
        model
    }
}

impl Sink for Course {
    fn record(&mut self, event: &Event) {
        self.begin.get_or_insert(event.t_us);
        (self.end, self.events) = (event.t_us, self.events + 1);
        self.over = matches!(event.kind, Kind::End { .. });
        // Most events are requests and writes, and each concerns a single part.
        match &event.kind {
            Kind::Invoke { .. } => return,
            Kind::Reply { .. } | Kind::ReadInvoke { .. } | Kind::ReadReply { .. } => {
                let known = self.misreads.all.len();
                self.misreads.observe(event, self.events);
                if self.misreads.all.len() > known {
                    self.tick(event.t_us);
                }
                return;
            }
            Kind::Issue { node, write } | Kind::Apply { node, write, .. } => {
                if self.header.is_none() && matches!(event.kind, Kind::Issue { .. }) {
                    self.leaderships.goes_on(event.t_us, write.incarnation(*node));
                }
                return self.wrote(event, write.incarnation(*node));
            }
            _ => {}
        }
        match event.kind {
            // A dead process neither pauses nor resumes.
            Kind::Node { node, state: NodeState::Paused | NodeState::Resumed } if self.struck.is_down(node) => {}
            _ => self.happened(event),
        }
    }
}
