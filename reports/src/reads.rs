//! Recognises stale reads, for the invariant, the figures and the story.

use crate::requests::Requests;
use protocols::{
    history::{Event, Kind, Outcome},
    types::{NodeId, RequestId},
};

/// Knows the highest number that clients have been told and, for each read in flight, what that was when the read was
/// sent. Memory is bounded by the reads in flight.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    under_way: Requests<(u64, u64)>,
    /// One more than the highest number that a client was told; 0 before the first.
    top: u64,
    /// The highest token that a client was told; 0 before the first.
    token: u64,
}

/// An answered read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub(crate) request: RequestId,
    /// The node that answered.
    pub(crate) node: NodeId,
    /// The number returned.
    pub(crate) seq: u64,
    /// The highest number that a client had been told when the read was sent; `None` if there was none.
    pub(crate) known: Option<u64>,
    /// The token of the leader that answered.
    pub(crate) token: u64,
    /// The highest token that a client had been told when the read was sent; 0 if there was none.
    pub(crate) known_token: u64,
}

impl Read {
    /// Did it miss a number that some client had been told before it was sent?
    pub(crate) fn is_stale(&self) -> bool {
        self.known.is_some_and(|known| self.seq < known)
    }

    /// Was it answered by a leader whose successor some client had been told of before it was sent?
    pub(crate) fn is_of_former(&self) -> bool {
        self.token < self.known_token
    }
}

impl Reads {
    /// Takes a reply, or the beginning or end of a read; returns an answered read.
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
