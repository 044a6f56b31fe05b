//! No node believes that it leads unless it was made leader.
//!
//! **Formula.** If the coordination service's own state is in the history:
//! 1. A node that is elected with a token was granted that token before. Without tokens, it holds a grant or got one
//!    since its last election, though it may have heard of it late.
//! 2. If the service ends a grant because it expired or its holder released it, the holder believes for at most the
//!    header's `dual_belief_bound_us` longer, while it runs, without a break. (A grant that was taken away or lost ends
//!    without its holder's doing; [`super::dual_belief`] judges what follows from that.) Not judged without a bound. In
//!    a log, the holder may report that it stops as late as `--belief-overlap` allows, and at least a second late,
//!    since lines are written late.
//!
//! If votes are in the history instead:
//! 3. A node that is elected with a token had the votes of a majority of the members for it before; its own always
//!    counts. While members come and go, a majority of the smallest membership so far is enough.
//!
//! **Could fail** if somebody was elected. Not applicable if neither grants nor votes are known.
//!
//! **Source.** The project's glossary ("phantom leader": believes that it leads, but owns nothing in the service);
//! Burrows, "The Chubby lock service", OSDI 2006, §2.8 (jeopardy: the client's estimate of its lease is never longer
//! than the service's).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations, not_applicable};
use crate::{
    beliefs::Beliefs,
    words::{Names, count, duration},
};
use protocols::{
    history::{FaultEvent, FaultKind, GrantEnd, Header, NodeState},
    types::{Incarnation, NodeId},
};
use std::collections::{BTreeMap, BTreeSet};

pub const ENTRY: Entry = Entry {
    name: "phantom_leader",
    about: "Nobody believes it leads without a grant from the service or the votes of a majority.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(PhantomLeader::new(header)),
};

/// How long after the end of its grant a node in a log may report that it stops, microseconds: lines are written late.
const NOTICED_US: u64 = 1_000_000;
/// Stands for the start of a run of a node that is paused.
const NOT_NOW: u64 = u64::MAX;

struct PhantomLeader {
    candidates: Option<u16>,
    bound_us: Option<u64>,
    of_log: bool,
    beliefs: Beliefs,
    elections: u64,
    grants: Grants,
    votes: Votes,
    ungranted: Violations<Violation>,
    outlived: Violations<Violation>,
}

/// The service's grants.
#[derive(Default)]
struct Grants {
    count: u64,
    /// The owner of each token.
    owners: BTreeMap<u64, NodeId>,
    /// Without tokens: the holders of grants, and the nodes that got one since their last election.
    holds: BTreeSet<NodeId>,
    unused: BTreeSet<NodeId>,
    /// Beliefs that outlive their grants, and since when the node has run with them.
    over: BTreeMap<NodeId, (u64, GrantEnd)>,
}

impl Grants {
    /// Sets the time from which a belief that outlives its grant counts, or [`NOT_NOW`] for a pause; returns the
    /// previous one.
    fn run_on_from(&mut self, node: NodeId, t_us: u64) -> Option<(u64, GrantEnd)> {
        let over = self.over.get_mut(&node)?;
        let (since_us, why) = *over;
        over.0 = t_us;
        Some((since_us, why))
    }
}

/// The votes given.
#[derive(Default)]
struct Votes {
    count: u64,
    /// The voters for each token and candidate.
    voters: BTreeMap<(u64, NodeId), BTreeSet<NodeId>>,
    /// Elections with their number of votes; judged at the end, when the number of members is known.
    elections: Vec<(u64, Incarnation, usize)>,
    /// Nodes that have been started at all.
    started: BTreeSet<NodeId>,
    /// Nodes that were no members at first: the first event about their membership is that they are to join.
    joiners: BTreeSet<NodeId>,
    /// Nodes that have left, or were asked to.
    gone: BTreeSet<NodeId>,
    /// The number of members relative to the founders, now and at its lowest.
    more: i64,
    fewest: i64,
}

impl Votes {
    fn joined(&mut self, node: NodeId) {
        if !self.gone.remove(&node) {
            self.joiners.insert(node);
        }
        self.more += 1;
    }

    fn left(&mut self, node: NodeId) {
        if self.gone.insert(node) {
            self.more -= 1;
            self.fewest = self.fewest.min(self.more);
        }
    }
}

enum Violation {
    Ungranted { elected: Incarnation, owner: Option<NodeId> },
    Outlived { node: NodeId, us: u64, why: GrantEnd },
    Unvoted { elected: Incarnation, votes: usize, needed: usize },
}

