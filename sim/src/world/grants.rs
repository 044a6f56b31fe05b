//! Leadership as the coordination service's own state has it, from grant to end.
//!
//! A grant whose time is counted on the service's wall clock ends when that clock shows it, whether or not the service runs,
//! is stopped, or somebody looks: so the world keeps the time, and moves it when the clock is stepped or changes its rate.
//!
//! Where members of a service agree on a log, leadership is what the log makes of it: granted or over at the moment when the
//! first of them applies an entry, once for all of them. Of members that do not agree (Redlock's servers) no state alone says who
//! leads, and nothing is told.

use super::{World, queue::Event};
use protocols::{
    history::{GrantEnd, Kind},
    types::NodeId,
};
use scenarios::fault::PlannedFault;
use std::collections::BTreeMap;

/// A leadership as a service's state has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The holder's name.
    pub name: String,
    /// The fencing token that goes with it; 0 when there is none.
    pub token: u64,
    /// When it ends unless it is renewed, nanoseconds of the server's wall clock; `None` when the server ends it itself.
    pub until: Option<u64>,
}

/// A leadership that the service has granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// To whom.
    node: NodeId,
    /// With which token; 0 when there is none.
    token: u64,
    /// When it ends unless it is renewed, nanoseconds of the service's wall clock; `None` when it ends by what the service
    /// does alone.
    until: Option<u64>,
}

/// The grants that there are.
pub(super) struct Grants {
    groups: Vec<Granted>,
    /// What tells apart the log's entries that some member has applied, from the first on.
    log: Vec<u64>,
    /// Which of the service's members was elected in which epoch, where what they elect for is not in a log.
    elected: BTreeMap<u64, String>,
}

impl Grants {
    /// None yet.
    pub(super) fn new(groups: u16) -> Grants {
        Grants { groups: (0..groups).map(|_| Granted::default()).collect(), log: Vec::new(), elected: BTreeMap::new() }
    }
}

/// The grant that there is in a group.
#[derive(Default)]
struct Granted {
    grant: Option<Grant>,
    /// Which of the scheduled ends counts.
    generation: u32,
}

/// A token, if it is one.
fn some(token: u64) -> Option<u64> {
    Some(token).filter(|token| *token > 0)
}

impl World {
    /// The service's state has changed, or may have: it has granted a group's leadership to this holder now. What was granted before,
    /// if that is something else, is over, for the reason given; if its time was up, for that. A holder who is no candidate
    /// holds nothing.
    pub fn granted_to(&mut self, group: u16, holder: Option<Holder>, why: GrantEnd) {
        let grant = self.grant_of(holder);
        self.granted(group, grant, why);
    }

    /// A member of a service that agrees on a log has applied the entry of that index, from 1 on, which that number tells from
    /// others; is it the first to do so? A service that was set back to an earlier log goes on from there.
    ///
    /// # Panics
    /// When another member has applied something else at that place, and no fault of the plan takes data away: then the members
    /// disagree, and whatever the run shows is worth nothing. Whoever runs the world reports the panic, with the plan.
    pub fn is_first_to_apply(&mut self, index: u64, entry: u64) -> bool {
        let log = &self.granted.log;
        let place = (index as usize).saturating_sub(1);
        if log.get(place) == Some(&entry) {
            return false;
        }
        if log.get(place).is_some() {
            assert!(self.is_set_back(), "members of the service disagree: two entries are applied at index {index}");
        }
        let log = &mut self.granted.log;
        log.truncate(place);
        log.push(entry);
        true
    }

    /// Does some fault of the plan take data away, so that members forget what they have said?
    fn is_set_back(&self) -> bool {
        let takes = |fault: &PlannedFault| fault.what.kind().loses_data();
        self.faults.plan.faults.iter().any(takes)
    }

    /// A member of a service was elected by the others for something in that epoch, such as a sentinel for a failover.
    ///
    /// # Panics
    /// When another one was elected in the same epoch, and no fault of the plan takes data away: then the members do not keep to
    /// their votes.
    pub fn elected_in(&mut self, epoch: u64, member: &str) {
        if self.is_set_back() {
            return;
        }
        let before = self.granted.elected.entry(epoch).or_insert_with(|| member.to_owned());
        assert!(
            before == member,
            "members of the service do not keep to their votes: two are elected in epoch {epoch}"
        );
    }

    /// The same as [`World::granted_to`], by what the members of a service have agreed on.
    pub fn granted_by_agreement(&mut self, group: u16, holder: Option<Holder>, why: GrantEnd) {
        let grant = self.grant_of(holder);
        self.record_grant(group, grant, why);
    }

    fn grant_of(&self, holder: Option<Holder>) -> Option<Grant> {
        let Holder { name, token, until } = holder?;
        Some(Grant { node: self.find(&name)?, token, until })
    }

    /// What was granted before, if that is something else, is over; gives it back.
    fn record_grant(&mut self, group: u16, grant: Option<Grant>, why: GrantEnd) -> Option<Grant> {
        let before = std::mem::replace(&mut self.granted.groups[usize::from(group)].grant, grant);
        let same = |a: Grant, b: Grant| (a.node, a.token) == (b.node, b.token);
        if before.zip(grant).is_some_and(|(before, now)| same(before, now)) {
            return before;
        }
        if let Some(Grant { node, token, .. }) = before {
            self.record_in(group, Kind::GrantEnd { node, token: some(token), reason: why });
        }
        if let Some(Grant { node, token, .. }) = grant {
            self.record_in(group, Kind::Grant { node, token: some(token) });
        }
        before
    }

    fn granted(&mut self, group: u16, grant: Option<Grant>, why: GrantEnd) {
        let Some(service) = self.topology.only_member() else { return };
        let is_up = self.granted.groups[usize::from(group)].grant.is_some_and(|before| self.is_up(service, before));
        let before = self.record_grant(group, grant, if is_up { GrantEnd::Expired } else { why });
        if before.and_then(|before| before.until) != grant.and_then(|now| now.until) {
            self.schedule_grant_end(group, service);
        }
    }

    fn is_up(&self, service: NodeId, grant: Grant) -> bool {
        grant.until.is_some_and(|until| until <= self.clocks(service).wall)
    }

    fn schedule_grant_end(&mut self, group: u16, service: NodeId) {
        let granted = &mut self.granted.groups[usize::from(group)];
        granted.generation += 1;
        let (generation, grant) = (granted.generation, granted.grant);
        let Some(until) = grant.and_then(|grant| grant.until) else { return };
        let at = self.processes[service.index()].clocks.true_time_of_wall(until).max(self.now);
        self.queue.push(at, Event::GrantEnds { group, generation });
    }

    /// The end of a grant, unless it was put off meanwhile.
    pub(super) fn grant_ends(&mut self, group: u16, generation: u32) {
        let Some(service) = self.topology.only_member() else { return };
        let granted = &self.granted.groups[usize::from(group)];
        if granted.generation == generation && granted.grant.is_some_and(|grant| self.is_up(service, grant)) {
            self.granted(group, None, GrantEnd::Expired);
        }
    }

    /// A process's clocks were changed: what ends by them ends at another true time.
    pub(super) fn reschedule_grant(&mut self, node: NodeId) {
        if self.topology.only_member() == Some(node) {
            (0..self.groups()).for_each(|group| self.schedule_grant_end(group, node));
        }
    }
}
