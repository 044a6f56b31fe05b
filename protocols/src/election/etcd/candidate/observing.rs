//! How a candidate observes the leader, and the end of its own key.

use super::{EtcdElection, Output, open};
use crate::{
    election::etcd::{
        observer::who,
        recipe::OBSERVE,
        session::{RETRY, Stage},
    },
    elector::{Deposed, ServiceOutput, StreamNumber},
    error::Failure,
    point::Point,
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
};

impl EtcdElection {
    /// Asks for the first key.
    pub(super) fn observe(&mut self, out: &mut Vec<Output>) {
        let number = self.request(Request::First { prefix: self.recipe.prefix_for(&self.setup) }, true, out);
        self.observer.asked(number);
    }

    /// Handles the answer about the first key.
    pub(super) fn observed(&mut self, now: u64, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let Ok(Reply::Found { key, revision }) = reply else {
            self.observer.lost();
            return out.push(Output::SetTimer { id: OBSERVE, at: now + RETRY });
        };
        // A leading key stays first while it exists, so another key in front, or none, means that it is gone.
        let own = self.session.as_ref().map_or(0, |s| s.create_revision);
        let outlived = match &key {
            Some(front) => front.create_revision > own,
            None => revision >= own,
        };
        if self.stage == Stage::Leading && outlived {
            crate::mark!("etcd: the leader's own key is deleted");
            self.fresh_session(Deposed::Lost, out);
        }
        let stream = self.numbers.stream();
        let start_revision = revision.saturating_add(1);
        self.observer.watching(stream, key.as_ref());
        let seen = key.as_ref().and_then(|key| who(&self.setup.names, key));
        // A win reports itself; until then, the own key in front is not a leader's.
        if seen != Some(self.setup.node) {
            self.observer.see(seen, out);
        }
        out.push(Output::Point(Point::BeforeWatch));
        out.push(match key {
            Some(KeyState { key, .. }) => open(stream, StreamRequest::WatchDelete { key, start_revision }),
            None => {
                open(stream, StreamRequest::WatchPrefix { prefix: self.recipe.prefix_for(&self.setup), start_revision })
            }
        });
    }

    /// Handles the deletion of the watched key, or the first key in an empty queue.
    pub(super) fn seen(&mut self, number: StreamNumber, item: &Item, out: &mut Vec<Output>) {
        let gone = self.observer.holder().filter(|_| *item == Item::Deleted);
        out.push(Output::Service(ServiceOutput::Close(number)));
        self.observe(out);
        let own = self.session.as_ref().map(|s| s.create_revision);
        if self.stage == Stage::Leading && gone.is_some() && gone == own {
            crate::mark!("etcd: the leader's own key is deleted");
            self.fresh_session(Deposed::Lost, out);
        }
    }
}
