//! A token is given once, to one incarnation, and tokens only rise.
//!
//! **Formula.** For protocols with tokens:
//! 1. *One owner.* No two incarnations are elected with the same token.
//! 2. *Grants rise.* Every grant of the coordination service has a higher token than all before it.
//! 3. *Votes rise.* A voter votes for one candidate per token, and never for a lower token than before, even across
//!    restarts, if votes are written to disk before they are given.
//! 4. *Elections rise.* If neither grants nor votes are known, an election has a higher token than all before it. If
//!    they are known, the order in which tokens were *given* counts, which rules 2 and 3 check: a winner may hear of
//!    its token late, when a successor has already been elected. Raft, KRaft and ZAB allow that.
//!
//! 5. *Grants do not overlap*, in a log: leadership is not granted to another node before the previous grant has ended,
//!    by what the log says of its end or duration. The same grant again is a renewal.
//!
//! **Could fail** if there were two elections, two grants (without tokens: two grants to different nodes, with the end
//! of the first reported), or two votes of one voter. Not applicable to protocols without tokens.
//!
//! **Source.** Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, §5.2 (Election Safety);
//! Burrows, "The Chubby lock service", OSDI 2006, §2.4 (sequencers).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations, not_applicable};
use crate::{
    said::{At, Sentence, sentence},
    words::{Names, count},
};
use protocols::{
    history::Header,
    types::{Incarnation, NodeId},
};
use std::collections::BTreeMap;

pub const ENTRY: Entry = Entry {
    name: "elections",
    about: "A token is granted once, to one incarnation; tokens of grants, votes and elections only rise.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(Elections::new(header)),
};

struct Elections {
    tokened: bool,
    /// The incarnation elected with each token.
    owners: BTreeMap<u64, Incarnation>,
    highest_elected: Option<Incarnation>,
    granted: Option<(u64, NodeId)>,
    grants: u64,
    /// For a log: grants that have not ended.
    held: Option<Vec<Held>>,
    /// How often the end of a grant was reported before another node's grant.
    handed_over: u64,
    /// The holder of the last grant.
    holder: Option<NodeId>,
    /// The last vote of each voter.
    votes: BTreeMap<NodeId, (u64, NodeId)>,
    voted: u64,
    second_votes: u64,
    /// Elections out of order count only if the order in which tokens were given is unknown.
    out_of_order: Violations<Violation>,
    violations: Violations<Violation>,
}

/// A grant that has not ended, and the next node that leadership was granted to, with the time.
#[derive(Clone, Copy)]
struct Held {
    node: NodeId,
    token: Option<u64>,
    followed: Option<(NodeId, u64)>,
}

enum Violation {
    Overlap { of: NodeId, by: NodeId, until_us: u64 },
    TwoOwners { before: Incarnation, after: Incarnation },
    GrantFellBack { before: (u64, NodeId), after: (u64, NodeId) },
    VotedTwice { voter: NodeId, token: u64, before: NodeId, after: NodeId },
    VoteFellBack { voter: NodeId, before: (u64, NodeId), after: (u64, NodeId) },
    FellBack { before: Incarnation, after: Incarnation },
}

impl Elections {
    fn new(header: Option<&Header>) -> Self {
        Elections {
            tokened: header.is_none_or(|h| h.tokened),
            owners: BTreeMap::new(),
            highest_elected: None,
            granted: None,
            grants: 0,
            held: header.is_none().then(Vec::new),
            handed_over: 0,
            holder: None,
            votes: BTreeMap::new(),
            voted: 0,
            second_votes: 0,
            out_of_order: Violations::default(),
            violations: Violations::default(),
        }
    }

    fn elected(&mut self, t_us: u64, after: Incarnation) {
        if !after.has_token() {
            return;
        }
        let before = *self.owners.entry(after.token).or_insert(after);
        if before != after {
            self.violations.add(t_us, Violation::TwoOwners { before, after });
        }
        match self.highest_elected {
            Some(before) if before.token > after.token => {
                self.out_of_order.add(t_us, Violation::FellBack { before, after });
            }
            _ => self.highest_elected = Some(after),
        }
    }

    fn granted(&mut self, t_us: u64, node: NodeId, token: Option<u64>) {
        let renewed = self.held_by(t_us, node, token);
        let Some(token) = token.filter(|token| !(renewed && self.granted == Some((*token, node)))) else { return };
        self.grants += 1;
        match self.granted {
            Some(before) if before.0 >= token => {
                self.violations.add(t_us, Violation::GrantFellBack { before, after: (token, node) });
            }
            _ => self.granted = Some((token, node)),
        }
    }

    /// Takes a grant from a log; true if it continues the node's previous grant.
    fn held_by(&mut self, t_us: u64, node: NodeId, token: Option<u64>) -> bool {
        let Some(held) = &mut self.held else { return false };
        let known = held.iter().position(|held| held.node == node && held.token == token);
        if let (Some(place), Some(_)) = (known, token) {
            // Since tokens are unique, the previous grant lasted until now.
            let before = std::mem::replace(&mut held[place], Held { node, token, followed: None });
            self.went_on(t_us, before);
            return true;
        }
        let goes_on = known.is_some_and(|place| held[place].followed.is_none());
        held.retain(|held| held.node != node);
        for other in held.iter_mut() {
            other.followed.get_or_insert((node, t_us));
        }
        held.push(Held { node, token, followed: None });
        if self.holder.is_some_and(|holder| holder != node) && held.len() == 1 {
            self.handed_over += 1;
        }
        self.holder = Some(node);
        goes_on
    }

