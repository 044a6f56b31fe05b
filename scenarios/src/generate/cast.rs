//! The processes of a generated plan, the members of its service among them, and what a drafted fault means for them.

use crate::{
    fault::{Trigger, Who},
    plan::Plan,
    streams,
    topology::Topology,
};
use protocols::{election::Protocol, point::Point};

/// The name of the candidate at this index.
pub(super) fn name(index: usize) -> String {
    format!("n{}", index + 1)
}

/// True if the point lies between a coordination service and its clients.
fn concerns_service(point: Point) -> bool {
    matches!(point, Point::BeforeAsk | Point::Answered | Point::BeforeWait | Point::BeforeWatch)
}

/// True if fleets of this protocol pass the point.
fn passes(protocol: &Protocol, point: Point) -> bool {
    match point {
        Point::ReadChecked => protocol.read_lease.is_some(),
        Point::BeforePersist | Point::Voted => protocol.persists,
        Point::BeforeAsk | Point::Answered => protocol.service.is_asked,
        Point::BeforeWait | Point::BeforeWatch => protocol.service.is_watched,
        // Only works that no generated plan has pass these.
        Point::EnactChecked | Point::DeleteChecked => false,
        Point::EffectChecked | Point::MarkChecked | Point::RefreshChecked => false,
        // Protocols pass named points instead.
        Point::BeforeSend => false,
        _ => true,
    }
}

/// A fault before its kind, the number of candidates and the length of the faulty part are known. Times are per mille
/// of the room they have.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Index into the enabled kinds, modulo their number.
    pub pick: u16,
    pub whom: Role,
    pub others: Role,
    pub when: When,
    pub length: u64,
    /// Per mille of the kind's maximum.
    pub amount: u64,
    /// Chooses between two variants of the kind.
    pub flag: bool,
    /// It never heals, if the fleet can spare that.
    pub for_good: bool,
    /// Far beyond the usual amount.
    pub wild: bool,
}

/// A process that a fault may strike.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    Leader,
    /// The candidate at this index, modulo their number.
    Candidate(usize),
    Followers,
    Service,
    Store,
    Clients,
}

#[derive(Clone, Debug)]
pub(super) enum When {
    At {
        start: u64,
    },
    /// At a point that fleets of the protocol pass; `pick` is taken modulo their number.
    Passage {
        pick: u16,
        nth: u64,
        after: Option<After>,
    },
}

/// When counting of passages starts.
#[derive(Clone, Debug)]
pub(super) enum After {
    Time { start: u64 },
    Renewals { nth: u64, delay_ms: u64 },
}

/// The processes, the length of the faulty part, and how many unhealed faults the fleet can still bear.
pub(super) struct Cast {
    candidates: usize,
    /// The points that fleets of the protocol pass.
    points: Vec<Point>,
    /// Candidates that are members from the start.
    founders: Vec<usize>,
    has_service: bool,
    /// The names of the service's members, if it has several.
    members: Vec<String>,
    /// True if a candidate that cannot reach the service loses only its own chance.
    stands_alone: bool,
    majority: bool,
    trouble_ms: u64,
    burst: Option<u64>,
    /// How many candidates may still die for good.
    dead: usize,
    /// How many links may still be cut for good.
    cuts: usize,
    /// How many members may still leave.
    leaves: usize,
}

/// How many founders never leave, and how many if two of them stay cut off from each other: three must hear each other.
const STAY: usize = 2;
const STAY_CUT: usize = 4;

