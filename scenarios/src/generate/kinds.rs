//! The kinds of faults that plans are generated from, one entry each, and what makes a fault of a draft.

use super::name;
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    topology::Topology,
};
use protocols::{client::Service, election::Protocol, point::Point};

/// A kind of fault.
pub(super) struct Kind {
    /// As [`Fault::kind`] has it.
    pub name: &'static str,
    /// Can it strike fleets of this protocol?
    pub applies: fn(&Protocol) -> bool,
    /// The fault that a draft means; `None` when it means nothing here.
    make: fn(&mut Cast, &Draft, f64) -> Option<Fault>,
}

fn any(_: &Protocol) -> bool {
    true
}

/// Every kind. To generate another one, add it here.
pub(super) static ALL: &[Kind] = &[
    Kind {
        name: "pause",
        applies: any,
        make: |cast, draft, for_ms| Some(Fault::Pause { node: cast.process(draft), for_ms }),
    },
    Kind {
        name: "kill",
        applies: any,
        make: |cast, draft, for_ms| {
            Some(Fault::Kill { node: cast.process(draft), restart_after_ms: cast.back_after(draft, for_ms) })
        },
    },
    Kind {
        name: "power-loss",
        applies: any,
        make: |cast, draft, for_ms| {
            // All at once, or one.
            let node = if draft.wild { Who::Candidates } else { cast.process(draft) };
            let back = if draft.wild { Some(for_ms) } else { cast.back_after(draft, for_ms) };
            Some(Fault::PowerLoss { node, restart_after_ms: back })
        },
    },
    Kind { name: "restart", applies: any, make: |cast, draft, _| Some(Fault::Restart { node: cast.founder(draft) }) },
    Kind {
        name: "partition",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            let for_ms = if cast.may_stay_cut(draft, &from, &to) { None } else { Some(for_ms) };
            Some(Fault::Partition { from: vec![from], to: vec![to], one_way: draft.flag, for_ms })
        },
    },
    Kind {
        name: "latency",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            // Mostly as far as another continent, now and then a queue that stands.
            let most_us = if draft.wild { 500_000 } else { 80_000 };
            let extra_us = (most_us * draft.amount / 1_000).max(1);
            Some(Fault::Latency { from: vec![from], to: vec![to], extra_us, for_ms: Some(for_ms) })
        },
    },
    Kind {
        name: "loss",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            let percent = 1 + if draft.wild { 59 } else { 29 } * draft.amount / 1_000;
            let probability = percent as f64 / 100.0;
            Some(Fault::Loss { from: vec![from], to: vec![to], probability, for_ms: Some(for_ms) })
        },
    },
    Kind {
        name: "slow-disk",
        applies: any,
        make: |cast, draft, for_ms| {
            let extra_us = (200_000 * draft.amount / 1_000).max(1);
            Some(Fault::SlowDisk { node: cast.elector(draft), extra_us, for_ms: Some(for_ms) })
        },
    },
    Kind {
        name: "clock-step",
        applies: any,
        make: |cast, draft, _| {
            let by_ms = (10 * draft.amount) as i64;
            Some(Fault::ClockStep { node: cast.elector(draft), by_ms: if draft.flag { by_ms } else { -by_ms } })
        },
    },
    Kind {
        name: "clock-rate",
        applies: any,
        make: |cast, draft, for_ms| {
            // Within what every protocol that counts on clocks bears, or far beyond.
            let ppm = if draft.wild { 100 } else { 1 } * draft.amount as i64;
            let for_ms = if draft.for_good { None } else { Some(for_ms) };
            Some(Fault::ClockRate { node: cast.elector(draft), ppm: if draft.flag { ppm } else { -ppm }, for_ms })
        },
    },
    Kind { name: "resign", applies: any, make: |cast, draft, _| Some(Fault::Resign { node: cast.elector(draft) }) },
    Kind {
        name: "transfer",
        applies: |protocol| protocol.transfers,
        make: |cast, draft, _| {
            let to = match draft.others {
                Role::Candidate(number) => cast.named(number),
                _ => Who::Followers,
            };
            Some(Fault::Transfer { node: cast.elector(draft), to })
        },
    },
    Kind {
        name: "join",
        applies: |protocol| protocol.changes_members,
        make: |cast, draft, _| Some(Fault::Join { node: cast.named(cast.number(draft)) }),
    },
    Kind {
        name: "leave",
        applies: |protocol| protocol.changes_members,
        make: |cast, draft, _| {
            // Two founders stay, whoever leaves.
            cast.leaves = cast.leaves.checked_sub(1)?;
            let one = if draft.whom == Role::Leader { cast.elector(draft) } else { cast.named(cast.number(draft)) };
            Some(Fault::Leave { node: one })
        },
    },
    Kind {
        name: "sync-hang",
        applies: any,
        make: |cast, draft, for_ms| Some(Fault::SyncHang { node: cast.elector(draft), for_ms: Some(for_ms) }),
    },
    Kind {
        name: "sync-fail",
        applies: any,
        make: |cast, draft, for_ms| {
            Some(Fault::SyncFail { node: cast.elector(draft), silent: false, for_ms: Some(for_ms) })
        },
    },
    Kind {
        name: "drop-lease",
        applies: |protocol| protocol.service == Service::Etcd,
        make: |cast, draft, _| Some(Fault::DropLease { node: cast.holder(draft) }),
    },
    Kind {
        name: "drop-key",
        applies: |protocol| matches!(protocol.service, Service::Etcd | Service::Redis | Service::RedisServers),
        make: |cast, draft, _| Some(Fault::DropKey { node: cast.holder(draft) }),
    },
];

