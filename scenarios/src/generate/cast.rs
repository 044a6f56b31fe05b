//! Who there is in a generated plan, and what a draft of a fault means among them.

use crate::{
    fault::{Trigger, Who},
    plan::Plan,
    topology::Topology,
};
use protocols::{election::Protocol, point::Point};

/// The name of that candidate, by its place.
pub(super) fn name(index: usize) -> String {
    format!("n{}", index + 1)
}

/// Is it between a coordination service and its clients?
fn concerns_service(point: Point) -> bool {
    matches!(point, Point::BeforeAsk | Point::Answered | Point::BeforeWait | Point::BeforeWatch)
}

/// Do fleets of this protocol pass the point?
fn passes(protocol: &Protocol, point: Point) -> bool {
    match point {
        Point::ReadChecked => protocol.read_lease.is_some(),
        Point::BeforePersist | Point::Voted => protocol.persists,
        Point::BeforeAsk | Point::Answered => protocol.service.is_asked,
        Point::BeforeWait | Point::BeforeWatch => protocol.service.is_watched,
        // Only works do that no drawn plan has.
        Point::EnactChecked | Point::DeleteChecked => false,
        Point::EffectChecked | Point::MarkChecked | Point::RefreshChecked => false,
        _ => true,
    }
}

/// A fault before it is known of which kind it is, how many candidates there are and how long the trouble lasts. Times are
/// per mille of what there is room for.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Which of the enabled kinds it is, counted round.
    pub pick: u16,
    pub whom: Role,
    pub others: Role,
    pub when: When,
    pub length: u64,
    /// How much, per mille of the most that its kind knows.
    pub amount: u64,
    /// One way or the other.
    pub flag: bool,
    /// It does not heal, where that leaves a way.
    pub for_good: bool,
    /// Far beyond what is usual.
    pub wild: bool,
}

/// A process that a fault may strike.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    Leader,
    /// The candidate of that number, counted round.
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
    /// At a point that fleets of the protocol pass, counted round.
    Passage {
        pick: u16,
        nth: u64,
        after: Option<After>,
    },
}

/// From when on passages count.
#[derive(Clone, Debug)]
pub(super) enum After {
    Time { start: u64 },
    Renewals { nth: u64, delay_ms: u64 },
}

/// Who there is, how long the trouble lasts, and how much of what never heals can still be borne.
pub(super) struct Cast {
    candidates: usize,
    /// The points that fleets of the protocol pass.
    points: Vec<Point>,
    /// Candidates that are members from the start.
    founders: Vec<usize>,
    has_service: bool,
    /// The names of its members, where there are several.
    members: Vec<String>,
    /// Does who cannot reach the service lose nothing but its own chance?
    stands_alone: bool,
    majority: bool,
    trouble_ms: u64,
    burst: Option<u64>,
    /// How many may still die for good.
    dead: usize,
    /// How many links may still be cut for good.
    cuts: usize,
    /// How many may still leave.
    pub leaves: usize,
}

impl Cast {
    pub fn new(plan: &Plan, protocol: &Protocol, trouble_ms: u64, burst: Option<u64>) -> Cast {
        let candidates = plan.candidates.len();
        let founders: Vec<usize> = (0..candidates).filter(|n| !plan.candidates[*n].joins_later).collect();
        let spare = if protocol.majority { (founders.len() - 1) / 2 } else { founders.len() - 1 };
        // Where members come and go, a majority is not what it was in the beginning.
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
            leaves: founders.len().saturating_sub(2),
            founders,
        }
    }

    /// When a draft's fault strikes, and how long there is for it, milliseconds.
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

    /// A passage of whoever comes to the point: some points only a leader passes, others every candidate.
    fn passage(&self, point: Point, nth: u64, after: Option<&After>) -> Trigger {
        let (after, delay_ms) = match after {
            None => (None, 0),
            Some(After::Time { start }) => (Some(Trigger::At { ms: self.start_ms(*start) as f64 }), 0),
            Some(After::Renewals { nth, delay_ms }) => (Some(self.passage(Point::Renewed, *nth, None)), *delay_ms),
        };
        let (point, node) = (point.name().to_owned(), Who::Candidates);
        Trigger::Passage { point, node, nth, after: after.map(Box::new), delay_ms: delay_ms as f64 }
    }

    pub fn named(&self, number: usize) -> Who {
        Who::Named(name(number % self.candidates))
    }

    /// A candidate's number, whatever the draft's role is.
    pub fn number(&self, draft: &Draft) -> usize {
        match draft.whom {
            Role::Candidate(number) => number,
            _ => draft.amount as usize,
        }
    }

    pub fn founder(&self, draft: &Draft) -> Who {
        self.named(self.founders[self.number(draft) % self.founders.len()])
    }

    /// The service; of one with several members one of them, or all.
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

    /// A process, or several, but no client.
    pub fn process(&self, draft: &Draft) -> Who {
        let role = if draft.whom == Role::Clients { Role::Leader } else { draft.whom };
        self.who(role, draft)
    }

    /// A candidate, or several.
    pub fn elector(&self, draft: &Draft) -> Who {
        let elects = matches!(draft.whom, Role::Leader | Role::Candidate(_) | Role::Followers);
        self.who(if elects { draft.whom } else { Role::Leader }, draft)
    }

    /// Whose lease or key is dropped. Where somebody else is looked at, that one's is as good as one's own.
    pub fn holder(&self, draft: &Draft) -> Who {
        if draft.by_passage() && draft.flag { Who::Leader } else { self.elector(draft) }
    }

    /// Both ends of a link. A question to the service is lost on its way there, or its answer on its way back.
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

    /// When a process that dies is back; `None`: never. `n1` always comes back, and so does whoever might be it.
    pub fn back_after(&mut self, draft: &Draft, for_ms: f64) -> Option<f64> {
        let spared = match draft.whom {
            Role::Candidate(number) => self.founders.contains(&(number % self.candidates)),
            _ => false,
        };
        let first = matches!(draft.whom, Role::Candidate(number) if number % self.candidates == 0);
        if draft.for_good && spared && !first && self.dead > 0 {
            self.dead -= 1;
            // One thing at a time: who is left may need every link.
            self.cuts = 0;
            return None;
        }
        Some(for_ms)
    }

    /// May this link stay cut? One between two candidates that elect by majority, who still hear each other through the
    /// rest; or that of one candidate to the service, when others have theirs.
    pub fn may_stay_cut(&mut self, draft: &Draft, from: &Who, to: &Who) -> bool {
        let named = |who: &Who| matches!(who, Who::Named(name) if !self.members.contains(name));
        let between = self.majority && named(from) && named(to);
        let to_service = self.stands_alone && named(from) && *to == Who::Service;
        let cut = draft.for_good && self.cuts > 0 && (between || to_service);
        if cut {
            (self.cuts, self.dead) = (0, 0);
        }
        cut
    }
}

/// The names of a service's members, where there are several.
fn members(topology: &Topology) -> Vec<String> {
    let members = topology.members().map(|member| topology.name(member).to_owned());
    if topology.only_member().is_some() { Vec::new() } else { members.collect() }
}

impl Draft {
    fn by_passage(&self) -> bool {
        matches!(self.when, When::Passage { .. })
    }
}
