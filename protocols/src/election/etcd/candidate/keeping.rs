//! A candidate's lease, and how it gives up leadership.

use super::{EtcdElection, Output, open};
use crate::{
    election::etcd::{
        recipe::{AGAIN, CAMPAIGN_LEAVES_KEY, DEADLINE, KEEPALIVE, REOPEN, granted},
        session::{Counting, DEADLINE_SCAN, RETRY, Recipe, Session, Stage, seconds, tick_after},
    },
    elector::{Deposed, ServiceOutput},
    point::Point,
    service::etcd::{KeyState, StreamRequest},
    types::NodeId,
};

impl EtcdElection {
    /// A request's outcome is unknown, or a watch has ended: retries.
    pub(super) fn failed(&mut self, now: u64, out: &mut Vec<Output>) {
        let entered = matches!(self.stage, Stage::Proclaiming | Stage::Looking | Stage::Rechecking);
        match entered && self.setup.bugs.has(&CAMPAIGN_LEAVES_KEY) {
            true => self.leave_key(out),
            false => self.again(now, out),
        }
    }

    /// Starts another campaign on a new session; the old one is kept alive in the background, as in the library.
    fn leave_key(&mut self, out: &mut Vec<Output>) {
        if let Some(Session { lease, ttl_s, stream, .. }) = self.session.take() {
            self.left_behind.push((lease, ttl_s, stream));
        }
        out.extend([DEADLINE, AGAIN, REOPEN].map(Output::CancelTimer));
        self.start(out);
    }

    fn keep_what_is_left_behind(&mut self, out: &mut Vec<Output>) {
        for (lease, ttl_s, stream) in &mut self.left_behind {
            match stream {
                Some(stream) => out.push(Output::Service(ServiceOutput::Push(*stream))),
                None => {
                    let number = self.numbers.stream();
                    *stream = Some(number);
                    out.push(open(number, StreamRequest::Keepalive { lease: *lease, ttl_s: *ttl_s }));
                }
            }
        }
    }

    pub(super) fn granted(&mut self, now: u64, lease: i64, ttl_s: i64, out: &mut Vec<Output>) {
        self.scan_from.get_or_insert(now);
        let (recipe, times) = (self.recipe, (self.asked_lease, now));
        self.session = Some(Session::new(recipe, &self.setup, lease, ttl_s, times));
        self.set_deadline(out);
        self.open_keepalive(now, out);
        self.go(Stage::Creating, out);
    }

    pub(super) fn open_keepalive(&mut self, now: u64, out: &mut Vec<Output>) {
        let Some(session) = &mut self.session else { return };
        let number = self.numbers.stream();
        session.stream = Some(number);
        session.opened = now;
        session.unanswered = (self.recipe.counts() == Counting::FromSending).then_some(now);
        out.push(Output::Point(Point::BeforeRenew));
        out.push(open(number, StreamRequest::Keepalive { lease: session.lease, ttl_s: session.ttl_s }));
        out.push(Output::SetTimer { id: KEEPALIVE, at: now + RETRY });
    }

    /// The end of the belief, on the node's monotonic clock.
    pub(super) fn valid_until(&self) -> u64 {
        let (Some(session), Some(from)) = (&self.session, self.scan_from) else { return 0 };
        match self.recipe.counts() {
            Counting::FromAnswers => tick_after(from, DEADLINE_SCAN, session.deadline),
            Counting::FromSending => session.deadline,
        }
    }

    pub(super) fn set_deadline(&mut self, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: DEADLINE, at: self.valid_until() });
    }

    pub(super) fn kept_alive(&mut self, now: u64, ttl_s: i64, out: &mut Vec<Output>) {
        let Some(session) = &mut self.session else { return };
        if ttl_s <= 0 {
            crate::mark!("etcd: a keepalive says that the lease is gone");
            return self.fresh_session(Deposed::Lost, out);
        }
        let from = match self.recipe.counts() {
            Counting::FromAnswers => now,
            // An answer to nothing, or one that comes too late, prolongs nothing.
            Counting::FromSending => match session.unanswered.take() {
                Some(sent) => sent,
                None => return,
            },
        };
        session.deadline = from.saturating_add(seconds(ttl_s));
        session.keepalive_due = from + self.setup.timings.renew_interval;
        out.push(Output::Point(Point::Renewed));
        let at = tick_after(session.opened, RETRY, session.keepalive_due);
        out.push(Output::SetTimer { id: KEEPALIVE, at });
        self.set_deadline(out);
        if self.stage == Stage::Leading {
            self.back_off.confirmed();
            out.push(Output::Renewed(self.leadership()));
        }
    }

    /// A tick of the library's send loop, which resends an unanswered keepalive each time.
    pub(super) fn keepalive_tick(&mut self, now: u64, out: &mut Vec<Output>) {
        self.keep_what_is_left_behind(out);
        let Some(Session { stream: Some(stream), keepalive_due, opened, unanswered, .. }) = &mut self.session else {
            return;
        };
        let (stream, at) = (*stream, tick_after(*opened, RETRY, now));
        if let Some(sent) = unanswered {
            if now.saturating_sub(*sent) >= self.setup.timings.request_timeout {
                // Its answer could not be told from that of a later keepalive on the same stream.
                out.push(Output::Service(ServiceOutput::Close(stream)));
                return self.open_keepalive(now, out);
            }
        } else if *keepalive_due < now {
            if self.recipe.counts() == Counting::FromSending {
                *unanswered = Some(now);
            }
            crate::mark!("etcd: a keepalive is not answered");
            out.push(Output::Point(Point::BeforeRenew));
            out.push(Output::Service(ServiceOutput::Push(stream)));
        }
        out.push(Output::SetTimer { id: KEEPALIVE, at });
    }
}

// Gives up leadership, to the next candidate or to a named successor.

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
