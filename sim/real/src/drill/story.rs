//! The history of a drill, from what was noted.
//!
//! Each leadership begins with a line by which a member says that it leads, and ends with one by which it says that it has
//! stopped, or with its process. A member that says again that it leads, without either in between, still has the same
//! leadership: otherwise a stale leader's write would pass for a new leader's. A write belongs to the last leadership that its
//! member had begun.

use super::{ear::Said, file::File, scenario::Plan};
use crate::error::Failed;
use protocols::{
    elector::Deposed,
    fence::checks::Fencing,
    history::{
        Event, Fact, FaultKind, Header, Kind, NodeState, Phase, Requirement, ServiceCluster, Sink, UNKNOWN_REQUEST,
        UNKNOWN_VERSION,
        json::{SCHEMA, Writer},
    },
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Operation, Resource},
};
use scenarios::fault::{Fault, Who};
use std::{collections::BTreeMap, fs::File as OnDisk, io::BufWriter, ops::Range, path::Path};

/// How long the members of a service may take to elect another one, in milliseconds: generous for etcd's election timeout of one
/// second, Consul's of one and ZooKeeper's five ticks of two.
pub const SERVICE_ELECTS_WITHIN_MS: u64 = 15_000;
/// A leader may write so soon before the line is read by which it says that it leads, if nobody else leads then.
const HEARD_WITHIN_US: u64 = 2_000_000;

/// Something that was noted, in microseconds of the machine's clock.
#[derive(Clone, Debug)]
pub struct Noted {
    pub t_us: u64,
    pub note: Note,
}

/// What was noted.
#[derive(Clone, Debug)]
pub enum Note {
    Said(usize, Said),
    /// The store's decision on a write.
    Row {
        /// The writer; `None` if it is no member.
        member: Option<usize>,
        accepted: bool,
    },
    /// By number: members, then the service.
    Node(usize, NodeState),
    /// A member of the service leads the others from now on.
    Leads(usize),
    Fault(u32, Box<Fault>, Phase, Vec<usize>),
    /// The store has refused the write of this member's that was held back, without a row.
    NotTaken(usize),
    End,
}

/// What the history is of.
pub struct Facts<'f> {
    pub file: &'f File,
    pub plan: &'f Plan,
    pub names: Vec<String>,
    pub start_us: u64,
}

impl Facts<'_> {
    /// The numbers of the service's members.
    fn services(&self) -> Range<usize> {
        let first = self.names.len();
        first..first + self.file.service.map_or(0, |service| usize::from(service.members))
    }
}

/// A leadership of a member's.
#[derive(Clone, Copy, Debug)]
struct Tenure {
    generation: u32,
    /// As the line had it.
    token: Option<u64>,
    begun_us: u64,
    ended_us: Option<u64>,
}

/// Writes the history to `to`. Returns why it shows nothing, if it shows no violation. `refused` is whether a stale write was
/// seen to be refused.
///
/// # Errors
/// It cannot be written.
pub fn write(facts: &Facts, noted: Vec<Noted>, refused: bool, to: &Path) -> Result<Option<String>, Failed> {
    let (header, events, doubt) = history(facts, noted, refused);
    let failed = Failed::unwritten::<std::io::Error>(to);
    let mut out = Writer::new(BufWriter::new(OnDisk::create(to).map_err(&failed)?), &header);
    events.iter().for_each(|event| out.record(event));
    out.finish().map_err(&failed)?;
    Ok(doubt)
}

fn history(facts: &Facts, mut noted: Vec<Noted>, refused: bool) -> (Header, Vec<Event>, Option<String>) {
    // Rows are read later than lines.
    noted.sort_by_key(|noted| noted.t_us);
    let tenures = Tenures::of(&noted, facts.names.len());
    // Of a leader whose line may not have been read before the end: whose writes they are, nobody can say.
    let end_us = noted.last().map_or(0, |noted| noted.t_us);
    let is_early = |noted: &Noted| end_us - noted.t_us <= HEARD_WITHIN_US && !tenures.anybody_leads(noted.t_us);
    let before = noted.len();
    noted.retain(|noted| !(matches!(noted.note, Note::Row { member: Some(_), accepted: true }) && is_early(noted)));
    let early = (before - noted.len()) as u64;
    let mut told = Told { facts, tenures, events: Vec::new(), rows: 0, strangers: 0, unled: 0, early };
    told.tenures_begin();
    noted.iter().for_each(|noted| told.note(noted));
    told.events.sort_by_key(|event| event.t_us);
    (header(facts, refused), std::mem::take(&mut told.events), told.doubt())
}

/// Each member's leaderships, in order.
struct Tenures(Vec<Vec<Tenure>>);

