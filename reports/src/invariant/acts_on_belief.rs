//! Only a node that believes it leads sends writes, and a leader does all of its work.
//!
//! **Formula.** 1. Every write that is sent for the first time is sent between its incarnation's election and the end
//! of its belief. 2. While the latest elected incarnation has writes accepted on `sequence` at least every 500 ms, for
//! longer than the liveness bound and two of its ticks, it also has one accepted on `schedule`: a busy sequencer does
//! not make up for a scheduler that records nothing. (Except while its link is so narrow that what it sends waits.) 3.
//! A leader that resigns because it is asked to, other than by leaving the membership, has no write in flight: the
//! store has decided on all that it sent. 4. No incarnation has more than [`UNDER_WAY_MAX`] writes to a resource in
//! flight. 5. A leader that was asked to resign more than a second ago, while it ran, sends nothing new. 6. A leader
//! that sends a write has had its seal of that resource accepted by the store: from then on no other leadership's state
//! can interfere, and what it builds on is what it read. (Under deferred commit the log's order sees to that.)
//!
//! **Could fail** if a write was sent. Part 2 is judged if the header has the scheduler's period, and part 6 if the
//! history has seals. In a log, no write is accepted 7. of a node that has stopped leading, 8. of a node whose grant
//! has ended, by its stated duration or by a line, or 9. of a node without a grant while another holds one. Writes may
//! be in flight for a second, so only later ones count: in 9, from the start of the other's grant.
//!
//! **Source.** client-go, `tools/leaderelection` (the work's context is cancelled before the lease is released, and
//! `ReleaseOnCancel` requires that whatever the lease protects has ended by then); the project's design (work stops
//! within the step that ends the belief).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::ByResource,
    words::{count, duration},
};
use protocols::{
    elector::Deposed,
    history::{FaultKind, Header, NodeState, Phase},
    message::{Write, WriteVerdict},
    types::{Incarnation, NodeId, Resource, USUAL_RESOURCES},
    work::outbox::UNDER_WAY_MAX,
};
use std::collections::{BTreeMap, BTreeSet};

pub const ENTRY: Entry = Entry {
    name: "acts_on_belief",
    about: "Only a node that believes it leads sends writes, and a leader does all of its work.",
    class: Class::Safety,
    only_defects: true,
    new: |header| Box::new(ActsOnBelief::new(header)),
};

struct ActsOnBelief {
    believers: Vec<Believer>,
    /// Nodes that were asked to leave the membership.
    leavers: BTreeSet<NodeId>,
    /// Nodes whose links are too narrow for what they send: a tick may wait in one as long as data does.
    narrow: BTreeSet<NodeId>,
    /// Does the history report beliefs?
    told: bool,
    /// Does the history report seals?
    seals_told: bool,
    /// The header's.
    deferred_commit: bool,
    sent: u64,
    /// The history is a log: `stopped` says since when each node has stopped leading.
    of_log: bool,
    stopped: BTreeMap<NodeId, u64>,
    /// When each node's grant ended, and whether the log reports grants.
    lapsed: BTreeMap<NodeId, u64>,
    grants_told: bool,
    /// The holders of grants and since when; with the first write of another node meanwhile, and its time.
    granted: BTreeMap<NodeId, (u64, Option<(Incarnation, u64)>)>,
    taken: u64,
    /// `schedule`, and how long it may stand still while `sequence` goes on, microseconds.
    idle_max_us: Option<(Resource, u64)>,
    working: Option<Working>,
    violations: Violations<Violation>,
}

/// A node that believes it leads, and the progress of its writes to each resource.
struct Believer {
    incarnation: Incarnation,
    /// The last number sent; 0 if none.
    sent: ByResource<u64>,
    /// The last number that the store has decided on, or the one before the first sent.
    decided: ByResource<u64>,
    /// The resources on which the store has accepted its seal.
    sealed: ByResource<bool>,
    /// When it was asked to resign, or when it woke up after that.
    asked_us: Option<u64>,
}

impl Believer {
    fn new(incarnation: Incarnation) -> Self {
        let (sent, decided, sealed) = Default::default();
        Believer { incarnation, sent, decided, sealed, asked_us: None }
    }

    fn under_way(&self, resource: Resource) -> u64 {
        self.sent.of(resource).saturating_sub(*self.decided.of(resource))
    }

