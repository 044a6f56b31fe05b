//! Who believed, who was granted leadership, and which beliefs outlived their grounds.

use super::{
    ends::{Ended, GrantEnded, Grounds, Outlived},
    model::{Belief, Grant, Named},
};
use crate::words::Names;
use protocols::{
    history::{Event, GrantEnd, Kind, NodeState},
    types::{Incarnation, NodeId},
};
use std::collections::BTreeMap;

/// Folds elections, depositions and grants.
#[derive(Debug, Default)]
pub(super) struct Leaderships {
    numbers: BTreeMap<Incarnation, usize>,
    /// Caches the last lookup: consecutive writes usually belong to one leadership.
    latest: Option<(Incarnation, usize)>,
    pub(super) all: Vec<Incarnation>,
    pub(super) beliefs: Vec<Belief>,
    pub(super) grants: Vec<Grant>,
    /// The places of those that have not ended: a log may have a million that have.
    open_beliefs: Vec<usize>,
    open_grants: Vec<usize>,
    /// The current event's place in the history.
    place: u64,
}

/// How long an accepted write may have been in flight, microseconds.
const UNDER_WAY_US: u64 = 1_000_000;

/// Is `one` a newer leadership than `other`, which was elected earlier?
fn is_newer(one: Incarnation, other: Incarnation) -> bool {
    if one.has_token() && other.has_token() { one.token > other.token } else { true }
}

/// A token as text; empty without one.
fn text_of(token: Option<u64>) -> String {
    token.map_or_else(String::new, |token| token.to_string())
}

impl Leaderships {
    /// The index of a leadership, in order of first appearance.
    pub(super) fn number(&mut self, incarnation: Incarnation) -> usize {
        if let Some((_, number)) = self.latest.filter(|(latest, _)| *latest == incarnation) {
            return number;
        }
        let number = *self.numbers.entry(incarnation).or_insert_with(|| {
            self.all.push(incarnation);
            self.all.len() - 1
        });
        self.latest = Some((incarnation, number));
        number
    }

    /// The current beliefs, by their leaderships' indices.
    pub(super) fn believing(&self) -> impl Iterator<Item = usize> {
        self.open_beliefs.iter().map(|place| &self.beliefs[*place]).filter(|belief| belief.open).map(|belief| belief.i)
    }

    /// Takes the event at `place` in the history.
    pub(super) fn observe(&mut self, event: &Event, place: u64) {
        self.place = place;
        let t_us = event.t_us;
        match &event.kind {
            Kind::Elected(incarnation) => self.elected(t_us, *incarnation),
            Kind::Deposed { incarnation, reason } => {
                let i = self.number(*incarnation);
                self.end(t_us, Ended::Deposed(*reason), |belief, _| belief == i);
            }
            // A killed process records no deposition; a fresh one holds no belief.
            Kind::Node { node, state: NodeState::Up | NodeState::Down | NodeState::Off } => {
                self.end(t_us, Ended::Died, |_, of| of == *node);
            }
            Kind::Grant { node, token } => self.granted(t_us, *node, *token),
            Kind::GrantEnd { node, token, reason } => self.grant_ended(t_us, *node, *token, *reason),
            _ => {}
        }
    }

    fn elected(&mut self, t_us: u64, incarnation: Incarnation) {
        let i = self.number(incarnation);
        // A second election with the same leadership continues it.
        if self.believing().any(|belief| belief == i) {
            // In a log, this shows that it had not stopped; `to` of an open belief is the last time at which it is
            // known to last.
            self.goes_on(t_us, incarnation);
            return;
        }
        self.end(t_us, Ended::Anew, |_, of| of == incarnation.node);
        let (mut outlived, place) = (None, self.place);
        for open in &self.open_beliefs {
            let belief = &mut self.beliefs[*open];
            belief.replaced.get_or_insert(place);
            let other = self.all[belief.i];
            if is_newer(incarnation, other) {
                belief.outlived.get_or_insert(Outlived { t: t_us, why: Grounds::Replaced });
            } else {
                outlived = Some(Outlived { t: t_us, why: Grounds::Late });
            }
        }
        let (granted, places) = (self.is_granted(incarnation), (self.place, u64::MAX));
        self.open_beliefs.push(self.beliefs.len());
        self.beliefs.push(Belief {
            i,
            from: t_us,
            to: t_us,
            why: None,
            outlived,
            open: true,
            granted,
            replaced: None,
            places,
        });
    }

    /// Had the service ever granted it? Without a token, each grant covers one belief.
    fn is_granted(&self, incarnation: Incarnation) -> bool {
        let (token, node) = (incarnation.fencing_token(), incarnation.node);
        let before = self.beliefs.iter().rfind(|b| self.all[b.i].node == node).map(|b| b.from);
        let unused = |grant: &Grant| grant.open || before.is_none_or(|before| grant.from > before);
        // The latest first, which it usually is.
        self.grants
            .iter()
            .rev()
            .any(|g| g.node == node.0 && if token.is_none() { unused(g) } else { g.number == token })
    }

