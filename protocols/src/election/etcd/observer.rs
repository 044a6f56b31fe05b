//! A candidate's view of the leader: `Election.observe` of etcd's client library. It reads the first key of the queue,
//! watches it until its deletion, and reads again; while the queue is empty, it watches for a first key.

use crate::{
    elector::{self, RequestNumber, StreamNumber},
    payload::Nothing,
    service::etcd::{Api, KeyState},
    types::NodeId,
};

type Output = elector::Output<Nothing, Api>;

/// The observer's state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Observer {
    request: Option<RequestNumber>,
    stream: Option<StreamNumber>,
    /// The create revision of the key that `stream` watches.
    holder: Option<i64>,
    seen: Option<NodeId>,
}

impl Observer {
    /// The request under way.
    pub(super) fn request(&self) -> Option<RequestNumber> {
        self.request
    }

    /// The open watch.
    pub(super) fn stream(&self) -> Option<StreamNumber> {
        self.stream
    }

    /// The watched key's create revision; `None` if the queue was empty.
    pub(super) fn holder(&self) -> Option<i64> {
        self.holder
    }

    pub(super) fn asked(&mut self, request: RequestNumber) {
        (self.request, self.stream, self.holder) = (Some(request), None, None);
    }

    pub(super) fn watching(&mut self, stream: StreamNumber, key: Option<&KeyState>) {
        (self.request, self.stream, self.holder) = (None, Some(stream), key.map(|k| k.create_revision));
    }

    /// Forgets a lost request or watch.
    pub(super) fn lost(&mut self) {
        (self.request, self.stream, self.holder) = (None, None, None);
    }

    /// Reports the leader to the node, if it is new.
    pub(super) fn see(&mut self, seen: Option<NodeId>, out: &mut Vec<Output>) {
        if self.seen != seen {
            self.seen = seen;
            out.push(Output::Observed(seen));
        }
    }
}

/// The candidate that a key's value names.
pub(super) fn who(names: &[String], key: &KeyState) -> Option<NodeId> {
    let place = names.iter().position(|name| *name == key.value)?;
    u16::try_from(place).ok().map(NodeId)
}
