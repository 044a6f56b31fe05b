//! Who leads: leadership in the coordination service's own state, from grant to end, and who believes that it leads.
//!
//! A grant timed by the service's wall clock ends when that clock says so, even while the service is down or paused, or
//! nobody looks. So the world keeps that time, and moves it when the clock is stepped or its rate changes.
//!
//! If members of a service agree on a log, the log decides: a grant begins or ends, once for all members, when the
//! first of them applies an entry. If members do not agree (Redlock's servers), no single state says who leads, and
//! nothing is recorded.

use super::{World, leader_key::Keyed, queue::Event};
use protocols::{
    division::Division,
    history::{GrantEnd, Kind},
    types::{Incarnation, NodeId},
};
use scenarios::fault::PlannedFault;
use std::collections::BTreeMap;

/// A leadership in a service's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    pub name: String,
    /// Its fencing token; 0 if there is none.
    pub token: u64,
    /// When it ends unless renewed, in nanoseconds of the server's wall clock; `None` if the server ends it itself.
    pub until: Option<u64>,
}

/// A leadership that the service has granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    node: NodeId,
    /// 0 if there is none.
    token: u64,
    /// When it ends unless renewed, in nanoseconds of the service's wall clock; `None` if only the service's own action
    /// ends it.
    until: Option<u64>,
}

pub(super) struct Grants {
    groups: Vec<Granted>,
    /// The identities of the log entries that some member has applied, from the first on.
    log: Vec<u64>,
    /// By epoch, the member that the others elected, for elections that are not in a log.
    elected: BTreeMap<u64, String>,
    /// Who believes, with its group, in the order of elections.
    pub(super) believers: Vec<(u16, Incarnation)>,
    /// Which resources and clients belong to which group.
    pub(super) division: Division,
    /// For programs: the key by which they elect.
    pub(super) keyed: Option<Keyed>,
}

impl Grants {
    pub(super) fn new(groups: u16, division: Division) -> Grants {
        let groups = (0..groups).map(|_| Granted::default()).collect();
        Grants { groups, log: Vec::new(), elected: BTreeMap::new(), believers: Vec::new(), division, keyed: None }
    }
}

/// A group's current grant.
#[derive(Default)]
struct Granted {
    grant: Option<Grant>,
    /// Identifies the scheduled end that counts.
    generation: u32,
}

fn some(token: u64) -> Option<u64> {
    Some(token).filter(|token| *token > 0)
}

impl World {
    /// The service's state may have changed: it now grants a group's leadership to `holder`. A different former grant
    /// has ended: for the reason `why`, or because its time was up. A holder that is no candidate counts as none.
    pub fn note_grant(&mut self, group: u16, holder: Option<Holder>, why: GrantEnd) {
        // Of several services, one elects.
        if self.grants.keyed.as_ref().is_some_and(|keyed| !keyed.is_told_here()) {
            return;
        }
        let grant = self.grant_of(holder);
        self.set_grant(group, grant, why);
    }

    /// Notes that a member of a service has applied the log entry at `index`, counted from 1 and identified by `entry`;
    /// returns whether it is the first member to do so. A service that was set back to an earlier log continues from there.
    ///
    /// # Panics
    /// Another member has applied a different entry at that index, and no fault of the plan loses data: the members
    /// disagree, which makes the run worthless. The panic is reported with the plan.
    pub fn note_applied(&mut self, index: u64, entry: u64) -> bool {
        let log = &self.grants.log;
        let place = (index as usize).saturating_sub(1);
        if log.get(place) == Some(&entry) {
            return false;
        }
        if log.get(place).is_some() {
            assert!(self.is_set_back(), "members of the service disagree: two entries are applied at index {index}");
        }
        let log = &mut self.grants.log;
        log.truncate(place);
        log.push(entry);
        true
    }

    /// Whether some fault of the plan loses data, so that members may forget what they said.
    fn is_set_back(&self) -> bool {
        let takes = |fault: &PlannedFault| fault.what.kind().loses_data();
        self.faults.plan.faults.iter().any(takes)
    }