    /// In a log, a grant lasted until now.
    fn went_on(&mut self, t_us: u64, Held { node, followed, .. }: Held) {
        let Some((by, from_us)) = followed else { return };
        self.handed_over += 1;
        if t_us > from_us {
            self.violations.add(from_us, Violation::Overlap { of: node, by, until_us: t_us });
        }
    }

    fn grant_ended(&mut self, t_us: u64, node: NodeId, token: Option<u64>) {
        let Some(held) = &mut self.held else { return };
        let Some(place) = held.iter().position(|held| held.node == node && (token.is_none() || held.token == token))
        else {
            return;
        };
        let ended = held.swap_remove(place);
        self.went_on(t_us, ended);
    }

    fn voted(&mut self, t_us: u64, voter: NodeId, candidate: NodeId, token: u64) {
        self.voted += 1;
        let after = (token, candidate);
        if let Some(before) = self.votes.insert(voter, after) {
            self.second_votes += 1;
            if before.0 > token {
                self.votes.insert(voter, before);
                self.violations.add(t_us, Violation::VoteFellBack { voter, before, after });
            } else if before.0 == token && before.1 != candidate {
                let (before, after) = (before.1, candidate);
                self.violations.add(t_us, Violation::VotedTwice { voter, token, before, after });
            }
        }
    }

    fn seen(&self) -> String {
        let mut seen = vec![format!("{} with a token", count(self.owners.len() as u64, "election"))];
        if self.handed_over > 0 {
            seen.push(format!("{} after the grant before had ended", count(self.handed_over, "grant")));
        }
        if self.grants > 0 {
            seen.push(count(self.grants, "grant"));
        }
        if self.voted > 0 {
            seen.push(format!("{} of {}", count(self.voted, "vote"), count(self.votes.len() as u64, "voter")));
        }
        format!("{}: rising, one owner each", seen.join(", "))
    }
}

impl Invariant for Elections {
    fn wants(&self) -> Kinds {
        Kinds::ELECTED.and(Kinds::GRANT).and(Kinds::VOTE)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Elected(incarnation) => self.elected(event.t_us, *incarnation),
            Kind::Grant { node, token } => self.granted(event.t_us, *node, *token),
            Kind::GrantEnd { node, token, .. } => self.grant_ended(event.t_us, *node, *token),
            Kind::Vote { voter, candidate, token } => self.voted(event.t_us, *voter, *candidate, *token),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us().or(self.out_of_order.first_us())
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        if !self.tokened {
            return not_applicable("the protocol has no token");
        }
        if self.owners.is_empty() && self.grants + self.voted + self.handed_over == 0 {
            return not_applicable("the history has no election with a token");
        }
        let order_is_known = self.grants + self.voted > 0;
        let out_of_order = self.out_of_order.sentence(|v| say(v, ending.names)).filter(|_| !order_is_known);
        let violated = self.violations.sentence(|v| say(v, ending.names)).or(out_of_order);
        let could_fail =
            self.owners.len() > 1 || self.grants > 1 || self.second_votes + self.handed_over > 0 || violated.is_some();
        Finding { holds: violated.is_none(), could_fail, detail: violated.unwrap_or_else(|| self.seen().into()) }
    }
}

fn say(violation: &Violation, names: &Names) -> Sentence {
    let name = |node: &NodeId| names.node(*node).into_owned();
    let text = match violation {
        Violation::Overlap { of, by, until_us } => {
            let (of, by) = (name(of), name(by));
            let text = format!("leadership is granted to {by}, while the grant to {of} lasts until ");
            return sentence![text, At(*until_us)];
        }
        Violation::TwoOwners { before, after } if before.node == after.node => {
            let (who, token) = (name(&after.node), after.token);
            format!(
                "{who} is elected with token {token} for the second time (generations {} and {})",
                before.elections(),
                after.elections()
            )
        }
        Violation::TwoOwners { before, after } => {
            let (who, token, owner) = (name(&after.node), after.token, name(&before.node));
            format!("{who} is elected with token {token}, which {owner} was elected with before")
        }
        Violation::GrantFellBack { before, after } => {
            let [before_name, after_name] = [before.1, after.1].map(|node| name(&node));
            let (before, after) = (before.0, after.0);
            format!("the service grants token {after} to {after_name}, after token {before} to {before_name}")
        }
        Violation::VotedTwice { voter, token, before, after } => {
            let [voter, before, after] = [voter, before, after].map(name);
            format!("{voter} votes for {after} with token {token}, having voted for {before} with it")
        }
        Violation::VoteFellBack { voter, before, after } => {
            let [voter_name, before_name, after_name] = [*voter, before.1, after.1].map(|node| name(&node));
            let (before, after) = (before.0, after.0);
            format!("{voter_name} votes for {after_name} with token {after}, after token {before} for {before_name}")
        }
        Violation::FellBack { before, after } => {
            let [before, after] = [before, after].map(|i| names.incarnation(*i));
            format!("{after} is elected after {before}")
        }
    };
    text.into()
}