impl Tenures {
    fn of(noted: &[Noted], members: usize) -> Tenures {
        let mut all: Vec<Vec<Tenure>> = vec![Vec::new(); members];
        for Noted { t_us, note } in noted {
            match note {
                Note::Said(member, Said::Elected(token)) => {
                    let tenures = &mut all[*member];
                    let open = tenures.last().filter(|last| last.ended_us.is_none());
                    let same = open.is_some_and(|open| token.is_none() || open.token == *token);
                    if !same {
                        tenures.iter_mut().for_each(|tenure| _ = tenure.ended_us.get_or_insert(*t_us));
                        let generation = tenures.len() as u32 + 1;
                        tenures.push(Tenure { generation, token: *token, begun_us: *t_us, ended_us: None });
                    }
                }
                Note::Said(member, Said::Deposed) | Note::Node(member, NodeState::Down) => {
                    if let Some(last) = all.get_mut(*member).and_then(|tenures| tenures.last_mut()) {
                        last.ended_us.get_or_insert(*t_us);
                    }
                }
                _ => {}
            }
        }
        let mut tenures = Tenures(all);
        // What was written just before the line was read was written by the leader, unless another one led.
        for Noted { t_us, note } in noted {
            let Note::Row { member: Some(member), .. } = note else { continue };
            if tenures.anybody_leads(*t_us) {
                continue;
            }
            let next = tenures.0[*member].iter_mut().find(|tenure| tenure.begun_us > *t_us);
            if let Some(next) = next.filter(|next| next.begun_us - t_us <= HEARD_WITHIN_US) {
                next.begun_us = *t_us;
            }
        }
        tenures
    }

    fn anybody_leads(&self, t_us: u64) -> bool {
        let leads = |tenure: &Tenure| tenure.begun_us <= t_us && tenure.ended_us.is_none_or(|end| end >= t_us);
        self.0.iter().flatten().any(leads)
    }

    /// The leadership that a write of `member`'s at this time belongs to.
    fn at(&self, member: usize, t_us: u64) -> Option<Tenure> {
        self.0[member].iter().rev().find(|tenure| tenure.begun_us <= t_us).copied()
    }
}

struct Told<'f> {
    facts: &'f Facts<'f>,
    tenures: Tenures,
    events: Vec<Event>,
    /// Writes that were accepted.
    rows: u64,
    strangers: u64,
    unled: u64,
    /// Writes at the end that nobody has said to lead for.
    early: u64,
}

impl Told<'_> {
    fn doubt(&self) -> Option<String> {
        match (self.strangers, self.unled) {
            (0, 0) if self.early > 0 => {
                Some(format!("{} writes came at the end of the run, when no member had said that it leads", self.early))
            }
            (0, 0) => None,
            (0, unled) => Some(format!(
                "{unled} writes came from members that had never said that they lead: either `[log]` misses what they say, or they write \
                 without leading"
            )),
            (strangers, _) => Some(format!(
                "{strangers} writes came from no member's connection: something writes past the proxies, whose addresses stand for \
                 {{store}}"
            )),
        }
    }

    fn tell(&mut self, t_us: u64, kind: Kind) {
        let t_us = t_us.saturating_sub(self.facts.start_us);
        self.events.push(Event { t_us, group: 0, kind });
    }

    fn tenures_begin(&mut self) {
        let all: Vec<(usize, Tenure)> = self.tenures.0.iter().enumerate().flat_map(each).collect();
        for (member, tenure) in all {
            self.tell(tenure.begun_us, Kind::Elected(incarnation(member, tenure)));
        }
    }

    fn note(&mut self, Noted { t_us, note }: &Noted) {
        match note {
            Note::Said(member, Said::Deposed) => {
                let ended = self.tenures.0[*member].iter().find(|tenure| tenure.ended_us == Some(*t_us)).copied();
                if let Some(incarnation) = ended.map(|tenure| incarnation(*member, tenure)) {
                    self.tell(*t_us, Kind::Deposed { incarnation, reason: Deposed::Lost });
                }
            }
            Note::Said(_, _) => {}
            Note::Row { member, accepted } => self.row(*t_us, *member, *accepted),
            Note::NotTaken(member) => self.apply(*t_us, *member, false),
            Note::Leads(node) => self.tell(*t_us, Kind::MemberLeads { node: number(*node), leads: true }),
            Note::Node(node, state) => self.tell(*t_us, Kind::Node { node: number(*node), state: *state }),
            Note::Fault(index, fault, phase, on) => {
                let on: Vec<NodeId> = on.iter().map(|node| number(*node)).collect();
                let to = self.others(fault);
                let nodes = self.header_names();
                let names = |of: &[NodeId]| {
                    of.iter().filter_map(|node| nodes.get(node.index()).cloned()).collect::<Vec<_>>().join(", ")
                };
                let mut event = fault.event(*index, *phase, (&on, &to), names);
                match **fault {
                    // How long it is to last, nobody knows when it begins.
                    Fault::Pause { .. } => event.detail = format!("{} stopped", names(&on)),
                    Fault::Partition { one_way: true, ref to, .. } if to[..] == [Who::Store] => {
                        event.kind = FaultKind::from("held-write");
                        event.detail = format!("a write of {} held back on the wire", names(&on));
                        (event.on, event.to, event.sides, event.one_way) = (on, Vec::new(), Default::default(), false);
                    }
                    _ => {}
                }
                self.tell(*t_us, Kind::Fault(Box::new(event)));
            }
            Note::End => self.tell(*t_us, Kind::End { messages: 0, by_kind: BTreeMap::new() }),
        }
    }

    fn others(&self, fault: &Fault) -> Vec<NodeId> {
        let (_, to) = fault.groups();
        let services = self.facts.services();
        let store = services.end..services.end + 1;
        to.iter()
            .flat_map(|who| match who {
                Who::Store => store.clone(),
                Who::Named(name) => self.member(name),
                _ => services.clone(),
            })
            .map(number)
            .collect()
    }

    fn member(&self, name: &str) -> Range<usize> {
        self.facts.names.iter().position(|member| member == name).map_or(0..0, |index| index..index + 1)
    }

    fn header_names(&self) -> Vec<String> {
        names(self.facts)
    }

    fn row(&mut self, t_us: u64, member: Option<usize>, accepted: bool) {
        match member {
            Some(member) => self.apply(t_us, member, accepted),
            None => self.strangers += 1,
        }
    }

    fn apply(&mut self, t_us: u64, member: usize, accepted: bool) {
        let tenure = self.tenures.at(member, t_us);
        self.unled += u64::from(tenure.is_none());
        self.rows += u64::from(accepted);
        let verdict = match accepted {
            true => WriteVerdict::Ok,
            false => WriteVerdict::Fenced { highest: 0 },
        };
        let write = Write {
            resource: Resource::SEQUENCE,
            operation: Operation::Record,
            generation: tenure.map_or(0, |tenure| tenure.generation),
            token: 0,
            seq: self.rows + u64::from(!accepted),
            read_version: UNKNOWN_VERSION,
            client: UNKNOWN_REQUEST.client,
            number: UNKNOWN_REQUEST.number,
            payload: None,
        };
        let version = if accepted { self.rows } else { UNKNOWN_VERSION };
        self.tell(t_us, Kind::Apply { node: number(member), write, verdict, version });
    }
}