    /// A service's member was elected by the others in this epoch, such as a sentinel for a failover.
    ///
    /// # Panics
    /// Another member was elected in the same epoch, and no fault of the plan loses data: the members do not keep their
    /// votes.
    pub fn note_elected(&mut self, epoch: u64, member: &str) {
        if self.is_set_back() {
            return;
        }
        let before = self.grants.elected.entry(epoch).or_insert_with(|| member.to_owned());
        assert!(
            before == member,
            "members of the service do not keep to their votes: two are elected in epoch {epoch}"
        );
    }

    /// The same as [`World::note_grant`], for members that agree on a log.
    pub fn note_agreed_grant(&mut self, group: u16, holder: Option<Holder>, why: GrantEnd) {
        let grant = self.grant_of(holder);
        self.record_grant(group, grant, why);
    }

    fn grant_of(&mut self, holder: Option<Holder>) -> Option<Grant> {
        let owner = self.grants.keyed.as_mut().map(|keyed| keyed.owner(holder.as_ref().map(|holder| &*holder.name)));
        let Holder { name, token, until } = holder?;
        let node = owner.unwrap_or_else(|| self.find(&name))?;
        Some(Grant { node, token, until })
    }

    /// The process by whose clock grants end, if a single one decides.
    fn granting(&self) -> Option<NodeId> {
        self.grants.keyed.as_ref().map_or_else(|| self.topology.only_member(), Keyed::only_member)
    }

    /// Replaces a group's grant; returns the former one if it differs.
    fn record_grant(&mut self, group: u16, grant: Option<Grant>, why: GrantEnd) -> Option<Grant> {
        let before = std::mem::replace(&mut self.grants.groups[usize::from(group)].grant, grant);
        let same = |a: Grant, b: Grant| (a.node, a.token) == (b.node, b.token);
        if before.zip(grant).is_some_and(|(before, now)| same(before, now)) {
            return before;
        }
        if let Some(Grant { node, token, .. }) = before {
            let why = self.grants.keyed.as_ref().map_or(why, |keyed| keyed.end_of(node, why));
            self.record_in(group, Kind::GrantEnd { node, token: some(token), reason: why });
        }
        if let Some(Grant { node, token, .. }) = grant {
            self.record_in(group, Kind::Grant { node, token: some(token) });
        }
        before
    }

    fn set_grant(&mut self, group: u16, grant: Option<Grant>, why: GrantEnd) {
        let Some(service) = self.granting() else { return };
        let is_up = self.grants.groups[usize::from(group)].grant.is_some_and(|before| self.is_up(service, before));
        let before = self.record_grant(group, grant, if is_up { GrantEnd::Expired } else { why });
        if before.and_then(|before| before.until) != grant.and_then(|now| now.until) {
            self.schedule_grant_end(group, service);
        }
    }

    fn is_up(&self, service: NodeId, grant: Grant) -> bool {
        grant.until.is_some_and(|until| until <= self.clocks(service).wall)
    }

    fn schedule_grant_end(&mut self, group: u16, service: NodeId) {
        let granted = &mut self.grants.groups[usize::from(group)];
        granted.generation += 1;
        let (generation, grant) = (granted.generation, granted.grant);
        let Some(until) = grant.and_then(|grant| grant.until) else { return };
        let at = self.processes[service.index()].clocks.true_time_of_wall(until).max(self.now);
        self.queue.push(at, Event::GrantEnds { group, generation });
    }

    /// A grant ends, unless it was renewed meanwhile.
    pub(super) fn end_grant(&mut self, group: u16, generation: u32) {
        let Some(service) = self.granting() else { return };
        let granted = &self.grants.groups[usize::from(group)];
        if granted.generation == generation && granted.grant.is_some_and(|grant| self.is_up(service, grant)) {
            if let Some(keyed) = &mut self.grants.keyed {
                keyed.owner(None);
            }
            self.set_grant(group, None, GrantEnd::Expired);
        }
    }

    /// A process's clocks have changed, so grants timed by them end at other true times.
    pub(super) fn reschedule_grant(&mut self, node: NodeId) {
        if self.granting() == Some(node) {
            (0..self.groups()).for_each(|group| self.schedule_grant_end(group, node));
        }
    }
}
