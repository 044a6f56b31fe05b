//! The scheduler: a tick every period, recorded by read-modify-write, one at a time.

use super::outbox::{Answer, Outbox};
use crate::{
    core::Output,
    history::Kind,
    message::{Message, WriteVerdict},
    types::{NodeId, RequestId, Resource},
};

/// The scheduler of one leadership.
#[derive(Debug)]
pub struct Scheduler {
    node: NodeId,
    store: NodeId,
    term: u32,
    ticks: u32,
    outbox: Outbox,
}

impl Scheduler {
    /// Starts from the state that the seal read.
    pub fn new(node: NodeId, store: NodeId, term: u32, token: u64, seq: u64, version: u64) -> Self {
        let outbox = Outbox::new(Resource::Schedule, term, token, seq, version);
        Scheduler { node, store, term, ticks: 0, outbox }
    }

    /// True when every tick is recorded.
    pub fn idle(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Fires a tick; the lease has been checked. Skipped while the one before is not recorded.
    pub fn tick(&mut self, out: &mut Vec<Output>) {
        if !self.outbox.is_empty() {
            return;
        }
        self.ticks += 1;
        // Unique over all leaderships, or the ledger would take it for a retry.
        let number = u64::from(self.term) << 32 | u64::from(self.ticks);
        let write = self.outbox.issue(RequestId { client: self.node, number });
        out.push(Output::Record(Kind::Issue { node: self.node, write }));
        if !self.outbox.is_held() {
            out.push(Output::Send { to: self.store, message: Message::Write(write) });
        }
    }

    /// Takes the store's answer. False when this leadership is over.
    pub fn written(&mut self, term: u32, seq: u64, verdict: WriteVerdict, out: &mut Vec<Output>) -> bool {
        match self.outbox.written(term, seq, verdict) {
            Answer::Fenced => return false,
            Answer::Resend => self.resend(out),
            Answer::Done { .. } | Answer::Nothing => {}
        }
        true
    }

    /// Called now and then: has the store owed an answer for `silence` nanoseconds?
    pub fn is_overdue(&mut self, now: u64, silence: u64) -> bool {
        self.outbox.is_overdue(now, silence)
    }

    /// The connection broke: nothing is sent until it is a new one.
    pub fn hold(&mut self) {
        self.outbox.hold();
    }

    /// The connection is a new one: sends everything unanswered again.
    pub fn start_over(&mut self, now: u64, out: &mut Vec<Output>) {
        self.outbox.start_over(now);
        self.resend(out);
    }

    fn resend(&mut self, out: &mut Vec<Output>) {
        out.extend(self.outbox.unanswered().map(|w| Output::Send { to: self.store, message: Message::Write(w) }));
    }
}