/// Leaderships are told apart by what their members have said. Tokens are the store's to compare: a store that takes any token
/// would make each write a leadership of its own.
fn incarnation(member: usize, tenure: Tenure) -> Incarnation {
    Incarnation { token: 0, node: number(member), generation: tenure.generation }
}

/// A process's number in the history.
fn number(index: usize) -> NodeId {
    NodeId(u16::try_from(index).unwrap_or(u16::MAX))
}

fn each((member, tenures): (usize, &Vec<Tenure>)) -> impl Iterator<Item = (usize, Tenure)> {
    tenures.iter().map(move |tenure| (member, *tenure))
}

fn names(facts: &Facts) -> Vec<String> {
    let service = facts.file.service.iter().flat_map(|service| service.names());
    facts.names.iter().cloned().chain(service).chain(["store".to_owned()]).collect()
}

/// The service, if its members elect one of them.
fn cluster(facts: &Facts) -> Option<ServiceCluster> {
    let members: Vec<NodeId> = facts.services().map(number).collect();
    (members.len() > 1).then_some(ServiceCluster { members, failover_ms: SERVICE_ELECTS_WITHIN_MS })
}

fn header(facts: &Facts, refused: bool) -> Header {
    let Facts { file, plan, .. } = facts;
    let (nodes, members) = (names(facts), facts.names.len());
    let ms = |length: std::time::Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let mut requires = vec![(Fact::WritesAccepted, 1)];
    if plan.scenario.replaces() {
        requires.push((Fact::LeadersTookEffect, 2));
    }
    if refused {
        requires.push((Fact::StaleWriteAttempts, 1));
    }
    Header {
        schema: SCHEMA,
        scenario: plan.scenario.name().to_owned(),
        protocol: file.title(),
        seed: plan.seed,
        fencing: Fencing::On,
        tokened: false,
        plan_digest: String::new(),
        candidates: members as u16,
        lease_ttl_ms: ms(file.fleet.lease),
        rate: 0,
        liveness_bound_ms: ms(file.fleet.within),
        dark_after_ms: ms(file.fleet.lease),
        requires: requires.into_iter().map(|(fact, at_least)| Requirement { fact, at_least }).collect(),
        services: facts.services().map(number).collect(),
        services_needed: 0,
        clusters: cluster(facts).into_iter().collect(),
        tick_ms: 0,
        store: Some(number(nodes.len() - 1)),
        majority: false,
        ring: false,
        dual_belief_bound_us: None,
        resources: vec![file.store.resource().to_owned()],
        copies: None,
        deferred_commit: false,
        groups: 1,
        address: None,
        placement: None,
        group: 0,
        nodes,
    }
}

#[cfg(test)]
mod tests;
