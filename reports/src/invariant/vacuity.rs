//! The situation under test arose.
//!
//! **Formula.** Every fact that the header requires was counted at least as often as required. In a log of writes
//! alone, which has no header, writes or seals of at least two incarnations reached one resource: otherwise it does not
//! test leadership. Nor does a log in which nodes without tokens took turns writing, or one that reports only elections
//! and not when the previous leader had stopped.
//!
//! **Could fail** if something was required. Whatever is required, a history in which no other invariant could have
//! failed is inconclusive: [`crate::judge`] ensures that.
//!
//! **Source.** The project's design ("Judging honestly"); vacuity in model checking: Beer et al., "Efficient detection of
//! vacuity in temporal model checking", 2001.

mod of_log;

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds};
use crate::{
    beliefs::Beliefs,
    by_resource::{ByResource, Row},
    contest::Contest,
    effects::Effects,
    freshness::Freshness,
    words::grouped,
    works::{Piece, Works},
};
use protocols::{
    elector::Deposed,
    history::{Fact, FaultEvent, FaultKind, Header, NodeState, Outcome, Phase, Requirement},
    message::{Write, WriteVerdict},
    types::{NodeId, Operation},
};
use std::collections::{BTreeMap, BTreeSet};

pub const ENTRY: Entry = Entry {
    name: "vacuity",
    about: "The situation under test arose; otherwise the run is inconclusive.",
    class: Class::Vacuity,
    only_defects: false,
    new: |header| Box::new(Vacuity::new(header)),
};

struct Vacuity {
    requires: Option<Vec<Requirement>>,
    beliefs: Beliefs,
    effects: Effects,
    works: Works,
    freshness: Freshness,
    paused: BTreeSet<NodeId>,
    down: BTreeSet<NodeId>,
    /// Candidates are the processes below this number.
    candidates: u16,
    /// At some moment every candidate was down.
    outage: bool,
    has_led: BTreeSet<NodeId>,
    /// Partitions in progress, with the nodes that they strike and that have believed since it began.
    cut_off: BTreeMap<u32, CutOff>,
    contest: Contest,
    /// The node that is to win the next election, after a leader was asked to hand over.
    successor: Option<NodeId>,
    accepted: u64,
    refused: u64,
    /// A log without a header has more than writes and seals.
    more: bool,
    /// A log's accepted writes with neither token nor generation.
    unnamed: u64,
    stale: u64,
    stale_enactments: u64,
    stale_deletions: u64,
    stale_refreshes: u64,
    /// Items that have had their external effect.
    had_effect: ByResource<Row>,
    effects_asked: u64,
    effects_again: u64,
    elections: u64,
    elected_while_paused: u64,
    elected_while_cut_off: u64,
    reads_while_cut_off: u64,
    reads_of_replaced: u64,
    writes_while_cut_off: u64,
    lapsed_while_cut_off: u64,
    transfers_won: u64,
    resignations: u64,
    membership_changes: u64,
    kills: u64,
    power_offs: u64,
    restarts: u64,
    restarts_while_cut_off: u64,
    elected_after_outage: u64,
    clock_steps: u64,
    pauses: u64,
    faults: u64,
}

struct CutOff {
    on: Vec<NodeId>,
    believed: BTreeSet<NodeId>,
    /// Nodes that believed when it struck.
    led: BTreeSet<NodeId>,
    /// Has another been elected since?
    replaced: bool,
}