impl PhantomLeader {
    fn new(header: Option<&Header>) -> Self {
        PhantomLeader {
            candidates: header.map(|h| h.candidates),
            bound_us: header.map_or(Some(NOTICED_US), |h| h.dual_belief_bound_us),
            of_log: header.is_none(),
            beliefs: Beliefs::default(),
            elections: 0,
            grants: Grants::default(),
            votes: Votes::default(),
            ungranted: Violations::default(),
            outlived: Violations::default(),
        }
    }

    fn elected(&mut self, t_us: u64, elected: Incarnation) {
        self.elections += 1;
        self.run_on_ends(t_us, elected.node);
        let Incarnation { token, node, .. } = elected;
        let unused = self.grants.unused.remove(&node);
        let owner = self.grants.owners.get(&token).copied().filter(|_| elected.has_token());
        // What a service grants may have no token, and its holder another one of its own.
        let granted = match elected.has_token() && !self.grants.owners.is_empty() {
            false => unused || self.grants.holds.contains(&node),
            true => owner == Some(node),
        };
        if !granted {
            self.ungranted.add(t_us, Violation::Ungranted { elected, owner });
        }
        let voters = self.votes.voters.get(&(token, node));
        // A candidate votes for itself.
        let votes = voters.map_or(0, |v| v.iter().filter(|voter| **voter != node).count()) + 1;
        self.votes.elections.push((t_us, elected, votes));
    }

    fn granted(&mut self, t_us: u64, node: NodeId, token: Option<u64>) {
        self.grants.count += 1;
        if self.beliefs.of(node).is_some_and(|belief| token.is_none() || belief.fencing_token() == token) {
            self.run_on_ends(t_us, node);
        }
        match token {
            None => {
                self.grants.holds.insert(node);
                self.grants.unused.insert(node);
            }
            // A token that is given twice violates `elections`; the first owner keeps it.
            Some(token) => {
                self.grants.owners.entry(token).or_insert(node);
            }
        }
    }

    fn grant_ended(&mut self, t_us: u64, node: NodeId, token: Option<u64>, why: GrantEnd) {
        self.grants.holds.remove(&node);
        let believes = self.beliefs.of(node).is_some_and(|belief| token.is_none() || belief.fencing_token() == token);
        if believes && matches!(why, GrantEnd::Expired | GrantEnd::Released) {
            let runs = self.beliefs.awake().any(|belief| belief.node == node);
            self.grants.over.insert(node, (if runs { t_us } else { NOT_NOW }, why));
        }
    }

    /// Ends the interval in which a node ran with a belief that its grant no longer covers.
    fn run_on_ends(&mut self, t_us: u64, node: NodeId) {
        // In a log, only a report that the node stops shows that it believed until then.
        if let Some((since_us, why)) = self.grants.over.remove(&node).filter(|_| !self.of_log) {
            self.outlived(t_us, node, since_us, why);
        }
    }

    fn deposed(&mut self, t_us: u64, node: NodeId) {
        if let Some((since_us, why)) = self.grants.over.remove(&node) {
            self.outlived(t_us, node, since_us, why);
        }
    }

    fn outlived(&mut self, t_us: u64, node: NodeId, since_us: u64, why: GrantEnd) {
        let us = t_us.saturating_sub(since_us);
        if self.bound_us.is_some_and(|bound_us| us > bound_us) {
            self.outlived.add(since_us, Violation::Outlived { node, us, why });
        }
    }

    fn node(&mut self, t_us: u64, node: NodeId, state: NodeState) {
        match state {
            NodeState::Up => {
                self.votes.started.insert(node);
                self.run_on_ends(t_us, node);
            }
            NodeState::Down | NodeState::Off => self.run_on_ends(t_us, node),
            NodeState::Paused => {
                if let Some((since_us, why)) = self.grants.run_on_from(node, NOT_NOW) {
                    self.outlived(t_us, node, since_us, why);
                }
            }
            NodeState::Resumed => {
                self.grants.run_on_from(node, t_us);
            }
            NodeState::Joined => self.votes.joined(node),
            NodeState::Left => self.votes.left(node),
        }
    }

    fn fault(&mut self, fault: &FaultEvent) {
        match fault.kind {
            FaultKind::Join => {
                let founders = fault.on.iter().filter(|node| !self.votes.gone.contains(node));
                self.votes.joiners.extend(founders);
            }
            // It may be no member any more, with nobody left to report that.
            FaultKind::Leave => fault.on.iter().for_each(|node| self.votes.left(*node)),
            _ => {}
        }
    }

