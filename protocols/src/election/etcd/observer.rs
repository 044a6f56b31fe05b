//! Who leads, as far as a candidate can see: `Election.observe` of etcd's client library. Reads the first key of the queue,
//! watches it until it is deleted, reads again; while the queue is empty it watches for a first key.

use super::{
    EtcdElection, Output, PREFIX, open,
    session::{RETRY, Stage},
    timing::OBSERVE,
};
use crate::{
    elector::{Deposed, RequestNumber, StreamNumber},
    error::Failure,
    point::Point,
    service::etcd::{KeyState, Reply, Request, StreamRequest},
    types::NodeId,
};

/// What the observer is at.
#[derive(Debug, Default)]
pub(super) struct Observer {
    request: Option<RequestNumber>,
    stream: Option<StreamNumber>,
    /// Create revision of the key that `stream` watches.
    holder: Option<i64>,
    seen: Option<NodeId>,
}

impl Observer {
    /// The question under way.
    pub(super) fn request(&self) -> Option<RequestNumber> {
        self.request
    }

    /// The watch that is open.
    pub(super) fn stream(&self) -> Option<StreamNumber> {
        self.stream
    }

    /// Create revision of the watched key; `None` when the queue was empty.
    pub(super) fn holder(&self) -> Option<i64> {
        self.holder
    }

    pub(super) fn asked(&mut self, request: RequestNumber) {
        (self.request, self.stream, self.holder) = (Some(request), None, None);
    }

    pub(super) fn watching(&mut self, stream: StreamNumber, key: Option<&KeyState>) {
        (self.request, self.stream, self.holder) = (None, Some(stream), key.map(|k| k.create_revision));
    }

    /// Neither a question nor a watch is left.
    pub(super) fn lost(&mut self) {
        (self.request, self.stream, self.holder) = (None, None, None);
    }

    /// Tells the node who leads, if that is news.
    pub(super) fn see(&mut self, seen: Option<NodeId>, out: &mut Vec<Output>) {
        if self.seen != seen {
            self.seen = seen;
            out.push(Output::Observed(seen));
        }
    }
}

/// Whose key that is, by its value.
pub(super) fn who(names: &[String], key: &KeyState) -> Option<NodeId> {
    let place = names.iter().position(|name| *name == key.value)?;
    u16::try_from(place).ok().map(NodeId)
}

impl EtcdElection {
    /// Asks who leads.
    pub(super) fn observe(&mut self, out: &mut Vec<Output>) {
        let number = self.request(Request::First { prefix: PREFIX.into() }, true, out);
        self.observer.asked(number);
    }

    /// Who leads was asked, and this is the answer.
    pub(super) fn observed(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let Ok(Reply::Found { key, revision }) = reply else {
            self.observer.lost();
            return out.push(Output::SetTimer { id: OBSERVE, at: now + RETRY });
        };
        // Whoever was at the front stays there for as long as the key is: another's in front, or none, is news of its end.
        let own = self.session.as_ref().map_or(0, |s| s.create_revision);
        let outlived = match &key {
            Some(front) => front.create_revision > own,
            None => revision >= own,
        };
        if self.stage == Stage::Leading && outlived {
            crate::mark!(EtcdOwnKeyDeleted);
            self.fresh_session(Deposed::Lost, out);
        }
        let stream = self.numbers.stream();
        let start_revision = revision.saturating_add(1);
        self.observer.watching(stream, key.as_ref());
        let seen = key.as_ref().and_then(|key| who(&self.setup.names, key));
        // Winning says it of oneself; until then the key in front is not yet a leader's.
        if seen != Some(self.setup.node) {
            self.observer.see(seen, out);
        }
        out.push(Output::Point(Point::BeforeWatch));
        out.push(match key {
            Some(KeyState { key, .. }) => open(stream, StreamRequest::WatchDelete { key, start_revision }),
            None => open(stream, StreamRequest::WatchPrefix { prefix: PREFIX.into(), start_revision }),
        });
    }
}
