//! Which processes run, and which can reach each other, as liveness needs it: derived from faults, process states and
//! clocks.

use protocols::{
    history::{Event, FaultEvent, FaultKind, Header, Kind, NodeState, Phase, ServiceCluster},
    types::NodeId,
};
use std::{collections::BTreeMap, ops::Range};

/// Clocks with a larger rate error, parts per million, stretch a lease by more than the bound allows for.
const DRIFT_MAX_PPM: u64 = 100_000;
/// A link or a disk is good if its delay is at most this fraction of the lease: a twentieth.
const SLOWER_SHARE: u64 = 20;
/// Lost packets in a million up to which a link is good: as on a bad switch.
const LOSS_MAX: u64 = 10_000;

/// One direction between two processes.
pub(crate) type Link = (NodeId, NodeId);

/// The current state of processes and links.
#[derive(Debug)]
pub(crate) struct Cluster {
    candidates: u16,
    clients: Range<u16>,
    services: Vec<NodeId>,
    /// How many of `services` are needed.
    services_needed: usize,
    /// The services whose members elect one of them by majority.
    clusters: Vec<ServiceCluster>,
    store: NodeId,
    nodes: Vec<Process>,
    majority: bool,
    ring: bool,
    lease_us: u64,
    faults: BTreeMap<u32, FaultEvent>,
    links: BTreeMap<Link, Trouble>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Process {
    up: bool,
    paused: bool,
    /// Asked to join and has not yet joined; or has left.
    outside: bool,
    /// Number of faults that slow it down.
    slowed: u32,
    /// Number of those that limit what it can send.
    narrowed: u32,
    drifts: bool,
}

/// Faults on a link: the number of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    blocked: u32,
    poor: u32,
}

/// What an event changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Change {
    /// Processes that began or ceased to run, or to run well.
    pub(crate) nodes: Vec<NodeId>,
    /// Links that were cut, restored or slowed.
    pub(crate) links: Vec<Link>,
    /// A change of leader was ordered, or something happened whose effect is unknown.
    pub(crate) ordered: bool,
}

/// What a leader needs to act.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    /// The candidate that can act.
    pub(crate) candidate: NodeId,
    /// A majority of mutually connected nodes, the candidate included; only the candidate if no majority is needed.
    pub(crate) quorum: Vec<NodeId>,
    /// Of each service whose members elect one of them: a majority of mutually connected members.
    pub(crate) members: Vec<Vec<NodeId>>,
}

impl Cluster {
    /// The processes of a history; `None` if its header does not name the store.
    pub(crate) fn new(header: &Header) -> Option<Cluster> {
        let up = |place: usize| Process { up: place >= usize::from(header.candidates), ..Process::default() };
        Some(Cluster {
            candidates: header.candidates,
            clients: header.clients(),
            services: header.services.clone(),
            services_needed: usize::from(header.services_needed.max(1)),
            clusters: header.clusters.clone(),
            store: header.store?,
            // Candidates may start later; other processes run unless the history says otherwise.
            nodes: (0..header.nodes.len()).map(up).collect(),
            majority: header.majority,
            ring: header.ring,
            lease_us: header.lease_ttl_ms.saturating_mul(1000),
            faults: BTreeMap::new(),
            links: BTreeMap::new(),
        })
    }

    pub(crate) fn services(&self) -> &[NodeId] {
        &self.services
    }

    pub(crate) fn clients(&self) -> u64 {
        self.clients.len() as u64
    }

    /// The index of the first client. Clients come last, and those of a group are adjacent.
    pub(crate) fn first_client(&self) -> usize {
        self.clients.start.into()
    }

    /// Does the client run, and reach every candidate that runs?
    pub(crate) fn reaches_all(&self, client: NodeId) -> bool {
        self.is_able(client) && self.electorate().all(|node| !self.runs(node) || self.is_good(client, node))
    }

    /// Does every node's leadership depend on what all others hear? It does without a majority that could overrule a
    /// minority, and with a device that cuts the power of silent nodes.
    pub(crate) fn is_everybodys_business(&self) -> bool {
        self.majority != self.services.is_empty()
    }

    pub(crate) fn is_candidate(&self, node: NodeId) -> bool {
        node.0 < self.candidates
    }

    pub(crate) fn is_server(&self, node: NodeId) -> bool {
        node == self.store || self.services.contains(&node)
    }

