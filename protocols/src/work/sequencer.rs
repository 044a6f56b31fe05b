//! The sequencer: hands out strictly increasing (token, seq) to clients. A number is handed out only when the store has
//! applied the write that takes it.

use super::outbox::{Answer, Outbox};
use crate::{
    core::Output,
    history::Kind,
    message::{Message, Write, WriteVerdict},
    types::{NodeId, RequestId, Resource},
};

/// Writes that may be under way: as many as the link to the store queues in real mode, and fewer than a simulated connection
/// takes. What a full connection drops would be a hole that only a token could find.
pub const UNDER_WAY_MAX: usize = 1024;

/// The sequencer of one leadership.
#[derive(Debug)]
pub struct Sequencer {
    node: NodeId,
    store: NodeId,
    token: u64,
    outbox: Outbox,
    /// The last number that is known to have been handed out.
    last: u64,
}

impl Sequencer {
    /// Starts from the state that the seal read.
    pub fn new(node: NodeId, store: NodeId, term: u32, token: u64, seq: u64, version: u64) -> Self {
        let outbox = Outbox::new(Resource::Sequence, term, token, seq, version);
        Sequencer { node, store, token, outbox, last: seq }
    }

    /// The last number that is known to have been handed out: everything before the seal, and everything that this
    /// leadership has answered since. Fit for reads only while nobody else can have handed out another.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// True when every number that was asked for is answered.
    pub fn idle(&self) -> bool {
        self.outbox.is_empty()
    }

    /// True when no more requests can be taken before the store has answered some.
    pub fn is_full(&self) -> bool {
        self.outbox.len() >= UNDER_WAY_MAX
    }

    /// Serves a client's request; the lease has been checked.
    pub fn next(&mut self, request: RequestId, out: &mut Vec<Output>) {
        let write = self.outbox.issue(request);
        out.push(Output::Record(Kind::Issue { node: self.node, write }));
        if !self.outbox.is_held() {
            out.push(Output::Send { to: self.store, message: Message::Write(write) });
        }
    }

    /// Takes the store's answer. False when this leadership is over.
    pub fn written(
        &mut self,
        term: u32,
        seq: u64,
        request: RequestId,
        verdict: WriteVerdict,
        out: &mut Vec<Output>,
    ) -> bool {
        match self.outbox.written(term, seq, verdict) {
            Answer::Done { seq } => {
                // Before it is told: a read must include whatever a client knows.
                self.last = self.last.max(seq);
                let message = Message::NextIs { request, token: self.token, seq };
                out.push(Output::Send { to: request.client, message });
            }
            Answer::Resend => self.resend(out),
            Answer::Fenced => return false,
            Answer::Nothing => {}
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
        let store = self.store;
        let again = |write: Write| Output::Send { to: store, message: Message::Write(write) };
        out.extend(self.outbox.unanswered().map(again));
    }
}