impl Vacuity {
    fn new(header: Option<&Header>) -> Self {
        Vacuity {
            requires: header.map(|h| h.requires.clone()),
            beliefs: Beliefs::new(header),
            effects: Effects::new(header),
            works: Works::default(),
            freshness: Freshness::new(header),
            paused: BTreeSet::new(),
            down: BTreeSet::new(),
            candidates: header.map_or(0, |h| h.candidates),
            outage: false,
            has_led: BTreeSet::new(),
            cut_off: BTreeMap::new(),
            contest: Contest::default(),
            successor: None,
            accepted: 0,
            refused: 0,
            more: false,
            unnamed: 0,
            stale: 0,
            stale_enactments: 0,
            stale_deletions: 0,
            stale_refreshes: 0,
            had_effect: ByResource::default(),
            effects_asked: 0,
            effects_again: 0,
            elections: 0,
            elected_while_paused: 0,
            elected_while_cut_off: 0,
            reads_while_cut_off: 0,
            reads_of_replaced: 0,
            writes_while_cut_off: 0,
            lapsed_while_cut_off: 0,
            transfers_won: 0,
            resignations: 0,
            membership_changes: 0,
            kills: 0,
            power_offs: 0,
            restarts: 0,
            restarts_while_cut_off: 0,
            elected_after_outage: 0,
            clock_steps: 0,
            pauses: 0,
            faults: 0,
        }
    }

    fn elected(&mut self, node: NodeId) {
        self.elections += 1;
        self.elected_after_outage += u64::from(self.outage);
        let others = |nodes: &BTreeSet<NodeId>| nodes.iter().any(|n| *n != node);
        let paused = self.paused.intersection(&self.has_led).any(|n| *n != node);
        self.elected_while_paused += u64::from(paused);
        self.elected_while_cut_off += u64::from(self.cut_off.values().any(|c| others(&c.believed)));
        self.transfers_won += u64::from(self.successor.take() == Some(node));
        self.has_led.insert(node);
        for cut_off in self.cut_off.values_mut() {
            cut_off.replaced |= !cut_off.led.contains(&node);
        }
        for cut_off in self.cut_off.values_mut().filter(|c| c.on.contains(&node)) {
            cut_off.believed.insert(node);
        }
    }

    /// Is a node cut off that believed at the beginning of the partition, or since?
    fn is_cut_off(&self, node: NodeId) -> bool {
        self.cut_off.values().any(|c| c.believed.contains(&node))
    }

    fn deposed(&mut self, node: NodeId, reason: Deposed) {
        match reason {
            Deposed::Resigned => self.resignations += 1,
            Deposed::Expired | Deposed::Lost | Deposed::Fenced | Deposed::Stuck => {
                self.lapsed_while_cut_off += u64::from(self.is_cut_off(node));
            }
        }
    }

    fn fault(&mut self, fault: &FaultEvent) {
        self.faults += u64::from(fault.phase != Phase::End);
        match fault.phase {
            Phase::Begin if fault.kind == FaultKind::Partition => {
                let on = fault.on.clone();
                let led: BTreeSet<_> = on.iter().copied().filter(|n| self.beliefs.of(*n).is_some()).collect();
                self.cut_off.insert(fault.index, CutOff { on, believed: led.clone(), led, replaced: false });
            }
            Phase::Once if fault.kind == FaultKind::ClockStep => self.clock_steps += fault.on.len() as u64,
            Phase::Once if fault.kind == FaultKind::Transfer => self.successor = fault.to.first().copied(),
            Phase::End => {
                self.cut_off.remove(&fault.index);
            }
            _ => {}
        }
    }

    fn read(&mut self, node: NodeId, outcome: Outcome) {
        let mut cut_off = self.cut_off.values().filter(|c| c.led.contains(&node)).peekable();
        let answered = matches!(outcome, Outcome::Ok { .. }) && cut_off.peek().is_some();
        self.reads_while_cut_off += u64::from(answered);
        self.reads_of_replaced += u64::from(outcome != Outcome::Unknown && cut_off.any(|c| c.replaced));
    }

    fn node(&mut self, node: NodeId, state: NodeState) {
        match state {
            NodeState::Paused => {
                self.pauses += 1;
                self.paused.insert(node)
            }
            NodeState::Joined | NodeState::Left => {
                self.membership_changes += 1;
                return;
            }
            _ => self.paused.remove(&node),
        };
        if state == NodeState::Up && self.down.remove(&node) {
            self.restarts += 1;
            let of_another = self.cut_off.values().any(|c| c.believed.iter().any(|n| *n != node));
            self.restarts_while_cut_off += u64::from(node.0 < self.candidates && of_another);
        }
        if matches!(state, NodeState::Down | NodeState::Off) {
            self.down.insert(node);
            self.outage |= (0..self.candidates).all(|n| self.down.contains(&NodeId(n)));
        }
        self.kills += u64::from(matches!(state, NodeState::Down | NodeState::Off));
        self.power_offs += u64::from(state == NodeState::Off);
    }

