//! Keeps a lease at a service with compare-and-set: only the owner of the stored value can renew it and release it.
//!
//! **Belief.** It lasts one TTL of the node's monotonic clock from when the last confirmed request was *sent*, and its
//! end is checked before any answer or timer. An unanswered renewal is retried until then.
//!
//! **Whose lock is it?** Each *attempt* has a new value, `<name>/<nonce>/<attempt>`. So a request that takes effect
//! late (a network may hold one for a while after it timed out) cannot renew or delete another attempt's lock, or pass
//! for it. An acquisition with an unknown outcome is never believed, since its token is unknown too; it is released by
//! its own value before the next attempt, as is an expired lease. At worst the lock stays unowned for one TTL, and a
//! token is skipped.
//!
//! **A refused leader** campaigns again, and backs off if the resource keeps refusing; after a resignation, the others
//! go first for one TTL.

use super::{
    Setup,
    asking::{Asking, EXPIRE, POLL, RENEW},
    back_off::BackOff,
};
use crate::{
    clock::Now,
    elector::{Deposed, Elector, Input, Output, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::Api,
    types::{Leadership, NodeId},
};
use std::hash::Hash;

/// A keeper's outputs.
pub(super) type Out<S> = Vec<Output<Nothing, <S as LeaseService>::Api>>;
/// A service's answer.
pub(super) type Answer<S> = Result<<<S as LeaseService>::Api as Api>::Reply, Failure>;

/// Where every service has a coverage mark of its own.
pub(super) enum Rare {
    CleansUp,
    HeldOff,
    Leftover,
    RenewalRefused,
    TooLate,
    Expired,
}

/// The meaning of an answer, whatever the request.
pub(super) enum Meaning {
    /// The lock was taken, with this token.
    Taken(u64),
    /// Another candidate holds it.
    Refused,
    /// The lock's current value.
    Held(Option<Vec<u8>>),
    /// Done, without a token.
    Done,
}

/// A service at which a lease is kept: its requests, and the meaning of its answers.
pub(super) trait LeaseService: Clone + Eq + Hash + Send + 'static {
    type Api: Api;
    /// Requests beyond those that every keeper makes.
    type More: Clone + Eq + Hash + Send + 'static;

    /// Whether a candidate backs off when the resource keeps refusing it. Without tokens, none is refused.
    const BACKS_OFF: bool = true;

    /// Marks the place as reached.
    fn mark(at: Rare);
    /// The value for a new attempt.
    fn attempt(asking: &mut Asking) -> String {
        asking.attempt_value()
    }
    /// Takes the lock with this value, if it is free.
    fn take(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// Extends the lock by a TTL, if it has this value.
    fn extend(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// Releases the lock, if it has this value.
    fn give_back(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// Reads the lock.
    fn look(asking: &Asking) -> <Self::Api as Api>::Request;
    /// An answer's meaning; `None` if it answers none of a keeper's requests.
    fn understand(reply: <Self::Api as Api>::Reply) -> Option<Meaning>;
    /// The end of the belief in a lease requested at `sent`.
    fn valid_until(asking: &Asking, _now: Now, sent: u64) -> u64 {
        sent + asking.ttl()
    }
    /// Called when a follower has read the lock.
    fn looked(_keeper: &mut Keeper<Self>, _now: Now, _value: Option<Vec<u8>>, _out: &mut Out<Self>) {}
    /// Called when a leader is to hand over to this candidate.
    fn transfer(_keeper: &mut Keeper<Self>, _now: Now, _to: NodeId, _out: &mut Out<Self>) {}
    /// Handles the answer to one of the service's additional requests.
    fn answered(_: &mut Keeper<Self>, _: Now, _asked: Self::More, _reply: Answer<Self>, _: &mut Out<Self>) {}
}

/// This node's lease, as it believes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    /// The lock's value while it is this node's.
    value: String,
    leadership: Leadership,
}

/// The request under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Asked<M> {
    Acquire { value: String, sent: u64 },
    Look,
    Renew { sent: u64 },
    GiveBack,
    More(M),
}

/// Keeps a lease at a service of this kind.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Keeper<S: LeaseService> {
    pub(super) asking: Asking,
    lease: Option<Lease>,
    under_way: Option<(RequestNumber, Asked<S::More>)>,
    /// A value of this node's that may be in the lock although it does not lead; released before the next attempt.
    leftover: Option<String>,
    /// Others go first until then.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
    back_off: BackOff,
    /// Whether it has left the election.
    withdrawn: bool,
}

impl<S: LeaseService> Keeper<S> {
    pub(super) fn new(setup: Setup) -> Self {
        let (lease, under_way, leftover, back_off) = Default::default();
        Keeper {
            asking: Asking::new(setup),
            lease,
            under_way,
            leftover,
            held_off_until: 0,
            campaign_due: true,
            back_off,
            withdrawn: false,
        }
    }

    pub(super) fn ask(&mut self, request: <S::Api as Api>::Request, asked: Asked<S::More>, out: &mut Out<S>) {
        self.under_way = Some((self.asking.ask(request, out), asked));
    }

    /// A follower's poll: cleans up, tries to acquire, or only reads while others go first.
    fn poll(&mut self, now: Now, out: &mut Out<S>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if self.leftover.is_some() {
            S::mark(Rare::CleansUp);
            self.clean_up(out);
        } else if now.mono < self.held_off_until {
            S::mark(Rare::HeldOff);
            self.look(out);
        } else {
            self.acquire(now, out);
        }
    }

    fn acquire(&mut self, now: Now, out: &mut Out<S>) {
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let value = S::attempt(&mut self.asking);
        let request = S::take(&self.asking, value.clone());
        self.ask(request, Asked::Acquire { value, sent: now.mono }, out);
    }

