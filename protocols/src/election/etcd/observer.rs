//! Who leads, as far as a candidate can see: `Election.observe` of etcd's client library. Reads the first key of the queue,
//! watches it until it is deleted, reads again; while the queue is empty it watches for a first key.

use crate::{
    elector::{self, RequestNumber, StreamNumber},
    payload::Nothing,
    service::etcd::{Api, KeyState},
    types::NodeId,
};

type Output = elector::Output<Nothing, Api>;

/// What the observer is at.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
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