    /// How many votes are enough; `None` if that is unknown.
    fn majority(&self) -> Option<usize> {
        let all = (0..self.candidates?).map(NodeId);
        let Votes { started, joiners, fewest, .. } = &self.votes;
        let founders = all.filter(|n| !joiners.contains(n) && (started.is_empty() || started.contains(n))).count();
        Some(usize::try_from(founders as i64 + fewest).unwrap_or(0) / 2 + 1)
    }

    fn unvoted(&self) -> Violations<Violation> {
        let mut unvoted = Violations::default();
        if let (Some(needed), true) = (self.majority(), self.votes.count > 0) {
            for (t_us, elected, votes) in self.votes.elections.iter().copied().filter(|e| e.2 < needed) {
                unvoted.add(t_us, Violation::Unvoted { elected, votes, needed });
            }
        }
        unvoted
    }
}

impl Invariant for PhantomLeader {
    fn allow_overlap(&mut self, us: u64) {
        if self.of_log {
            self.bound_us = Some(us.max(NOTICED_US));
        }
    }

    fn wants(&self) -> Kinds {
        Kinds::ELECTED.and(Kinds::DEPOSED).and(Kinds::NODE).and(Kinds::FAULT).and(Kinds::GRANT).and(Kinds::VOTE)
    }

    fn observe(&mut self, event: &Event) {
        let t_us = event.t_us;
        match &event.kind {
            Kind::Elected(incarnation) => self.elected(t_us, *incarnation),
            Kind::Deposed { incarnation, .. } => self.deposed(t_us, incarnation.node),
            Kind::Grant { node, token } => self.granted(t_us, *node, *token),
            Kind::GrantEnd { node, token, reason } => self.grant_ended(t_us, *node, *token, *reason),
            Kind::Vote { voter, candidate, token } => {
                self.votes.count += 1;
                self.votes.voters.entry((*token, *candidate)).or_default().insert(*voter);
            }
            Kind::Node { node, state } => self.node(t_us, *node, *state),
            Kind::Fault(fault) => self.fault(fault),
            _ => {}
        }
        self.beliefs.observe(event);
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        let of_service = [&self.ungranted, &self.outlived].into_iter().filter(|_| self.grants.count > 0);
        of_service.chain([&self.unvoted()]).filter_map(Violations::first_us).min()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let (grants, votes) = (self.grants.count, self.votes.count);
        if grants + votes == 0 {
            return not_applicable("the history does not say who was granted leadership, or voted for");
        }
        // In a log, nobody reported that these believed until now.
        let over = if self.of_log { BTreeMap::new() } else { std::mem::take(&mut self.grants.over) };
        for (node, (since_us, why)) in over {
            self.outlived(ending.t_us, node, since_us, why);
        }
        let unvoted = self.unvoted();
        let (ungranted, none) = (&self.ungranted, Violations::default());
        let of_service = [if grants > 0 { ungranted } else { &none }, &self.outlived, &unvoted];
        let first = of_service.into_iter().filter(|v| v.count > 0).min_by_key(|v| v.first.as_ref().map(|f| f.0));
        let violated = first.and_then(|v| v.sentence(|v| say(v, ending.names)));
        let elections = count(self.elections, "election");
        let seen = match votes {
            0 => format!("{elections}, each granted by the service before"),
            _ => format!("{elections}, each by the votes of a majority"),
        };
        Finding { holds: violated.is_none(), could_fail: self.elections > 0, detail: violated.unwrap_or(seen.into()) }
    }
}

fn say(violation: &Violation, names: &Names) -> String {
    match violation {
        Violation::Ungranted { elected, owner: Some(owner) } => {
            let (who, owner) = (names.node(elected.node), names.node(*owner));
            format!("{who} believes with token {}, which the service had granted to {owner}", elected.token)
        }
        Violation::Ungranted { elected, owner: None } => {
            format!("{} believes it leads, but the service never granted it leadership", names.incarnation(*elected))
        }
        Violation::Outlived { node, us, why } => {
            let over = match why {
                GrantEnd::Released => "it gave up its grant",
                _ => "its grant had ended in the service",
            };
            format!("{over}, and {} went on believing for {}", names.node(*node), duration(*us as f64))
        }
        Violation::Unvoted { elected, votes, needed } => {
            let (who, votes) = (names.incarnation(*elected), count(*votes as u64, "vote"));
            format!("{who} believes with {votes}, its own included; a majority is {needed}")
        }
    }
}