    /// Sends a write; returns how many are then in flight.
    fn sends(&mut self, write: &Write) -> u64 {
        let (sent, decided) = (self.sent.at(write.resource), self.decided.at(write.resource));
        if *sent == 0 {
            *decided = write.seq.saturating_sub(1).max(*decided);
        }
        *sent = write.seq.max(*sent);
        self.under_way(write.resource)
    }

    fn decided(&mut self, write: &Write, verdict: WriteVerdict) {
        // A write that arrived out of turn will be sent again.
        let out_of_turn = matches!(verdict, WriteVerdict::Failed { expected } if expected <= write.seq);
        if !out_of_turn {
            let decided = self.decided.at(write.resource);
            *decided = write.seq.max(*decided);
        }
    }
}

/// The leader whose work is watched.
struct Working {
    incarnation: Incarnation,
    /// Since when `schedule` has stood still while `sequence` went on.
    since_us: u64,
    latest_us: u64,
}

/// How long an order may take to arrive at real processes, microseconds.
const ORDER_US: u64 = 1_000_000;

const SCHEDULE: &str = USUAL_RESOURCES[Resource::SCHEDULE.index()];

/// A longer silence on `sequence` interrupts the watch, microseconds: the store may be away.
const PAUSE_US: u64 = 500_000;

enum Violation {
    Late { incarnation: Incarnation, for_us: u64 },
    Lapsed { incarnation: Incarnation, for_us: u64 },
    Ungranted { incarnation: Incarnation, holder: NodeId },
    Unbelieving(Incarnation),
    Unsealed { incarnation: Incarnation, resource: Resource },
    Idle { incarnation: Incarnation, for_us: u64 },
    LetGo { incarnation: Incarnation, resource: Resource, under_way: u64 },
    GoesOn { incarnation: Incarnation, for_us: u64 },
    TooMany { incarnation: Incarnation, resource: Resource, under_way: u64 },
}

impl ActsOnBelief {
    fn new(header: Option<&Header>) -> Self {
        let schedule = header.filter(|h| h.tick_ms > 0).and_then(|h| Some((h, h.resource(SCHEDULE)?)));
        let idle_max_us = schedule.map(|(h, on)| (on, (h.liveness_bound_ms + 2 * h.tick_ms).saturating_mul(1000)));
        let (believers, leavers, violations) = (Vec::new(), BTreeSet::new(), Violations::default());
        ActsOnBelief {
            believers,
            leavers,
            narrow: BTreeSet::new(),
            // A run reports every belief; a log may not.
            told: header.is_some(),
            seals_told: false,
            deferred_commit: header.is_some_and(|header| header.deferred_commit),
            sent: 0,
            of_log: header.is_none(),
            stopped: BTreeMap::new(),
            lapsed: BTreeMap::new(),
            grants_told: false,
            granted: BTreeMap::new(),
            taken: 0,
            idle_max_us,
            working: None,
            violations,
        }
    }

    fn sent(&mut self, t_us: u64, incarnation: Incarnation, write: &Write) {
        self.sent += 1;
        let (resource, of_log) = (write.resource, self.of_log);
        // A log may give the token only with writes, or only with elections.
        let is_it = |of: Incarnation| of == incarnation || (of_log && of.node == incarnation.node && !of.has_token());
        match self.believers.iter_mut().find(|believer| is_it(believer.incarnation)) {
            None if self.told => self.violations.add(t_us, Violation::Unbelieving(incarnation)),
            None => {}
            Some(believer) => {
                let under_way = believer.sends(write);
                if self.seals_told && !believer.sealed.of(resource) {
                    self.violations.add(t_us, Violation::Unsealed { incarnation, resource });
                }
                if let Some(for_us) = believer.asked_us.map(|asked_us| t_us - asked_us).filter(|us| *us > ORDER_US) {
                    self.violations.add(t_us, Violation::GoesOn { incarnation, for_us });
                }
                if under_way > UNDER_WAY_MAX as u64 {
                    self.violations.add(t_us, Violation::TooMany { incarnation, resource, under_way });
                }
            }
        }
    }

    fn deposed(&mut self, t_us: u64, incarnation: Incarnation, reason: Deposed) {
        let Some(place) = self.believers.iter().position(|b| b.incarnation == incarnation) else { return };
        let believer = self.believers.remove(place);
        let asked = reason == Deposed::Resigned && !self.leavers.contains(&incarnation.node);
        let under_way =
            believer.sent.iter().map(|(resource, _)| resource).find(|resource| believer.under_way(*resource) > 0);
        if let Some(resource) = under_way.filter(|_| asked) {
            let under_way = believer.under_way(resource);
            self.violations.add(t_us, Violation::LetGo { incarnation, resource, under_way });
        }
    }

