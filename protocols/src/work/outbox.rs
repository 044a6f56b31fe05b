//! Pending writes to one resource: numbered, kept until they are answered, and resent over a new connection when an
//! answer is overdue.
//!
//! The ledger takes writes strictly in turn, so a lost write holds up the later ones; like TCP's go-back-N, the outbox
//! then resends everything unanswered. Request ids make that harmless.

use crate::{
    message::{Write, WriteVerdict},
    types::{Operation, Payload, RequestId, Resource},
};
use std::collections::VecDeque;

/// The most pending writes: as many as the link to the store queues in real mode, and fewer than a simulated connection
/// takes. A write dropped by a full connection would leave a gap that only a token could reveal.
pub const UNDER_WAY_MAX: usize = 1024;

/// Pending writes to one resource in one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outbox {
    resource: Resource,
    generation: u32,
    token: u64,
    next_seq: u64,
    version: u64,
    payload: Option<Payload>,
    pending: VecDeque<Pending>,
    /// The oldest pending write, and since when it has been known as such, nanoseconds; 0 for none.
    oldest: (u64, u64),
    resent_from: u64,
    held: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pending {
    write: Write,
    answered: bool,
}

/// The meaning of a store's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The request has this sequence number, from now or from an earlier attempt.
    Done { seq: u64 },
    /// The token is stale: this leadership is over.
    Fenced,
    /// An earlier write was lost: resend.
    Resend,
    /// Nothing to do: late, repeated, or for another leadership.
    Nothing,
}

impl Outbox {
    /// Starts from the state that the seal of `resource` has read.
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

    /// Adds the payload that the seal has read.
    pub fn with_payload(self, payload: Option<Payload>) -> Self {
        Outbox { payload, ..self }
    }

    /// The last number given to a write; at first the one that the seal has read.
    pub fn last(&self) -> u64 {
        self.next_seq - 1
    }

    /// The last payload: the one that the seal has read, or one sent since.
    pub fn payload(&self) -> Option<Payload> {
        self.payload
    }

    /// The number of pending writes, including those answered before an older one.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether no write is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Numbers a new write for `request` with the record `payload`; the caller sends it.
    #[inline]
    pub fn issue(&mut self, request: RequestId, payload: Option<Payload>) -> Write {
        self.operate(request, Operation::Record, payload)
    }

    /// The same for another operation.
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
        // Every write in turn raises the version by one, and later ones build on that.
        self.version += 1;
        self.pending.push_back(Pending { write, answered: false });
        write
    }

    /// Handles the store's answer to write `seq` of leadership `generation`.
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
            // Older than the store's memory: its outcome is unknown, and nobody waits for it any more.
            WriteVerdict::Failed { expected } if expected > seq => {
                self.done(seq - first, seq);
                Answer::Nothing
            }
            WriteVerdict::Failed { expected } if expected > self.resent_from => {
                crate::mark!("outbox: a write before this one was lost, so all are sent again");
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

    /// Called from time to time: whether the oldest write has been the oldest for `silence` nanoseconds, according to
    /// these calls.
    pub fn is_overdue(&mut self, now: u64, silence: u64) -> bool {
        let oldest = self.pending.front().map_or(0, |p| p.write.seq);
        if oldest != self.oldest.0 {
            self.oldest = (oldest, now);
        }
        oldest != 0 && now - self.oldest.1 >= silence
    }

    /// The connection broke: new writes wait until everything is resent in order. If they came first on a new
    /// connection, a resource without an order of its own would take them.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Whether new writes wait.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Everything unanswered is about to be resent over a new connection: waiting times start anew.
    pub fn start_over(&mut self, now: u64) {
        crate::mark!("outbox: everything unanswered is sent again over a new connection");
        self.oldest.1 = now;
        self.resent_from = 0;
        self.held = false;
    }

    /// Everything unanswered, oldest first, to be resent.
    pub fn unanswered(&self) -> impl Iterator<Item = Write> + '_ {
        self.pending.iter().filter(|p| !p.answered).map(|p| p.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fence::ledger::{Fence, Ledger},
        types::NodeId,
    };

    #[test]
    fn a_request_too_old_to_tell_does_not_hold_up_those_behind_it() {
        let (mut ledger, node, client) = (Ledger::new(), NodeId(0), NodeId(9));
        assert!(ledger.seal(node, 1, 5));
        let mut outbox = Outbox::new(Resource::SEQUENCE, 1, 5, ledger.seq(), ledger.version());
        // A client that starts with a high number and returns to its first request.
        let answers = [1 << 40, 1, (1 << 40) + 1].map(|number| {
            let write = outbox.issue(RequestId { client, number }, None);
            let verdict = ledger.write(node, &write);
            outbox.written(1, write.seq, verdict)
        });
        assert_eq!(answers, [Answer::Done { seq: 1 }, Answer::Nothing, Answer::Done { seq: 3 }]);
        assert!(outbox.is_empty());
    }
}