    fn electorate(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.candidates).map(NodeId)
    }

    fn node(&self, node: NodeId) -> Process {
        self.nodes.get(node.index()).copied().unwrap_or_default()
    }

    pub(crate) fn runs(&self, node: NodeId) -> bool {
        let Process { up, paused, .. } = self.node(node);
        up && !paused
    }

    /// Does it run at full speed?
    fn is_able(&self, node: NodeId) -> bool {
        let Process { slowed, drifts, .. } = self.node(node);
        self.runs(node) && slowed == 0 && !drifts
    }

    /// Can anything get from one to the other?
    fn passes(&self, from: NodeId, to: NodeId) -> bool {
        self.links.get(&(from, to)).is_none_or(|t| t.blocked == 0)
    }

    /// Does everything get through, in both directions and in time?
    fn is_good(&self, a: NodeId, b: NodeId) -> bool {
        let good = |link| self.links.get(&link).is_none_or(|t: &Trouble| t.blocked + t.poor == 0);
        a == b || (good((a, b)) && good((b, a)))
    }

    /// Can it serve clients, if it leads? It needs the store and one client, where there are clients.
    pub(crate) fn can_act(&self, node: NodeId) -> bool {
        let client = |client: NodeId| self.is_able(client) && self.is_good(node, client);
        self.node(node).narrowed == 0
            && self.is_able(self.store)
            && self.is_good(node, self.store)
            && (self.clients.is_empty() || self.clients.clone().map(NodeId).any(client))
    }

    /// A node for which others may wait in vain: it is heard, but does not hear everything, or not in time. If a
    /// service decides, the node may hold a grant without knowing of it.
    pub(crate) fn half_heard(&self, way: &Way) -> Option<NodeId> {
        let voters: &[NodeId] = if self.majority { &way.quorum } else { &[] };
        let half = |node: NodeId| {
            let mut judges = self.services.iter().chain(voters);
            judges.any(|judge| self.passes(node, *judge) && !(self.is_good(node, *judge) && self.is_able(node)))
        };
        self.electorate().find(|node| self.runs(*node) && !way.quorum.contains(node) && half(*node))
    }

    /// The size of a majority of all candidates.
    fn needed(&self) -> usize {
        usize::from(self.candidates) / 2 + 1
    }

    /// If candidates elect along a ring: does each running one reach the next running one?
    fn is_ring_whole(&self) -> bool {
        let members: Vec<NodeId> = self.electorate().filter(|node| self.runs(*node)).collect();
        let next = members.iter().cycle().skip(1);
        !self.ring || members.iter().zip(next).all(|(node, next)| self.is_good(*node, *next))
    }

    /// Is the way still open?
    pub(crate) fn is_open(&self, way: &Way) -> bool {
        let Way { candidate, quorum, members } = way;
        !quorum.iter().any(|node| self.node(*node).outside)
            && members.iter().chain([quorum]).all(|nodes| self.hear_each_other(nodes))
            && self.is_ring_whole()
            && self.can_act(*candidate)
            && self.is_served(*candidate)
    }

    /// Do all of these run well and reach each other?
    fn hear_each_other(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|a| self.is_able(*a) && nodes.iter().all(|b| self.is_good(*a, *b)))
    }

    /// Of each service whose members elect one of them, the first majority that hear each other; `None` if one has none.
    pub(crate) fn majorities(&self) -> Option<Vec<Vec<NodeId>>> {
        let majority =
            |cluster: &ServiceCluster| self.with_others(&[], &cluster.members, cluster.members.len() / 2 + 1);
        self.clusters.iter().map(majority).collect()
    }

    /// The longest election among a service's members that are connected again, microseconds.
    pub(crate) fn failover_us(&self) -> u64 {
        self.clusters.iter().map(|cluster| cluster.failover_ms.saturating_mul(1000)).max().unwrap_or(0)
    }

    /// `chosen` and the first `missing` of `others` with which all of them hear each other.
    fn with_others(&self, chosen: &[NodeId], others: &[NodeId], missing: usize) -> Option<Vec<NodeId>> {
        if missing == 0 {
            return Some(chosen.to_vec());
        }
        others.iter().enumerate().find_map(|(place, node)| {
            let chosen = [chosen, &[*node]].concat();
            let hear = self.hear_each_other(&chosen);
            hear.then(|| self.with_others(&chosen, &others[place + 1..], missing - 1)).flatten()
        })
    }

    fn is_served(&self, node: NodeId) -> bool {
        self.services.is_empty() || self.enough(|service| self.is_able(service) && self.is_good(node, service))
    }

    /// Is that true of enough of the service's processes?
    fn enough(&self, serves: impl Fn(NodeId) -> bool) -> bool {
        self.services.iter().filter(|service| serves(**service)).count() >= self.services_needed
    }

    /// A way for some able candidate; those in `rather` come first.
    pub(crate) fn find_way(&self, rather: &[NodeId]) -> Option<Way> {
        let others = self.electorate().filter(|node| !rather.contains(node));
        let mut all = rather.iter().copied().filter(|node| self.is_candidate(*node)).chain(others);
        all.find_map(|candidate| self.way_of(candidate))
    }

    fn way_of(&self, candidate: NodeId) -> Option<Way> {
        let needed = if self.majority { self.needed() } else { 1 };
        let mut quorum = vec![candidate];
        for node in self.electorate().filter(|node| *node != candidate) {
            if quorum.len() < needed && self.is_able(node) && quorum.iter().all(|member| self.is_good(*member, node)) {
                quorum.push(node);
            }
        }
        let way = Way { candidate, quorum, members: self.majorities()? };
        (way.quorum.len() == needed && self.is_open(&way)).then_some(way)
    }

    /// Takes a fault, a process's state or its clocks; `None` if nothing changes.
    pub(crate) fn observe(&mut self, event: &Event) -> Option<Change> {
        match &event.kind {
            Kind::Node { node, state } => self.state(*node, *state),
            Kind::Clock { node, rate_ppm, .. } => {
                let drifts = rate_ppm.unsigned_abs() > DRIFT_MAX_PPM;
                let known = self.nodes.get_mut(node.index()).filter(|known| known.drifts != drifts)?;
                known.drifts = drifts;
                Some(Change { nodes: vec![*node], ..Change::default() })
            }
            Kind::Fault(fault) => self.fault(fault),
            _ => None,
        }
    }

    fn state(&mut self, node: NodeId, state: NodeState) -> Option<Change> {
        let known = self.nodes.get_mut(node.index())?;
        match state {
            NodeState::Up => (known.up, known.paused) = (true, false),
            NodeState::Down | NodeState::Off => (known.up, known.paused) = (false, false),
            NodeState::Paused => known.paused = true,
            NodeState::Resumed => known.paused = false,
            NodeState::Joined => known.outside = false,
            NodeState::Left => known.outside = true,
        }
        Some(Change { nodes: vec![node], ..Change::default() })
    }

    fn fault(&mut self, fault: &FaultEvent) -> Option<Change> {
        match (&fault.kind, fault.phase) {
            // Process states and clocks are more precise than these faults.
            (FaultKind::Pause, _) => None,
            (kind, _) if kind.ends_process() || kind.is_of_clocks() => None,
            // An adversary changes neither which processes run nor which reach each other, and earns no extra time.
            (FaultKind::ForgeClaim | FaultKind::RogueFence, _) => None,
            (kind, Phase::Once) => {
                if *kind == FaultKind::Join {
                    for node in &fault.on {
                        if let Some(known) = self.nodes.get_mut(node.index()) {
                            known.outside = true;
                        }
                    }
                }
                Some(Change { nodes: fault.on.clone(), ordered: true, ..Change::default() })
            }
            (_, Phase::Begin) => {
                // A fault reported twice is one fault.
                self.end(fault.index);
                let change = self.apply(fault, 1);
                self.faults.insert(fault.index, fault.clone());
                Some(change)
            }
            (_, Phase::End) => self.end(fault.index),
        }
    }

    fn end(&mut self, index: u32) -> Option<Change> {
        let begun = self.faults.remove(&index)?;
        Some(self.apply(&begun, -1))
    }

    /// Applies a fault (`by` is 1), or removes it (-1).
    fn apply(&mut self, fault: &FaultEvent, by: i32) -> Change {
        let FaultEvent { on, to, sides, strength, .. } = fault;
        let mut change = Change::default();
        let slower = *strength == 0 || strength.saturating_mul(SLOWER_SHARE) > self.lease_us;
        match &fault.kind {
            FaultKind::Partition if sides.iter().all(|side| !side.is_empty()) => {
                let back = sides[1].iter().flat_map(|b| sides[0].iter().map(move |a| (*b, *a)));
                change.links = pairs(&sides[0], &sides[1]);
                change.links.extend(back.filter(|_| !fault.one_way));
                self.each(&change.links, |trouble| trouble.blocked = trouble.blocked.saturating_add_signed(by));
                return change;
            }
            FaultKind::Latency if !slower => return change,
            // A client that gives up a hanging connection opens another.
            FaultKind::Hang => return change,
            FaultKind::Loss if *strength > 0 && *strength <= LOSS_MAX => return change,
            FaultKind::Bandwidth => {
                change.nodes.clone_from(on);
                self.slow(on, by);
                for node in on {
                    if let Some(known) = self.nodes.get_mut(node.index()) {
                        known.narrowed = known.narrowed.saturating_add_signed(by);
                    }
                }
            }
            // Only voters and servers wait for their disks.
            FaultKind::SlowDisk => {
                let slow = on.iter().filter(|node| !self.is_candidate(**node) || self.majority);
                change.nodes = if slower { slow.copied().collect() } else { Vec::new() };
                self.slow(&change.nodes, by);
            }
            _ if !to.is_empty() => {
                change.links = pairs(on, to);
                self.each(&change.links, |trouble| trouble.poor = trouble.poor.saturating_add_signed(by));
            }
            // A fault that only names its targets: what they can still do is unknown.
            _ => {
                change.nodes.clone_from(on);
                self.slow(on, by);
            }
        }
        change
    }

    fn slow(&mut self, nodes: &[NodeId], by: i32) {
        for node in nodes {
            if let Some(known) = self.nodes.get_mut(node.index()) {
                known.slowed = known.slowed.saturating_add_signed(by);
            }
        }
    }

    fn each(&mut self, links: &[Link], change: impl Fn(&mut Trouble)) {
        for link in links {
            change(self.links.entry(*link).or_default());
        }
        self.links.retain(|_, trouble| trouble.blocked + trouble.poor > 0);
    }
}

fn pairs(from: &[NodeId], to: &[NodeId]) -> Vec<Link> {
    from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b).collect()
}