    fn end(&mut self, t_us: u64, why: Ended, whose: impl Fn(usize, NodeId) -> bool) {
        let (all, place, beliefs) = (&self.all, self.place, &mut self.beliefs);
        self.open_beliefs.retain(|open| {
            let belief = &mut beliefs[*open];
            if whose(belief.i, all[belief.i].node) {
                (belief.to, belief.why, belief.open) = (t_us, Some(why), false);
                belief.places.1 = place;
            }
            belief.open
        });
    }

    fn granted(&mut self, t_us: u64, node: NodeId, token: Option<u64>) {
        let is_it = |open: &usize| (self.grants[*open].node, self.grants[*open].number) == (node.0, token);
        if self.open_grants.iter().any(is_it) {
            return;
        }
        let token_text = text_of(token);
        let grant = Grant {
            i: None,
            node: node.0,
            token: token_text,
            from: t_us,
            to: t_us,
            why: None,
            number: token,
            open: true,
            places: (self.place, u64::MAX),
        };
        self.open_grants.push(self.grants.len());
        self.grants.push(grant);
    }

    fn grant_ended(&mut self, t_us: u64, node: NodeId, token: Option<u64>, reason: GrantEnd) {
        let (why, place) = (GrantEnded(reason), self.place);
        let grants = &mut self.grants;
        self.open_grants.retain(|open| {
            let grant = &mut grants[*open];
            if (grant.node, grant.number) == (node.0, token) {
                (grant.to, grant.why, grant.open, grant.places.1) = (t_us, Some(why), false, place);
            }
            grant.open
        });
        for open in &self.open_beliefs {
            let belief = &mut self.beliefs[*open];
            if (self.all[belief.i].node, self.all[belief.i].fencing_token()) == (node, token) {
                belief.outlived.get_or_insert(Outlived { t: t_us, why: Grounds::Grant(why) });
            }
        }
    }

    /// In a log: the node sent something, so it has not stopped.
    pub(super) fn goes_on(&mut self, t_us: u64, incarnation: Incarnation) {
        let i = self.number(incarnation);
        for open in &self.open_beliefs {
            let belief = &mut self.beliefs[*open];
            if belief.i == i {
                belief.to = t_us;
            }
        }
    }

    /// In a log that does not report a belief's end, the belief is drawn until another is elected, or until its last
    /// accepted write after that, which `acted` gives.
    pub(super) fn leave_open(&mut self, acted: impl Fn(usize) -> Option<u64>) {
        for belief in self.beliefs.iter_mut().filter(|b| b.open || b.why == Some(Ended::Anew)) {
            if let Some(Outlived { t: replaced_us, .. }) = belief.outlived {
                if !belief.open {
                    let acted_us = acted(belief.i).filter(|acted_us| *acted_us > replaced_us + UNDER_WAY_US);
                    belief.to = acted_us.unwrap_or(replaced_us);
                    continue;
                }
                let again_us = Some(belief.to).filter(|again_us| *again_us > replaced_us);
                let acted_us = acted(belief.i).filter(|acted_us| *acted_us > replaced_us + UNDER_WAY_US).max(again_us);
                belief.to = acted_us.unwrap_or(replaced_us);
                (belief.open, belief.why) = (false, Some(Ended::Unsaid));
                belief.outlived = belief.outlived.take().filter(|_| acted_us.is_some());
            }
        }
    }

    /// Ends the history at `t_us`, and finds the leadership that came of each grant.
    pub(super) fn finish(&mut self, t_us: u64) {
        self.beliefs.iter_mut().filter(|b| b.open).for_each(|b| b.to = t_us);
        self.grants.iter_mut().filter(|g| g.open).for_each(|g| g.to = t_us);
        // Without grants, votes decide, or nothing does.
        if !self.grants.is_empty() {
            for belief in self.beliefs.iter_mut().filter(|b| !b.granted) {
                belief.outlived = Some(Outlived { t: belief.from, why: Grounds::NeverGranted });
            }
        }
        let (all, beliefs) = (&self.all, &self.beliefs);
        for grant in &mut self.grants {
            let came = |b: &&Belief| {
                (all[b.i].node.0, all[b.i].fencing_token()) == (grant.node, grant.number)
                    && b.from >= grant.from
                    && b.from <= grant.to
            };
            grant.i = beliefs.iter().find(came).map(|belief| belief.i);
        }
    }

    /// The labels and names of all leaderships.
    pub(super) fn named(&self, names: &Names) -> Vec<Named> {
        let named = |incarnation: &Incarnation| {
            let (token, generation) = (incarnation.fencing_token(), incarnation.elections());
            let label = match (token, generation) {
                (Some(token), _) => format!("token {token}"),
                (None, 0) => "no token".to_owned(),
                (None, _) => format!("generation {}", generation & 0xffff),
            };
            let (incarnation, who) = (*incarnation, names.incarnation(*incarnation));
            Named { node: incarnation.node.0, token: text_of(token), generation, label, incarnation, who }
        };
        self.all.iter().map(named).collect()
    }
}