    fn effect(&mut self, write: &Write, verdict: WriteVerdict) {
        let Some(item) = write.payload.map(|payload| payload.number.get()) else { return };
        let on = self.had_effect.at(write.resource);
        self.effects_asked += 1;
        self.effects_again += u64::from(on.has(item));
        if verdict == WriteVerdict::Ok {
            on.did(item, 0);
        }
    }

    fn counted(&self, fact: Fact) -> u64 {
        match fact {
            Fact::WritesAccepted => self.accepted,
            Fact::Elections => self.elections,
            Fact::LeadersTookEffect => self.effects.incarnations(),
            Fact::LeadersBelieving => self.beliefs.most(),
            Fact::StaleWriteAttempts => self.stale,
            Fact::StaleEnactmentAttempts => self.stale_enactments,
            Fact::StaleDeletionAttempts => self.stale_deletions,
            Fact::StaleRefreshAttempts => self.stale_refreshes,
            Fact::EffectsTried => self.effects_asked,
            Fact::EffectsTriedAgain => self.effects_again,
            Fact::ElectedWhilePaused => self.elected_while_paused,
            Fact::ElectedWhileCutOff => self.elected_while_cut_off,
            Fact::ReadsWhileCutOff => self.reads_while_cut_off,
            Fact::ReadsOfReplacedLeader => self.reads_of_replaced,
            Fact::WritesWhileCutOff => self.writes_while_cut_off,
            Fact::LapsedWhileCutOff => self.lapsed_while_cut_off,
            Fact::ContestedElections => self.contest.contested(),
            Fact::TransfersWon => self.transfers_won,
            Fact::Resignations => self.resignations,
            Fact::MembershipChanges => self.membership_changes,
            Fact::Kills => self.kills,
            Fact::PowerOffs => self.power_offs,
            Fact::Restarts => self.restarts,
            Fact::RestartsWhileCutOff => self.restarts_while_cut_off,
            Fact::ElectedAfterOutage => self.elected_after_outage,
            Fact::ClockSteps => self.clock_steps,
            Fact::Pauses => self.pauses,
            Fact::Faults => self.faults,
        }
    }
}

impl Invariant for Vacuity {
    fn wants(&self) -> Kinds {
        let beliefs = Kinds::CAMPAIGN.and(Kinds::ELECTED).and(Kinds::DEPOSED);
        let sent = if self.requires.is_none() {
            Kinds::ISSUE.and(Kinds::GRANT).and(Kinds::VOTE).and(Kinds::WORK)
        } else {
            Kinds::NONE
        };
        Kinds::APPLY.and(sent).and(Kinds::SEAL).and(beliefs).and(Kinds::FAULT).and(Kinds::NODE).and(Kinds::READ_REPLY)
    }