    fn look(&mut self, out: &mut Out<S>) {
        self.ask(S::look(&self.asking), Asked::Look, out);
    }

    /// Releases a value that may be in the lock but is not believed.
    pub(super) fn give_back(&mut self, value: String, out: &mut Out<S>) {
        self.leftover = Some(value);
        self.clean_up(out);
    }

    fn clean_up(&mut self, out: &mut Out<S>) {
        if let Some(value) = self.leftover.clone() {
            self.ask(S::give_back(&self.asking, value), Asked::GiveBack, out);
        }
    }

    fn renew(&mut self, now: Now, out: &mut Out<S>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        let Some(lease) = self.lease.as_ref().filter(|_| self.under_way.is_none()) else { return };
        let request = S::extend(&self.asking, lease.value.clone());
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(request, Asked::Renew { sent: now.mono }, out);
    }

    fn answered(&mut self, now: Now, asked: Asked<S::More>, reply: Answer<S>, out: &mut Out<S>) {
        let asked = match asked {
            Asked::More(more) => return S::answered(self, now, more, reply, out),
            asked => asked,
        };
        match (asked, reply.map(S::understand)) {
            (Asked::Acquire { value, sent }, Ok(Some(Meaning::Taken(token)))) => {
                self.lead(now, value, token, sent, out)
            }
            (Asked::Acquire { value, sent }, Ok(Some(Meaning::Done))) => self.lead(now, value, 0, sent, out),
            (Asked::Acquire { .. }, Ok(Some(Meaning::Refused))) if !self.withdrawn => self.look(out),
            // A refusal took nothing. The next poll retries.
            (Asked::Acquire { .. }, Ok(Some(Meaning::Refused)) | Err(Failure::Rejected(_))) => {}
            (Asked::Acquire { value, .. }, _) => {
                S::mark(Rare::Leftover);
                self.give_back(value, out);
            }
            (Asked::Look, Ok(Some(Meaning::Held(value)))) => {
                self.asking.observe(value.as_deref(), out);
                S::looked(self, now, value, out);
            }
            (Asked::Renew { sent }, Ok(Some(Meaning::Done))) => self.renewed(now, sent, out),
            (Asked::Renew { .. }, Ok(Some(Meaning::Refused))) => {
                S::mark(Rare::RenewalRefused);
                self.depose(now, Deposed::Lost, out);
                self.look(out);
            }
            (Asked::GiveBack, Ok(_)) => {
                self.leftover = None;
                if now.mono >= self.held_off_until && !self.withdrawn {
                    self.acquire(now, out);
                }
            }
            // An unanswered renewal is retried at the next interval, until the belief expires; other requests at the
            // next poll.
            _ => {}
        }
    }

    pub(super) fn lead(&mut self, now: Now, value: String, token: u64, sent: u64, out: &mut Out<S>) {
        let leadership = Leadership { token, valid_until: S::valid_until(&self.asking, now, sent) };
        if self.withdrawn {
            return self.give_back(value, out);
        }
        if leadership.valid_until <= now.mono {
            S::mark(Rare::TooLate);
            // The answer was too late for any belief.
            return self.give_back(value, out);
        }
        self.lease = Some(Lease { value, leadership });
        self.asking.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: sent + self.asking.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn renewed(&mut self, now: Now, sent: u64, out: &mut Out<S>) {
        let Some(lease) = &mut self.lease else { return };
        lease.leadership.valid_until = S::valid_until(&self.asking, now, sent);
        self.back_off.confirmed();
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: lease.leadership.valid_until });
        out.push(Output::Renewed(lease.leadership));
    }

    /// Ends the belief first, and then releases the lock.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Out<S>) {
        let Some(value) = self.stop_believing(now, why, out) else { return };
        if why != Deposed::Lost {
            self.give_back(value, out);
        }
    }

    /// Leaves the election. An acquisition under way is given back once it is answered.
    fn withdraw(&mut self, now: Now, out: &mut Out<S>) {
        self.withdrawn = true;
        self.depose(now, Deposed::Resigned, out);
        if self.under_way.is_none() {
            self.clean_up(out);
        }
    }

    /// Ends the belief and returns the lock's value. A renewal under way has become pointless.
    pub(super) fn stop_believing(&mut self, now: Now, why: Deposed, out: &mut Out<S>) -> Option<String> {
        let lease = self.lease.take()?;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        let wait = self.asking.poll_wait();
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
        // A leader that the resource refused goes back to polling; after a resignation, others go first.
        self.held_off_until = now.mono
            + match why {
                Deposed::Expired | Deposed::Lost => 0,
                Deposed::Fenced if S::BACKS_OFF => wait.max(self.back_off.refused()),
                Deposed::Fenced => wait,
                Deposed::Resigned | Deposed::Stuck => self.asking.ttl(),
            };
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        Some(lease.value)
    }
}

impl<S: LeaseService> Elector for Keeper<S> {
    type Peer = Nothing;
    type Service = S::Api;

    fn step(&mut self, now: Now, input: Input<Nothing, S::Api>, out: &mut Out<S>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            S::mark(Rare::Expired);
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.poll(now, out),
            Input::Timer(POLL) if self.lease.is_none() => self.poll(now, out),
            Input::Timer(RENEW) if self.lease.is_some() => self.renew(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some((_, asked)) = self.under_way.take_if(|(under_way, _)| *under_way == number) {
                    self.answered(now, asked, reply, out);
                }
            }
            Input::Resign if self.lease.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Withdraw => self.withdraw(now, out),
            Input::Transfer(to) if self.lease.is_some() => S::transfer(self, now, to, out),
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that has ended, or a follower's resignation; there are no streams.
            _ => {}
        }
    }
}