    fn taken_in_log(&mut self, t_us: u64, incarnation: Incarnation) {
        self.taken += u64::from(self.told || self.grants_told);
        if let Some(for_us) = self.stopped.get(&incarnation.node).map(|stopped_us| t_us - stopped_us) {
            if for_us > ORDER_US {
                self.violations.add(t_us, Violation::Late { incarnation, for_us });
            }
        } else if let Some(for_us) = self.lapsed.get(&incarnation.node).map(|over_us| t_us - over_us)
            && for_us > ORDER_US
        {
            self.violations.add(t_us, Violation::Lapsed { incarnation, for_us });
        }
        let node = incarnation.node;
        if !self.granted.contains_key(&node) && !self.lapsed.contains_key(&node) {
            for (_, by) in self.granted.values_mut().filter(|(since_us, _)| t_us - since_us > ORDER_US) {
                by.get_or_insert((incarnation, t_us));
            }
        }
    }

    /// Takes a grant or its end from a log.
    fn grants(&mut self, event: &Event) {
        match event.kind {
            Kind::Grant { node, .. } => {
                self.grants_told = true;
                self.lapsed.remove(&node);
                let (_, by) = self.granted.entry(node).or_insert((event.t_us, None));
                // A renewal shows that the grant was there all the time.
                if let Some((incarnation, t_us)) = by.take() {
                    self.violations.add(t_us, Violation::Ungranted { incarnation, holder: node });
                }
            }
            Kind::GrantEnd { node, .. } => {
                self.lapsed.insert(node, event.t_us);
                // The grant was there all the time.
                if let Some((incarnation, t_us)) = self.granted.remove(&node).and_then(|(_, by)| by)
                    && t_us < event.t_us
                {
                    self.violations.add(t_us, Violation::Ungranted { incarnation, holder: node });
                }
            }
            _ => {}
        }
    }

    fn accepted(&mut self, t_us: u64, resource: Resource, incarnation: Incarnation) {
        let Some((schedule, idle_max_us)) = self.idle_max_us else { return };
        if self.narrow.contains(&incarnation.node) {
            self.working = None;
            return;
        }
        match &mut self.working {
            Some(working) if working.incarnation == incarnation => {
                let (for_us, paused) = (t_us - working.since_us, t_us - working.latest_us > PAUSE_US);
                working.latest_us = t_us;
                if resource == schedule || paused {
                    working.since_us = t_us;
                } else if for_us > idle_max_us {
                    working.since_us = t_us;
                    self.violations.add(t_us, Violation::Idle { incarnation, for_us });
                }
            }
            // Only the newest leader is watched: an older one's last writes say nothing about its work.
            Some(working) if incarnation < working.incarnation && incarnation.has_token() => {}
            working => *working = Some(Working { incarnation, since_us: t_us, latest_us: t_us }),
        }
    }
}

