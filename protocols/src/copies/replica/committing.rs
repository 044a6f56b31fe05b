//! What the primary decides, when that is committed, and what it answers then.

use super::{Replica, Role, tell};
use crate::{
    clock::Now,
    copies::{
        guard::Guard,
        log::{Decision, Stamp},
        mode::Copies,
        primary::Waiting,
    },
    core::Output,
    fence::ledger::Fence,
    message::{Message as ToLeader, WriteVerdict},
    types::{Incarnation, RequestId, Resource},
};
use std::sync::atomic::Ordering;

impl Replica {
    /// Sets the clocks' readings for the next step.
    pub fn at(&mut self, now: Now) {
        self.now = now;
    }

    /// How often a primary with LeaseGuard looks after its lease, nanoseconds.
    pub fn looks_every(&self) -> Option<u64> {
        self.guard.as_ref().map(Guard::look_every)
    }

    /// When a new primary may commit, by the monotonic clock, if it may not yet.
    pub fn commits_from(&self) -> Option<u64> {
        let Role::Primary(primary) = &self.role else { return None };
        primary.inherited?.ends_at(self.now)
    }

    fn stamp(&self) -> Stamp {
        self.guard.as_ref().map_or_else(Stamp::default, |guard| guard.stamp(self.now))
    }

    /// Commits what waited for the end of an earlier lease, and appends an entry if its own would end.
    pub(super) fn keep_lease(&mut self, out: &mut Vec<Output>) {
        let (Some(guard), Role::Primary(primary)) = (&self.guard, &self.role) else { return };
        let (by, stamp) = (primary.by, guard.stamp(self.now));
        let mut log = self.disk.open();
        if log.stamp(log.len()).is_some_and(|newest| guard.wants_entry(newest, self.now)) {
            log.extend(by, stamp);
        }
        drop(log);
        self.count(out);
    }

    /// The primary decides, and streams new entries to the others.
    pub(super) fn decide(&mut self, by: Incarnation, message: ToLeader, out: &mut Vec<Output>) {
        let (stamp, guarded) = (self.stamp(), self.guard.is_some());
        if let ToLeader::ReadStore { resource, request, .. } = message
            && self.read_here(by, resource, request, out)
        {
            return;
        }
        let Role::Primary(primary) = &mut self.role else { return };
        let mut log = self.disk.open();
        if let ToLeader::ReadStore { resource, request, .. } = message {
            primary.ask(resource, request, log.len());
        } else if let Some(Decision { kinds, reply }) = log.decide(by, message, stamp) {
            match reply {
                // The leader goes on from its own log, as in Raft; what it does takes effect once that is committed.
                ToLeader::Sealed { .. } if guarded => out.push(Output::Send { to: self.node, message: reply }),
                _ => primary.wait(Waiting { place: log.len(), kinds, reply }),
            }
        }
        // A read asks the others at once whether it is still the primary.
        let beat = matches!(message, ToLeader::ReadStore { .. }) && self.mode == Copies::Majority;
        let streams = primary.streams(&log, self.commit, beat);
        drop(log);
        self.count(out);
        out.extend(streams.into_iter().map(|(to, message)| tell(to, message)));
    }

    /// Answers a read from this copy, if a lease allows it.
    fn read_here(&self, by: Incarnation, resource: Resource, request: RequestId, out: &mut Vec<Output>) -> bool {
        let (Some(guard), Role::Primary(primary)) = (&self.guard, &self.role) else { return false };
        let Some(inherited) = primary.inherited else { return false };
        let log = self.disk.open();
        let told = guard.read(&log, self.commit, (by, inherited), resource, self.now);
        let Some((Incarnation { token, .. }, seq)) = told else { return false };
        let generation = by.generation;
        let message = ToLeader::StoreIs { request, generation, token, verdict: WriteVerdict::Ok, seq };
        out.push(Output::Send { to: self.node, message });
        true
    }

    /// Records and answers everything that is committed by now. Returns whether LeaseGuard's commit index has risen.
    pub(super) fn count(&mut self, out: &mut Vec<Output>) -> bool {
        let Role::Primary(primary) = &mut self.role else { return false };
        let mut log = self.disk.open();
        let place = match self.mode {
            Copies::Async => log.len(),
            Copies::Majority if primary.inherited.is_some_and(|inherited| inherited.defers(self.now)) => self.commit,
            Copies::Majority => primary.held_by_majority(log.len()),
        };
        // In asynchronous mode every primary has its own log, and entries that it took from others were recorded when
        // it took them.
        let told = match self.mode {
            Copies::Async => primary.told,
            Copies::Majority => self.told.load(Ordering::Relaxed),
        };
        let mut untold = told + 1..=place;
        let mut tell_up_to = |place: u64, out: &mut Vec<Output>| {
            while untold.start() <= &place
                && let Some(next) = untold.next()
            {
                out.extend(log.tell(next).into_iter().map(Output::Record));
            }
        };
        for Waiting { place, kinds, reply } in primary.due(place) {
            // Decisions between two entries are recorded between them.
            tell_up_to(place, out);
            out.extend(kinds.into_iter().map(Output::Record));
            out.push(Output::Send { to: self.node, message: reply });
        }
        tell_up_to(place, out);
        primary.told = primary.told.max(place);
        self.told.fetch_max(place, Ordering::Relaxed);
        let Incarnation { token, generation, .. } = primary.by;
        let reads = match self.mode {
            Copies::Async => primary.reads_at_once(),
            Copies::Majority => primary.reads_due(place),
        };
        for read in reads {
            let Some(ledger) = log.ledgers().get(read.resource.index()) else { continue };
            let verdict = ledger.read(self.node, generation, token);
            // Not what may yet be lost.
            let seq = log.last_write(read.resource, place).map_or(0, |(_, seq)| seq);
            let message = ToLeader::StoreIs { request: read.request, generation, token, verdict, seq };
            out.push(Output::Send { to: self.node, message });
        }
        let risen = self.guard.is_some() && place > self.commit;
        if risen {
            self.commit = place;
        }
        risen
    }
}
