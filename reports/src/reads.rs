//! Which reads come from the past: shared by the invariant, the figures and the story.

use crate::requests::Requests;
use protocols::{
    history::{Event, Kind, Outcome},
    types::{NodeId, RequestId},
};

/// Knows the highest number that clients have been told, and for each read under way what that was when it was put.
/// Memory is bounded by the reads under way.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    under_way: Requests<(u64, u64)>,
    /// One more than the highest number that a client was told; 0 before the first.
    top: u64,
    /// The highest token that a client was told; 0 before the first.
    token: u64,
}

/// A read that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub(crate) request: RequestId,
    /// Who answered.
    pub(crate) node: NodeId,
    /// The answer.
    pub(crate) seq: u64,
    /// The highest number that a client had been told when it was put; `None`: there was none.
    pub(crate) known: Option<u64>,
    /// The token of the leader that answered.
    pub(crate) token: u64,
    /// The highest token that a client had been told when it was put; 0: there was none.
    pub(crate) known_token: u64,
}

impl Read {
    /// Was something told before it was put that it does not know of?
    pub(crate) fn is_stale(&self) -> bool {
        self.known.is_some_and(|known| self.seq < known)
    }

    /// Was it answered by a leader of whose successor a client had been told before it was put?
    pub(crate) fn is_of_former(&self) -> bool {
        self.token < self.known_token
    }
}

impl Reads {
    /// Takes a reply, or the beginning or end of a read; gives a read that was answered.
    pub(crate) fn observe(&mut self, event: &Event) -> Option<Read> {
        match event.kind {
            Kind::Reply { outcome: Outcome::Ok { token, seq }, .. } => {
                self.told(token, seq);
                None
            }
            Kind::ReadInvoke { request } => {
                self.under_way.insert(request, (self.top, self.token));
                None
            }
            Kind::ReadReply { request, node, outcome } => {
                let (top, known_token) = self.under_way.remove(request)?;
                let Outcome::Ok { token, seq } = outcome else { return None };
                self.told(token, seq);
                Some(Read { request, node, seq, known: top.checked_sub(1), token, known_token })
            }
            _ => None,
        }
    }

    fn told(&mut self, token: u64, seq: u64) {
        self.top = self.top.max(seq.saturating_add(1));
        self.token = self.token.max(token);
    }
}
