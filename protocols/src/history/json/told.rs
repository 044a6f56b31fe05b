//! What the reader infers from a log without a header: the leadership of a line without token and generation, and the
//! end of what has a duration.

use super::super::{Event, GrantEnd, Kind, NodeState};
use crate::{
    message::WriteVerdict,
    types::{Incarnation, NodeId, Resource},
};
use std::collections::BTreeMap;

/// A node within a group.
type Who = (u16, NodeId);
/// An end time, and a number to tell apart ends within the same microsecond.
type Due = (u64, u64);

/// The state inferred from the lines so far.
#[derive(Default)]
pub(super) struct Told {
    beliefs: BTreeMap<Who, Belief>,
    generations: BTreeMap<Who, u32>,
    /// The node last elected, by group.
    elected: BTreeMap<u16, NodeId>,
    grants: BTreeMap<Who, Granted>,
    /// The node last granted leadership, by group.
    granted: BTreeMap<u16, NodeId>,
    due: BTreeMap<Due, Event>,
    count: u64,
}

#[derive(Clone, Copy)]
struct Belief {
    incarnation: Incarnation,
    /// Whether its end has not been logged yet.
    open: bool,
}

#[derive(Clone, Copy)]
struct Granted {
    token: Option<u64>,
    due: Option<Due>,
    /// The grant's duration, microseconds.
    for_us: Option<u64>,
    /// Whether another node has written since.
    another_wrote: bool,
}

/// A line's duration.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Lasts {
    /// Microseconds, if the line gives them.
    pub(super) for_us: Option<u64>,
    /// Whether others may do the same at the same time.
    pub(super) shared: bool,
}

impl Told {
    /// The ends due by `t_us`.
    pub(super) fn over_by(&mut self, t_us: u64) -> Vec<Event> {
        let later = self.due.split_off(&(t_us.saturating_add(1), 0));
        let over: Vec<Event> = std::mem::replace(&mut self.due, later).into_values().collect();
        for event in &over {
            self.ended(event);
        }
        over
    }

    /// The ends due after the last line that matter: of work, and of grants during which another node got a grant or
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

    /// The end, by now, of a grant without a token that is renewed before its nominal end, although another grant came
    /// in between.
    pub(super) fn lasted(&mut self, event: &Event) -> Option<Event> {
        let Kind::Grant { node, token: None } = event.kind else { return None };
        let who = (event.group, node);
        let between = self.granted.get(&event.group).is_some_and(|last| *last != node);
        let due = self.grants.get(&who).filter(|grant| grant.token.is_none() && between)?.due?;
        self.grants.remove(&who);
        self.due.remove(&due);
        Some(Event { kind: Kind::GrantEnd { node, token: None, reason: GrantEnd::Expired }, ..*event })
    }

    /// Cancels the due end of a grant whose end was logged.
    fn ended(&mut self, event: &Event) {
        if let Kind::GrantEnd { node, .. } = event.kind {
            self.grants.remove(&(event.group, node));
        }
    }

    /// Fills in a line's omissions; `None` if its duration already tells everything.
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
        // Failed work took its time as well.
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

    /// A node that stops leading ends all its leaderships, whatever the line says.
    fn deposed(&mut self, group: u16, incarnation: &mut Incarnation) {
        let Some(belief) = self.beliefs.get_mut(&(group, incarnation.node)) else { return };
        // Raft leaders step down in a newer term than their own. An older one refers to an earlier leadership.
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
            // A renewal without a duration keeps the earlier one.
            for_us = for_us.or(before.for_us.filter(|_| before.token == *token));
        }
        let kind = Kind::GrantEnd { node, token: *token, reason: GrantEnd::Expired };
        let due = for_us.map(|us| self.is_over(Event { t_us: t_us.saturating_add(us), group, kind }));
        self.grants.insert((group, node), Granted { token: *token, due, for_us, another_wrote: false });
        self.granted.insert(group, node);
    }
}
