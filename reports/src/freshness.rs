//! Recognises stale writes, for the invariant that none is accepted and for the requirement that some are tried; and
//! stale reads, for the invariant, the figures and the story.

use crate::{by_resource::ByResource, requests::Requests};
use protocols::{
    history::{Event, Header, Kind, Outcome},
    message::WriteVerdict,
    types::{Incarnation, NodeId, RequestId, Resource},
};
use std::collections::BTreeMap;

/// Knows the newest incarnation that has sealed each resource or had a write accepted on it. Tokens order incarnations;
/// without them elections do, and without those the order in which the store first saw them.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    ranks: BTreeMap<Incarnation, u64>,
    newest: ByResource<Newest>,
    /// It is for a log, which may omit leaderships.
    of_log: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// The highest token known, if any; 0 is a token, too.
    token: Option<u64>,
    rank: u64,
    /// The incarnation whose rank was looked up last.
    cached: Option<(Incarnation, u64)>,
}

impl Freshness {
    /// For a history with this header, or for a log without one.
    pub(crate) fn new(header: Option<&Header>) -> Self {
        Freshness { of_log: header.is_none(), ..Freshness::default() }
    }

    fn rank(&mut self, resource: Resource, incarnation: Incarnation) -> u64 {
        match self.newest.of(resource).cached {
            Some((cached, rank)) if cached == incarnation => rank,
            _ => {
                let next = self.ranks.len() as u64 + 1;
                let rank = *self.ranks.entry(incarnation).or_insert(next);
                self.newest.at(resource).cached = Some((incarnation, rank));
                rank
            }
        }
    }

    fn is_stale(&mut self, resource: Resource, incarnation: Incarnation) -> bool {
        // A leadership that cannot be told from the node's next one has no known order.
        if self.of_log && !incarnation.is_known() {
            return false;
        }
        let newest = *self.newest.of(resource);
        if incarnation.has_token() || newest.token.is_some() {
            return incarnation.fencing_token() < newest.token;
        }
        self.rank(resource, incarnation) < newest.rank
    }

    /// The resource knows of this token, and must not accept a lower one from now on.
    fn seen(&mut self, resource: Resource, token: u64) {
        let newest = self.newest.at(resource);
        newest.token = newest.token.max(Some(token));
    }

    fn took_effect(&mut self, resource: Resource, incarnation: Incarnation) {
        if self.of_log && !incarnation.is_known() {
            return;
        }
        let rank = if incarnation.has_token() { 0 } else { self.rank(resource, incarnation) };
        let newest = self.newest.at(resource);
        newest.token = newest.token.max(incarnation.fencing_token());
        newest.rank = newest.rank.max(rank);
    }

    /// The highest token that `resource` knows of; `None` without tokens.
    pub(crate) fn highest(&self, resource: Resource) -> Option<u64> {
        self.newest.of(resource).token
    }

    /// Is `one` a newer leadership than `other`, by their tokens or by what was seen of them?
    pub(crate) fn is_newer(&self, one: Incarnation, other: Incarnation) -> bool {
        if one.has_token() || other.has_token() {
            return one.fencing_token() > other.fencing_token();
        }
        let rank = |incarnation| self.ranks.get(&incarnation).copied().unwrap_or(0);
        rank(one) > rank(other)
    }

    /// Takes an elected, seal or apply event; true if it is a stale write, accepted or not.
    pub(crate) fn observe(&mut self, event: &Event) -> bool {
        match &event.kind {
            Kind::Elected(incarnation) => {
                let next = self.ranks.len() as u64 + 1;
                self.ranks.entry(*incarnation).or_insert(next);
                false
            }
            Kind::Seal { resource, incarnation, accepted: true, .. } => {
                self.took_effect(*resource, *incarnation);
                false
            }
            Kind::Apply { node, write, verdict, .. } => {
                let incarnation = write.incarnation(*node);
                let stale = self.is_stale(write.resource, incarnation);
                match verdict {
                    WriteVerdict::Ok if !stale => self.took_effect(write.resource, incarnation),
                    // A resource that refuses a token knows a higher one, or should.
                    WriteVerdict::Fenced { highest } if incarnation.has_token() => {
                        self.seen(write.resource, incarnation.token.max(*highest));
                    }
                    _ => {}
                }
                stale
            }
            _ => false,
        }
    }
}

// Recognises stale reads, for the invariant, the figures and the story.

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