/// Is it between a coordination service and its clients?
fn concerns_service(point: Point) -> bool {
    matches!(point, Point::BeforeAsk | Point::Answered | Point::BeforeWait | Point::BeforeWatch)
}

/// Do fleets of this protocol pass the point?
fn passes(protocol: &Protocol, point: Point) -> bool {
    match point {
        Point::ReadChecked => protocol.read_lease.is_some(),
        Point::BeforePersist | Point::Voted => protocol.persists,
        Point::BeforeAsk | Point::Answered => {
            matches!(protocol.service, Service::Etcd | Service::Redis | Service::RedisServers)
        }
        Point::BeforeWait | Point::BeforeWatch => protocol.service == Service::Etcd,
        _ => true,
    }
}

/// Does a fault leave alone what makes reads from memory safe: nobody forgets a promise?
pub(super) fn keeps_read_leases(fault: &Fault) -> bool {
    match fault {
        Fault::Pause { .. }
        | Fault::Partition { .. }
        | Fault::Latency { .. }
        | Fault::Loss { .. }
        | Fault::SlowDisk { .. }
        | Fault::SyncHang { .. }
        | Fault::ClockRate { .. }
        | Fault::Resign { .. } => true,
        // Who dies, or whose disk or service forgets, has promised nothing; members change what a majority is; steps are for
        // wall clocks, which some services count with.
        _ => false,
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
    leaves: usize,
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
            has_service: protocol.service.process().is_some(),
            members: members(&plan.topology_of(protocol)),
            stands_alone: protocol.service.process().is_some() && !protocol.elects_among_peers(),
            majority: protocol.majority && !protocol.cuts_power(),
            trouble_ms,
            burst,
            dead,
            cuts: usize::from(candidates >= 3),
            leaves: founders.len().saturating_sub(2),
            founders,
        }
    }

    /// The fault that a draft means when it is of that kind; `None` when it means nothing here.
    pub fn fault(&mut self, kind: &Kind, draft: &Draft) -> Option<PlannedFault> {
        let (when, room_ms) = match &draft.when {
            When::At { start } => {
                let ms = self.start_ms(*start);
                (Trigger::At { ms: ms as f64 }, self.trouble_ms - ms)
            }
            When::Passage { pick, nth, after } => {
                (self.passage(self.point(*pick), *nth, after.as_ref()), self.trouble_ms / 2)
            }
        };
        let for_ms = (room_ms * draft.length / 1_000).max(1) as f64;
        (kind.make)(self, draft, for_ms).map(|what| PlannedFault { what, when })
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

    fn named(&self, number: usize) -> Who {
        Who::Named(name(number % self.candidates))
    }

    /// A candidate's number, whatever the draft's role is.
    fn number(&self, draft: &Draft) -> usize {
        match draft.whom {
            Role::Candidate(number) => number,
            _ => draft.amount as usize,
        }
    }

    fn founder(&self, draft: &Draft) -> Who {
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
    fn process(&self, draft: &Draft) -> Who {
        let role = if draft.whom == Role::Clients { Role::Leader } else { draft.whom };
        self.who(role, draft)
    }

    /// A candidate, or several.
    fn elector(&self, draft: &Draft) -> Who {
        let elects = matches!(draft.whom, Role::Leader | Role::Candidate(_) | Role::Followers);
        self.who(if elects { draft.whom } else { Role::Leader }, draft)
    }

    /// Whose lease or key is dropped. Where somebody else is looked at, that one's is as good as one's own.
    fn holder(&self, draft: &Draft) -> Who {
        if draft.by_passage() && draft.flag { Who::Leader } else { self.elector(draft) }
    }

    /// Both ends of a link. A question to the service is lost on its way there, or its answer on its way back.
    fn link(&self, draft: &Draft) -> (Who, Who) {
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
    fn back_after(&mut self, draft: &Draft, for_ms: f64) -> Option<f64> {
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
    fn may_stay_cut(&mut self, draft: &Draft, from: &Who, to: &Who) -> bool {
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