impl Invariant for ActsOnBelief {
    fn wants(&self) -> Kinds {
        let work = Kinds::SEAL.and(Kinds::ISSUE).and(Kinds::APPLY);
        let work = if self.of_log { work.and(Kinds::GRANT) } else { work };
        Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::NODE).and(Kinds::FAULT).and(work)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => {
                self.told = true;
                self.stopped.remove(&incarnation.node);
                self.believers.retain(|believer| believer.incarnation != *incarnation);
                self.believers.push(Believer::new(*incarnation));
            }
            Kind::Deposed { incarnation, reason } => {
                if self.of_log && self.believers.iter().any(|b| b.incarnation == *incarnation) {
                    self.stopped.insert(incarnation.node, event.t_us);
                }
                self.deposed(event.t_us, *incarnation, *reason);
            }
            Kind::Grant { .. } | Kind::GrantEnd { .. } => self.grants(event),
            Kind::Node { node, state: NodeState::Down | NodeState::Off } => {
                self.believers.retain(|believer| believer.incarnation.node != *node);
            }
            // A paused process resumes where it stopped, and so does its scheduler.
            Kind::Node { node, state: NodeState::Resumed } => {
                self.working = self.working.take().filter(|working| working.incarnation.node != *node);
                for believer in self.believers.iter_mut().filter(|believer| believer.incarnation.node == *node) {
                    believer.asked_us = believer.asked_us.map(|_| event.t_us);
                }
            }
            Kind::Fault(fault) if fault.kind == FaultKind::Bandwidth => match fault.phase {
                Phase::End => self.narrow.retain(|node| !fault.on.contains(node)),
                Phase::Begin | Phase::Once => self.narrow.extend(&fault.on),
            },
            Kind::Fault(fault) if matches!(fault.kind, FaultKind::Resign | FaultKind::Transfer) => {
                // A transfer without a successor is no order.
                let is_order = fault.kind == FaultKind::Resign || !fault.to.is_empty();
                let asked = |node: &NodeId| is_order && fault.on.contains(node);
                for believer in self.believers.iter_mut().filter(|b| asked(&b.incarnation.node)) {
                    believer.asked_us = believer.asked_us.or(Some(event.t_us));
                }
            }
            Kind::Fault(fault) if fault.kind == FaultKind::Leave => self.leavers.extend(&fault.on),
            Kind::Seal { resource, incarnation, accepted, .. } => {
                self.seals_told = !self.deferred_commit;
                // A seal that is refused after it was accepted is a late copy.
                for believer in self.believers.iter_mut().filter(|b| b.incarnation == *incarnation && *accepted) {
                    *believer.sealed.at(*resource) = true;
                }
            }
            Kind::Issue { node, write } => self.sent(event.t_us, write.incarnation(*node), write),
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = write.incarnation(*node);
                if let Some(believer) = self.believers.iter_mut().find(|b| b.incarnation == incarnation) {
                    believer.decided(write, *verdict);
                }
                if *verdict == WriteVerdict::Ok && self.of_log {
                    self.taken_in_log(event.t_us, incarnation);
                }
                if *verdict == WriteVerdict::Ok {
                    self.accepted(event.t_us, write.resource, incarnation);
                }
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|violation| match violation {
            Violation::Unbelieving(incarnation) => {
                format!("{} sent a write without believing that it led", ending.names.incarnation(*incarnation))
            }
            Violation::Late { incarnation, for_us } => {
                let (who, for_us) = (ending.names.incarnation(*incarnation), duration(*for_us as f64));
                format!("a write of {who} was accepted {for_us} after it had stopped leading")
            }
            Violation::Lapsed { incarnation, for_us } => {
                let (who, for_us) = (ending.names.incarnation(*incarnation), duration(*for_us as f64));
                format!("a write of {who} was accepted {for_us} after its grant was over")
            }
            Violation::Ungranted { incarnation, holder } => {
                let (who, holder) = (ending.names.incarnation(*incarnation), ending.names.node(*holder));
                format!(
                    "a write of {who} without a recorded grant was accepted while leadership was granted to {holder}"
                )
            }
            Violation::Unsealed { incarnation, resource } => {
                let (who, resource) = (ending.names.incarnation(*incarnation), ending.names.resource(*resource));
                format!("{who} sent a write to {resource} before the store had accepted its seal")
            }
            Violation::Idle { incarnation, for_us } => {
                let (who, for_us) = (ending.names.incarnation(*incarnation), duration(*for_us as f64));
                format!("{who} had handed out numbers for {for_us} without recording a tick")
            }
            Violation::LetGo { incarnation, resource, under_way } => {
                let (who, writes) = (ending.names.incarnation(*incarnation), count(*under_way, "write"));
                let resource = ending.names.resource(*resource);
                format!("{who} gave up leadership with {writes} to {resource} under way")
            }
            Violation::GoesOn { incarnation, for_us } => {
                let (who, for_us) = (ending.names.incarnation(*incarnation), duration(*for_us as f64));
                format!("{who} sent a write {for_us} after it was asked to give up leadership")
            }
            Violation::TooMany { incarnation, resource, under_way } => {
                let (who, writes) = (ending.names.incarnation(*incarnation), count(*under_way, "write"));
                let resource = ending.names.resource(*resource);
                format!("{who} had {writes} to {resource} under way; at most {UNDER_WAY_MAX} are allowed")
            }
        });
        let holds = violated.is_none();
        // A grant whose duration a log states may end before its holder's write.
        let over = !self.stopped.is_empty() || !self.lapsed.is_empty();
        let detail = violated.unwrap_or_else(|| match self.sent {
            0 if self.taken > 0 && over => {
                format!("{} accepted, none of a node that had stopped leading", count(self.taken, "write")).into()
            }
            0 => "the history does not say when writes were sent".into(),
            sent => format!("{} sent, each by a node that believed it led", count(sent, "write")).into(),
        });
        let could_fail = self.sent > 0 || !holds || (self.taken > 0 && over);
        Finding { holds, could_fail, detail }
    }
}
