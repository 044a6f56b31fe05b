//! What a log without a header leaves to its reader: which leadership a line is about that says neither token nor generation,
//! and when that is over of which a line says how long it lasts.

use super::super::{Event, GrantEnd, Kind, NodeState};
use crate::{
    message::WriteVerdict,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::BTreeMap;

/// A group's node.
type Who = (u16, NodeId);
/// When something is over, and a number that tells apart what is over in one microsecond.
type Due = (u64, u64);

/// What the lines so far have told.
#[derive(Default)]
pub(super) struct Told {
    beliefs: BTreeMap<Who, Belief>,
    generations: BTreeMap<Who, u32>,
    /// Who was elected last, by group.
    elected: BTreeMap<u16, NodeId>,
    grants: BTreeMap<Who, Granted>,
    /// To whom leadership was granted last, by group.
    granted: BTreeMap<u16, NodeId>,
    due: BTreeMap<Due, Event>,
    count: u64,
}

#[derive(Clone, Copy)]
struct Belief {
    incarnation: Incarnation,
    /// Nobody has said that it ended.
    open: bool,
}

#[derive(Clone, Copy)]
struct Granted {
    token: Option<u64>,
    due: Option<Due>,
    /// For how long it was given, microseconds.
    for_us: Option<u64>,
    /// Somebody else has written since.
    another_wrote: bool,
}

/// How long something lasts that a line tells of.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Lasts {
    /// Microseconds, where the line says it.
    pub(super) for_us: Option<u64>,
    /// Others may do the same at the same time.
    pub(super) shared: bool,
}

impl Told {
    /// What is over by then.
    pub(super) fn over_by(&mut self, t_us: u64) -> Vec<Event> {
        let later = self.due.split_off(&(t_us.saturating_add(1), 0));
        let over: Vec<Event> = std::mem::replace(&mut self.due, later).into_values().collect();
        for event in &over {
            self.ended(event);
        }
        over
    }

    /// What is over after the last line, as far as it matters: work, and grants while which somebody else was given one, or
    /// wrote.
    pub(super) fn over_at_last(&mut self) -> Vec<Event> {
        let matters = |event: &Event| match event.kind {
            Kind::GrantEnd { node, .. } => {
                let of_another = |last: &NodeId| *last != node;
                self.granted.get(&event.group).is_some_and(of_another)
                    || self.grants.get(&(event.group, node)).is_some_and(|grant| grant.another_wrote)
            }
            _ => true,
        };
        std::mem::take(&mut self.due).into_values().filter(|event| matters(event)).collect()
    }

    /// A grant without a token that is given anew although, by its own length, it was not over, and another came in between:
    /// it lasted until now.
    pub(super) fn lasted(&mut self, event: &Event) -> Option<Event> {
        let Kind::Grant { node, token: None } = event.kind else { return None };
        let who = (event.group, node);
        let between = self.granted.get(&event.group).is_some_and(|last| *last != node);
        let due = self.grants.get(&who).filter(|grant| grant.token.is_none() && between)?.due?;
        self.grants.remove(&who);
        self.due.remove(&due);
        Some(Event { kind: Kind::GrantEnd { node, token: None, reason: GrantEnd::Expired }, ..*event })
    }

    /// A grant that ended is due no more.
    fn ended(&mut self, event: &Event) {
        if let Kind::GrantEnd { node, .. } = event.kind {
            self.grants.remove(&(event.group, node));
        }
    }