    fn observe(&mut self, event: &Event) {
        let stale = self.freshness.observe(event);
        self.stale += u64::from(stale);
        if let Kind::Apply { node, write, verdict, .. } = &event.kind {
            match write.operation {
                Operation::Enact => self.stale_enactments += u64::from(stale),
                Operation::Delete => self.stale_deletions += u64::from(stale),
                Operation::Refresh => self.stale_refreshes += u64::from(stale),
                Operation::Effect => self.effect(write, *verdict),
                _ => {}
            }
            let incarnation = write.incarnation(*node);
            match verdict {
                WriteVerdict::Ok => {
                    self.accepted += 1;
                    self.unnamed += u64::from(self.requires.is_none() && !incarnation.is_known());
                    self.writes_while_cut_off += u64::from(self.is_cut_off(*node));
                    self.effects.acted(write.resource, incarnation, event.t_us);
                }
                // A fence did not decide about a write that failed.
                WriteVerdict::Failed { .. } if self.requires.is_none() => self.refused += 1,
                _ => {
                    self.refused += 1;
                    self.effects.tried(write.resource, incarnation);
                }
            }
            if self.requires.is_none() {
                self.beliefs.observe(event);
            }
            return;
        }
        match &event.kind {
            Kind::Seal { resource, incarnation, .. } => self.effects.tried(*resource, *incarnation),
            Kind::Work { resource, incarnation, for_us, shared } => {
                self.more = true;
                self.works.ended(*resource, Piece::ended(*incarnation, event.t_us, *for_us, *shared));
            }
            Kind::Issue { .. } => {}
            _ => self.more = true,
        }
        self.beliefs.observe(event);
        self.contest.observe(event);
        match &event.kind {
            Kind::Elected(incarnation) => self.elected(incarnation.node),
            Kind::Deposed { incarnation, reason } => self.deposed(incarnation.node, *reason),
            Kind::Fault(fault) => self.fault(fault),
            Kind::ReadReply { node, outcome, .. } => self.read(*node, *outcome),
            Kind::Node { node, state } => self.node(*node, *state),
            _ => {}
        }
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let Some(requires) = &self.requires else {
            let (effects, works, beliefs, more) = (&self.effects, &self.works, &self.beliefs, self.more);
            let (writes, accepted, unnamed) = (self.accepted + self.refused, self.accepted, self.unnamed);
            return of_log::Told { effects, works, beliefs, writes, accepted, unnamed, more }.finding(ending);
        };
        let unmet = requires.iter().find(|r| self.counted(r.fact) < r.at_least);
        let detail = match unmet {
            Some(r) => {
                let (least, was) = (grouped(r.at_least), grouped(self.counted(r.fact)));
                format!("{}: at least {least} needed, {was} seen", words(r.fact))
            }
            None if requires.is_empty() => "nothing is required of this run".to_owned(),
            None => {
                let seen = |r: &Requirement| format!("{}: {}", words(r.fact), grouped(self.counted(r.fact)));
                requires.iter().map(seen).collect::<Vec<_>>().join("; ")
            }
        };
        Finding { holds: unmet.is_none(), could_fail: !requires.is_empty(), detail: detail.into() }
    }
}

fn words(fact: Fact) -> &'static str {
    match fact {
        Fact::WritesAccepted => "writes accepted",
        Fact::Elections => "elections",
        Fact::LeadersTookEffect => "leaders that took effect",
        Fact::LeadersBelieving => "nodes that believed at one time",
        Fact::StaleWriteAttempts => "stale writes tried",
        Fact::StaleEnactmentAttempts => "stale enactments tried",
        Fact::StaleDeletionAttempts => "stale deletions tried",
        Fact::StaleRefreshAttempts => "stale refreshes tried",
        Fact::EffectsTried => "external effects requested",
        Fact::EffectsTriedAgain => "external effects requested again",
        Fact::ElectedWhilePaused => "elections while a former leader was paused",
        Fact::ElectedWhileCutOff => "elections while a leader was cut off",
        Fact::ReadsWhileCutOff => "reads that a leader answered while it was cut off",
        Fact::ReadsOfReplacedLeader => "reads sent to a leader that was cut off and had been replaced",
        Fact::WritesWhileCutOff => "writes of leaders that were cut off",
        Fact::LapsedWhileCutOff => "leaders that stopped while they were cut off",
        Fact::ContestedElections => "elections that several candidates stood for",
        Fact::TransfersWon => "elections won by the successor that was named",
        Fact::Resignations => "resignations",
        Fact::MembershipChanges => "members that joined or left",
        Fact::Kills => "processes killed",
        Fact::PowerOffs => "machines that lost power",
        Fact::Restarts => "processes that started again",
        Fact::RestartsWhileCutOff => "candidates that started again while a leader was cut off",
        Fact::ElectedAfterOutage => "elections after every candidate was down",
        Fact::ClockSteps => "wall clocks that were set",
        Fact::Pauses => "processes paused",
        Fact::Faults => "faults",
    }
}
