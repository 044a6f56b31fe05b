//! Gives up leadership, to the next candidate or to a named successor.

use super::{EtcdElection, Output, open};
use crate::{
    election::etcd::{
        session::{Recipe, Stage},
        timing::{AGAIN, granted},
    },
    elector::Deposed,
    point::Point,
    service::etcd::{KeyState, StreamRequest},
    types::NodeId,
};

impl EtcdElection {
    /// Ends the belief, then looks for the successor in the queue.
    pub(super) fn hand_over(&mut self, to: NodeId, out: &mut Vec<Output>) {
        if self.recipe == Recipe::OneKey {
            return;
        }
        out.push(Output::Point(Point::BeforeRelease));
        self.depose(Deposed::Resigned, out);
        self.go(Stage::Choosing(to), out);
    }

    /// Takes the own key and all others before the successor's out of the queue, in one transaction.
    pub(super) fn choose(&mut self, heir: NodeId, queue: &[KeyState], out: &mut Vec<Output>) {
        let own = self.session.as_ref().map_or(0, |s| s.create_revision);
        let name = self.setup.names.get(heir.index());
        let behind = |key: &&KeyState| key.create_revision > own;
        let Some(heir) = queue.iter().filter(behind).find(|key| Some(&key.value) == name) else {
            return self.heir_is_gone(out);
        };
        crate::mark!("etcd-election: hands over to a named successor");
        let between = queue.iter().filter(behind).filter(|key| key.create_revision < heir.create_revision);
        let passed_over = between.map(|key| (key.key.clone(), key.create_revision)).collect();
        let heir = (heir.key.clone(), heir.create_revision);
        self.go(Stage::HandingOver { heir, passed_over }, out);
    }

    /// The successor is not in the queue, or the queue has changed: the next candidate leads.
    pub(super) fn heir_is_gone(&mut self, out: &mut Vec<Output>) {
        crate::mark!("etcd-election: the named successor is not in the queue, or the queue has changed");
        self.go(Stage::Resigning, out);
    }

    /// The key is gone but the session is not: queues again at the end.
    pub(super) fn queue_again(&mut self, out: &mut Vec<Output>) {
        self.campaign(out);
        self.go(Stage::Creating, out);
    }

    /// The same after a resignation; without a queue, the others get a lease's time to go first.
    pub(super) fn stand_again(&mut self, now: u64, out: &mut Vec<Output>) {
        match self.recipe {
            Recipe::Queue | Recipe::SafeQueue => self.queue_again(out),
            Recipe::OneKey => {
                self.campaign(out);
                self.stage = Stage::Creating;
                out.push(Output::SetTimer { id: AGAIN, at: now + granted(self.setup.timings.lease_ttl) });
            }
        }
    }

    /// Another candidate has the one key: waits for its end.
    pub(super) fn taken(&mut self, create_revision: i64, revision: i64, out: &mut Vec<Output>) {
        crate::mark!("etcd-key: the one key is another's");
        let Some(session) = &self.session else { return };
        let key = session.key.clone().into_bytes();
        let watch = self.numbers.stream();
        self.stage = Stage::Waiting(watch);
        out.push(Output::Point(Point::BeforeWait));
        let start_revision = revision.max(create_revision).saturating_add(1);
        out.push(open(watch, StreamRequest::WatchDelete { key, start_revision }));
    }
}