    /// Fills in what a line leaves out; `None` when what it says is told by what it lasts for alone.
    pub(super) fn tell(&mut self, mut event: Event, lasts: Lasts) -> Option<Event> {
        let (t_us, group) = (event.t_us, event.group);
        match &mut event.kind {
            Kind::Elected(incarnation) => self.elected(group, incarnation),
            Kind::Deposed { incarnation, .. } => self.deposed(group, incarnation),
            Kind::Issue { node, write } | Kind::Apply { node, write, .. } => {
                let of = write.incarnation(*node);
                let others = self.grants.iter_mut().filter(|((of, holder), _)| *of == group && holder != node);
                others.for_each(|(_, grant)| grant.another_wrote = true);
                if let Some(belief) = self.beliefs.get(&(group, *node)).filter(|_| !of.is_known()) {
                    (write.token, write.generation) = (belief.incarnation.token, belief.incarnation.generation);
                }
            }
            Kind::Node { node, state: NodeState::Up | NodeState::Down | NodeState::Off } => {
                let of = self.beliefs.iter_mut().filter(|((_, of), _)| of == node);
                of.for_each(|(_, belief)| belief.open = false);
            }
            Kind::Grant { node, token } => self.granted(t_us, group, *node, token, lasts.for_us),
            Kind::GrantEnd { node, token, .. } => {
                if let Some(grant) = self.grants.remove(&(group, *node)) {
                    *token = token.or(grant.token);
                    grant.due.and_then(|due| self.due.remove(&due));
                }
            }
            _ => {}
        }
        // Work that failed was at it for as long.
        if let (
            Kind::Apply { node, write, verdict: WriteVerdict::Ok | WriteVerdict::Failed { .. }, .. },
            Some(for_us),
        ) = (&event.kind, lasts.for_us)
        {
            let (resource, incarnation): (Resource, _) = (write.resource, write.incarnation(*node));
            let work = Kind::Work { resource, incarnation, for_us, shared: lasts.shared };
            self.is_over(Event { t_us: t_us.saturating_add(for_us), group, kind: work });
        }
        (!lasts.shared).then_some(event)
    }

    fn is_over(&mut self, event: Event) -> Due {
        self.count += 1;
        let due = (event.t_us, self.count);
        self.due.insert(due, event);
        due
    }

    fn elected(&mut self, group: u16, incarnation: &mut Incarnation) {
        let who = (group, incarnation.node);
        let known = self.beliefs.get(&who).copied();
        if !incarnation.is_known() {
            let goes_on = known.filter(|belief| belief.open && self.elected.get(&group) == Some(&incarnation.node));
            *incarnation = match goes_on {
                Some(belief) => belief.incarnation,
                None => {
                    let generation = self.generations.entry(who).or_default();
                    *generation += 1;
                    Incarnation { generation: *generation, ..*incarnation }
                }
            };
        } else if !incarnation.has_token() {
            let generation = self.generations.entry(who).or_default();
            *generation = incarnation.generation.max(*generation);
        }
        self.beliefs.insert(who, Belief { incarnation: *incarnation, open: true });
        self.elected.insert(group, incarnation.node);
    }

    /// Whoever stops leading stops all of it, whatever it says of it.
    fn deposed(&mut self, group: u16, incarnation: &mut Incarnation) {
        let Some(belief) = self.beliefs.get_mut(&(group, incarnation.node)) else { return };
        // Raft's leaders step down in a newer term than theirs. An older one is about an earlier leadership.
        let newer = incarnation.fencing_token() > belief.incarnation.fencing_token();
        if !incarnation.is_known() || (belief.open && (!belief.incarnation.has_token() || newer)) {
            *incarnation = belief.incarnation;
        }
        belief.open &= belief.incarnation != *incarnation;
    }

    fn granted(&mut self, t_us: u64, group: u16, node: NodeId, token: &mut Option<u64>, for_us: Option<u64>) {
        let mut for_us = for_us;
        if let Some(before) = self.grants.remove(&(group, node)) {
            before.due.and_then(|due| self.due.remove(&due));
            *token = token.or(before.token);
            // Who renews it without a word of its length has it for as long as before.
            for_us = for_us.or(before.for_us.filter(|_| before.token == *token));
        }
        let kind = Kind::GrantEnd { node, token: *token, reason: GrantEnd::Expired };
        let due = for_us.map(|us| self.is_over(Event { t_us: t_us.saturating_add(us), group, kind }));
        self.grants.insert((group, node), Granted { token: *token, due, for_us, another_wrote: false });
        self.granted.insert(group, node);
    }
}