impl Cast {
    pub fn new(plan: &Plan, protocol: &Protocol, trouble_ms: u64, burst: Option<u64>) -> Cast {
        let candidates = plan.candidates.len();
        let founders: Vec<usize> = (0..candidates).filter(|n| !plan.candidates[*n].joins_later).collect();
        let spare = if protocol.majority { (founders.len() - 1) / 2 } else { founders.len() - 1 };
        // If members come and go, the size of a majority changes too.
        let dead = if protocol.changes_members { 0 } else { spare };
        Cast {
            candidates,
            points: Point::ALL.into_iter().filter(|point| passes(protocol, *point)).collect(),
            has_service: protocol.service.process.is_some(),
            members: members(&plan.topology_of(protocol)),
            stands_alone: protocol.service.process.is_some() && !protocol.elects_among_peers(),
            majority: protocol.majority && !protocol.cuts_power(),
            trouble_ms,
            burst,
            dead,
            cuts: usize::from(candidates >= 3),
            leaves: founders.len().saturating_sub(STAY),
            founders,
        }
    }

    /// When a draft's fault strikes, and how long it may last, milliseconds.
    pub fn when(&self, draft: &Draft) -> (Trigger, u64) {
        match &draft.when {
            When::At { start } => {
                let ms = self.start_ms(*start);
                (Trigger::At { ms: ms as f64 }, self.trouble_ms - ms)
            }
            When::Passage { pick, nth, after } => {
                (self.passage(self.point(*pick), *nth, after.as_ref()), self.trouble_ms / 2)
            }
        }
    }

    fn point(&self, pick: u16) -> Point {
        self.points[usize::from(pick) % self.points.len()]
    }

    fn start_ms(&self, start: u64) -> u64 {
        let start = self.burst.map_or(start, |about| about * 9 / 10 + start / 10);
        self.trouble_ms * start * 4 / 5 / 1_000
    }

    /// A passage by whichever node reaches the point: only a leader passes some points, every candidate others.
    fn passage(&self, point: Point, nth: u64, after: Option<&After>) -> Trigger {
        let (after, delay_ms) = match after {
            None => (None, 0),
            Some(After::Time { start }) => (Some(Trigger::At { ms: self.start_ms(*start) as f64 }), 0),
            Some(After::Renewals { nth, delay_ms }) => (Some(self.passage(Point::Renewed, *nth, None)), *delay_ms),
        };
        let (point, node) = (point.name().to_owned(), Who::Candidates);
        Trigger::Passage { point, node, nth, after: after.map(Box::new), delay_ms: delay_ms as f64, matching: None }
    }

    pub fn named(&self, number: usize) -> Who {
        Who::Named(name(number % self.candidates))
    }

    /// A candidate's index, whatever the draft's role.
    pub fn number(&self, draft: &Draft) -> usize {
        match draft.whom {
            Role::Candidate(number) => number,
            _ => draft.amount as usize,
        }
    }

    pub fn founder(&self, draft: &Draft) -> Who {
        self.named(self.founders[self.number(draft) % self.founders.len()])
    }

    /// The service; if it has several members, one of them or all.
    fn service(&self, draft: &Draft) -> Who {
        let pick = draft.amount as usize % (self.members.len() + 1);
        self.members.get(pick).cloned().map_or(Who::Service, Who::Named)
    }

    fn who(&self, role: Role, draft: &Draft) -> Who {
        match role {
            Role::Leader if draft.by_passage() => Who::Trigger,
            Role::Leader => Who::Leader,
            Role::Candidate(number) => self.named(number),
            Role::Followers => Who::Followers,
            Role::Service if self.has_service => self.service(draft),
            Role::Service => Who::Candidates,
            Role::Store => Who::Store,
            Role::Clients => Who::Clients,
        }
    }

    /// A process, or several, but never clients.
    pub fn process(&self, draft: &Draft) -> Who {
        let role = if draft.whom == Role::Clients { Role::Leader } else { draft.whom };
        self.who(role, draft)
    }

    /// A candidate, or several.
    pub fn elector(&self, draft: &Draft) -> Who {
        let elects = matches!(draft.whom, Role::Leader | Role::Candidate(_) | Role::Followers);
        self.who(if elects { draft.whom } else { Role::Leader }, draft)
    }

    /// Whose lease or key is dropped; at a passage, the leader's or that of the node that passed.
    pub fn holder(&self, draft: &Draft) -> Who {
        if draft.by_passage() && draft.flag { Who::Leader } else { self.elector(draft) }
    }

