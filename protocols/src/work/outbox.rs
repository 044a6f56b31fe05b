//! Writes under way to one resource: numbered, kept until answered, sent again over a new connection when an answer is
//! overdue.
//!
//! The ledger takes writes strictly in turn, so a lost one holds up those behind it; like TCP's go-back-N, the outbox then
//! sends everything unanswered again. Request ids make that harmless.

use crate::{
    message::{Write, WriteVerdict},
    types::{Operation, Payload, RequestId, Resource},
};
use std::collections::VecDeque;

/// Writes that may be under way: as many as the link to the store queues in real mode, and fewer than a simulated connection
/// takes. What a full connection drops would be a hole that only a token could find.
pub const UNDER_WAY_MAX: usize = 1024;

/// Writes under way to one resource in one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outbox {
    resource: Resource,
    generation: u32,
    token: u64,
    next_seq: u64,
    version: u64,
    payload: Option<Payload>,
    pending: VecDeque<Pending>,
    /// The oldest write under way, and since when it has been known as that, nanoseconds; 0 for none.
    oldest: (u64, u64),
    resent_from: u64,
    held: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pending {
    write: Write,
    answered: bool,
}

/// What an answer of the store means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The request has this sequence number, now or since an earlier attempt.
    Done {
        /// The number.
        seq: u64,
    },
    /// The token is stale: this leadership is over.
    Fenced,
    /// An earlier write was lost: send again.
    Resend,
    /// Nothing to do: late, repeated, or about another leadership.
    Nothing,
}

impl Outbox {
    /// Starts from the state that the seal of `resource` read.
    pub fn new(resource: Resource, generation: u32, token: u64, seq: u64, version: u64) -> Self {
        let pending = VecDeque::new();
        Outbox {
            resource,
            generation,
            token,
            next_seq: seq + 1,
            version,
            payload: None,
            pending,
            oldest: (0, 0),
            resent_from: 0,
            held: false,
        }
    }

    /// The same, where the seal also read what was recorded last.
    pub fn with_payload(self, payload: Option<Payload>) -> Self {
        Outbox { payload, ..self }
    }

    /// The last number that was given to a write; at first the one that the seal read.
    pub fn last(&self) -> u64 {
        self.next_seq - 1
    }

    /// What was recorded last: what the seal read, or what was sent since.
    pub fn payload(&self) -> Option<Payload> {
        self.payload
    }

    /// How many writes are under way, or wait for an older one.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// True when no write is under way.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Numbers a new write for `request`, which records `payload`; the caller sends it.
    #[inline]
    pub fn issue(&mut self, request: RequestId, payload: Option<Payload>) -> Write {
        self.operate(request, Operation::Record, payload)
    }

    /// The same, to do something else there.
    #[inline]
    pub fn operate(&mut self, request: RequestId, operation: Operation, payload: Option<Payload>) -> Write {
        let (resource, generation, token, seq) = (self.resource, self.generation, self.token, self.next_seq);
        let RequestId { client, number } = request;
        let read_version = self.version;
        let write = Write { resource, operation, generation, token, seq, read_version, client, number, payload };
        self.next_seq += 1;
        if payload.is_some() {
            self.payload = operation.leaves(self.payload, payload);
        }
        // Every write in turn raises the version by one; those behind this one build on that.
        self.version += 1;
        self.pending.push_back(Pending { write, answered: false });
        write
    }

    /// Takes the store's answer to write `seq` of leadership `generation`.
    #[inline]
    pub fn written(&mut self, generation: u32, seq: u64, verdict: WriteVerdict) -> Answer {
        let Some(first) = self.pending.front().map(|p| p.write.seq) else { return Answer::Nothing };
        if generation != self.generation || seq < first {
            return Answer::Nothing;
        }
        let Some(pending) = self.pending.get_mut((seq - first) as usize) else { return Answer::Nothing };
        match verdict {
            WriteVerdict::Fenced { .. } => Answer::Fenced,
            _ if pending.answered => Answer::Nothing,
            WriteVerdict::Ok => self.done(seq - first, seq),
            WriteVerdict::Duplicate { seq: before } => self.done(seq - first, before),
            // Too old for the store's memory: nobody can tell any more, and nobody waits for it any more.
            WriteVerdict::Failed { expected } if expected > seq => {
                self.done(seq - first, seq);
                Answer::Nothing
            }
            WriteVerdict::Failed { expected } if expected > self.resent_from => {
                crate::mark!(OutboxGap);
                self.resent_from = expected;
                Answer::Resend
            }
            WriteVerdict::Failed { .. } => Answer::Nothing,
        }
    }

    #[inline]
    fn done(&mut self, index: u64, seq: u64) -> Answer {
        self.pending[index as usize].answered = true;
        while self.pending.front().is_some_and(|p| p.answered) {
            self.pending.pop_front();
        }
        Answer::Done { seq }
    }

    /// Called now and then: has the oldest write been the oldest for `silence` nanoseconds, by these calls?
    pub fn is_overdue(&mut self, now: u64, silence: u64) -> bool {
        let oldest = self.pending.front().map_or(0, |p| p.write.seq);
        if oldest != self.oldest.0 {
            self.oldest = (oldest, now);
        }
        oldest != 0 && now - self.oldest.1 >= silence
    }

    /// The connection broke: what is issued from now on waits until everything is sent again in order. Ahead of it on a new
    /// connection, a resource without an order of its own would take it.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Does what is issued wait?
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Everything unanswered is about to be sent again, over a new connection: its wait starts anew.
    pub fn start_over(&mut self, now: u64) {
        crate::mark!(OutboxOverdue);
        self.oldest.1 = now;
        self.resent_from = 0;
        self.held = false;
    }

    /// Everything unanswered, oldest first, to be sent again.
    pub fn unanswered(&self) -> impl Iterator<Item = Write> + '_ {
        self.pending.iter().filter(|p| !p.answered).map(|p| p.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fence::ledger::Ledger, types::NodeId};

    #[test]
    fn a_request_too_old_to_tell_does_not_hold_up_those_behind_it() {
        let (mut ledger, node, client) = (Ledger::new(true), NodeId(0), NodeId(9));
        assert!(ledger.seal(node, 1, 5));
        let mut outbox = Outbox::new(Resource::SEQUENCE, 1, 5, ledger.seq(), ledger.version());
        // A client that begins far away and comes back to its first request.
        let answers = [1 << 40, 1, (1 << 40) + 1].map(|number| {
            let write = outbox.issue(RequestId { client, number }, None);
            let verdict = ledger.write(node, &write);
            outbox.written(1, write.seq, verdict)
        });
        assert_eq!(answers, [Answer::Done { seq: 1 }, Answer::Nothing, Answer::Done { seq: 3 }]);
        assert!(outbox.is_empty());
    }
}
