//! Resigning: no new work, waiting for work under way, and only then releasing the lease.

use super::{
    Lead, Node,
    bugs::{RELEASED_BEFORE_JOINED, SHUTDOWN_STARTS_WORK},
};
use crate::{
    clock::Now,
    core::Output,
    elector,
    types::{Incarnation, NodeId},
    work::duties::Duties,
};

impl Node {
    pub(super) fn let_go(&mut self, now: Now, successor: Option<NodeId>, out: &mut Vec<Output>) {
        if let Some(lead) = self.lead.as_mut().filter(|lead| !lead.outlived) {
            if let Some(work) = lead.work.as_mut().filter(|_| !self.resigning && now.mono < lead.valid_until) {
                work.leave(&self.works, now, out);
            }
            self.resigning = true;
            self.successor = successor;
            self.let_go_when_joined(now, out);
        } else if self.bugs.has(&SHUTDOWN_STARTS_WORK) {
            self.start_unled(now, out);
        }
    }

    /// [`SHUTDOWN_STARTS_WORK`]: works for two periods, whoever leads.
    fn start_unled(&mut self, now: Now, out: &mut Vec<Output>) {
        let incarnation = Incarnation { token: 0, node: self.place.node, generation: self.place.starts << 16 };
        let sealed = self.works.each().map(|_| None).collect();
        let (valid_until, at) = (now.mono + 2 * self.place.tick, now.mono);
        let (owed_since, work, outlived) = (None, None, false);
        self.lead =
            Some(Lead { incarnation, valid_until, elected_at: at, sealed, asked_at: at, owed_since, work, outlived });
        self.seal(out);
    }

    pub(super) fn is_joined(&self) -> bool {
        self.lead.as_ref().and_then(|lead| lead.work.as_ref()).is_none_or(Duties::is_joined)
    }

    pub(super) fn let_go_when_joined(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.lead.is_none() {
            return;
        }
        let joined = self.is_joined();
        if !joined {
            crate::mark!("node: a resignation waits for the writes under way");
        }
        if self.released {
            if joined {
                self.deposed(now, elector::Deposed::Resigned, out);
            }
        } else if joined || self.bugs.has(&RELEASED_BEFORE_JOINED) {
            let input = self.successor.take().map_or(elector::Input::Resign, elector::Input::Transfer);
            self.elect(now, input, out);
        }
    }
}