    /// Both ends of a link. At a point between a node and its service, either the request or its answer is lost.
    pub fn link(&self, draft: &Draft) -> (Who, Who) {
        if let When::Passage { pick, .. } = draft.when
            && concerns_service(self.point(pick))
            && self.has_service
            && draft.whom == Role::Leader
        {
            let (one, other) = (Who::Trigger, self.service(draft));
            return if draft.amount % 2 == 0 { (one, other) } else { (other, one) };
        }
        let (whom, other) = (self.who(draft.whom, draft), self.who(draft.others, draft));
        let other = match whom == other {
            true if whom == Who::Candidates => Who::Store,
            true if draft.whom == Role::Service || !self.has_service => Who::Candidates,
            true => Who::Service,
            false => other,
        };
        (whom, other)
    }

    /// After how many milliseconds a dead process is back; `None`: never. `n1` always comes back, and so does any role
    /// that may resolve to it.
    pub fn back_after(&mut self, draft: &Draft, for_ms: f64) -> Option<f64> {
        let spared = match draft.whom {
            Role::Candidate(number) => self.founders.contains(&(number % self.candidates)),
            _ => false,
        };
        let first = matches!(draft.whom, Role::Candidate(number) if number % self.candidates == 0);
        if draft.for_good && spared && !first && self.dead > 0 {
            self.dead -= 1;
            // The survivors may need every link.
            self.cuts = 0;
            return None;
        }
        Some(for_ms)
    }

    /// True if this link may stay cut: one between two candidates that elect by majority, who still hear each other
    /// through the rest, or that of one candidate to the service, if others have theirs.
    pub fn may_stay_cut(&mut self, draft: &Draft, from: &Who, to: &Who) -> bool {
        let named = |who: &Who| matches!(who, Who::Named(name) if !self.members.contains(name));
        let between = self.majority && named(from) && named(to);
        let to_service = self.stands_alone && named(from) && *to == Who::Service;
        let cut = draft.for_good && self.cuts > 0 && (between || to_service);
        if cut {
            (self.cuts, self.dead) = (0, 0);
            self.leaves = self.leaves.saturating_sub(STAY_CUT - STAY);
        }
        cut
    }

    /// True if another member may leave.
    pub fn may_leave(&mut self) -> bool {
        let Some(leaves) = self.leaves.checked_sub(1) else { return false };
        self.leaves = leaves;
        if STAY + leaves < STAY_CUT {
            self.cuts = 0;
        }
        true
    }
}

/// The names of a service's members, if it has several.
fn members(topology: &Topology) -> Vec<String> {
    let members = topology.members().map(|member| topology.name(member).to_owned());
    if topology.only_member().is_some() { Vec::new() } else { members.collect() }
}

impl Draft {
    fn by_passage(&self) -> bool {
        matches!(self.when, When::Passage { .. })
    }
}

/// The shortest lease with which a client can reach a member, milliseconds, if a message takes up to `one_way_max_us`.
/// ZooKeeper's clients give each member a share of the session, in which they connect and a majority persists the
/// session; with a shorter one they would never get in.
pub(super) fn reached_ms(members: u16, one_way_max_us: u64) -> u64 {
    const ONE_WAYS: u64 = 8;
    if members > 1 { u64::from(members) * ONE_WAYS * one_way_max_us / 1_000 } else { 0 }
}

/// How many members the protocol's service has, at most five. If one is usual, three of four plans have one.
pub(super) fn drawn(protocol: &Protocol, seed: u64) -> u16 {
    let (usual, most) = (protocol.service.usual_members, u64::from(protocol.service.members.most.min(5)));
    let mut random = streams::stream(seed, streams::MEMBERS);
    let draw = |random: &mut _| streams::between(random, 1, most) as u16;
    match (usual, most) {
        (_, 0 | 1) => 1,
        (1, _) if streams::between(&mut random, 0, 3) > 0 => 1,
        _ => draw(&mut random),
    }
}
