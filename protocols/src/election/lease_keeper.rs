//! Keeps a lease of a service that compares: whoever's value is in it may renew it and give it back.
//!
//! **Belief.** It runs for one ttl of the node's monotonic clock from when the last confirmed request was *sent*, and ends first of
//! all: before an answer or a timer is looked at. A renewal without an answer is tried again until then.
//!
//! **Whose lock is it?** The value is new for each *attempt*, `<name>/<nonce>/<attempt>`. A request that took effect late (a
//! network may keep one for a while after we gave it up) can then never renew, delete or stand for another attempt's lock. An
//! acquisition whose outcome is unknown is never believed, its token is not known either: it is given back, by its own value,
//! before the next attempt; so is a lease that lapsed. At worst the lock is nobody's for one ttl, and a token is skipped.
//!
//! **Who was refused** by the resource stands again, and stays away for longer and longer if that goes on; who resigned lets
//! others go first for one ttl.

use super::{
    Setup,
    asking::{Asking, EXPIRE, POLL, RENEW},
    back_off::BackOff,
};
use crate::{
    clock::Now,
    coverage::{self, Mark},
    elector::{Deposed, Elector, Input, Output, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::Api,
    types::{Leadership, NodeId},
};
use std::hash::Hash;

/// What a keeper asks for.
pub(super) type Out<S> = Vec<Output<Nothing, <S as LeaseService>::Api>>;
/// What a service answers.
pub(super) type Answer<S> = Result<<<S as LeaseService>::Api as Api>::Reply, Failure>;

/// The marks that a keeper comes by.
pub(super) struct Marks {
    pub(super) cleans_up: Mark,
    pub(super) held_off: Mark,
    pub(super) leftover: Mark,
    pub(super) renewal_refused: Mark,
    pub(super) too_late: Mark,
    pub(super) expired: Mark,
}

/// What an answer means, whatever was asked.
pub(super) enum Meaning {
    /// The lock was taken, with this token.
    Taken(u64),
    /// Somebody else holds it.
    Refused,
    /// What it holds.
    Held(Option<Vec<u8>>),
    /// It was done, and there is no token.
    Done,
}

/// The service that a lease is kept at: what is said to it and what its answers mean.
pub(super) trait LeaseService: Clone + Eq + Hash + Send + 'static {
    type Api: Api;
    /// What this service is asked beside what every keeper asks.
    type More: Clone + Eq + Hash + Send + 'static;

    const MARKS: Marks;
    /// Does a candidate stay away that the resource refuses again and again? Without a token none is refused.
    const BACKS_OFF: bool = true;

    /// The value of a new attempt.
    fn attempt(asking: &mut Asking) -> String {
        asking.attempt_value()
    }
    /// Take the lock with this value, if nobody has it.
    fn take(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// Extend the lock by a ttl, if it has this value.
    fn extend(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// End the lock, if it has this value.
    fn give_back(asking: &Asking, value: String) -> <Self::Api as Api>::Request;
    /// What has the lock?
    fn look(asking: &Asking) -> <Self::Api as Api>::Request;
    /// What an answer means; `None` for what answers nothing that a keeper asks.
    fn understand(reply: <Self::Api as Api>::Reply) -> Option<Meaning>;
    /// Until when a lease may be believed in that was asked for at `sent`.
    fn valid_until(asking: &Asking, _now: Now, sent: u64) -> u64 {
        sent + asking.ttl()
    }
    /// A follower has looked, and the lock holds this.
    fn looked(_keeper: &mut Keeper<Self>, _now: Now, _value: Option<Vec<u8>>, _out: &mut Out<Self>) {}
    /// A leader is to hand over to this candidate.
    fn transfer(_keeper: &mut Keeper<Self>, _now: Now, _to: NodeId, _out: &mut Out<Self>) {}
    /// The answer to something that it has asked beside.
    fn answered(_: &mut Keeper<Self>, _: Now, _asked: Self::More, _reply: Answer<Self>, _: &mut Out<Self>) {}
}

/// The lease that this node believes to hold.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    /// What the lock holds while it is ours.
    value: String,
    /// What the belief is worth.
    leadership: Leadership,
}

/// The one request under way.
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
    /// A value of ours that may be in the lock although we do not lead; to be given back before the next attempt.
    leftover: Option<String>,
    /// Until then others go first.
    held_off_until: u64,
    /// `Campaign` is still to be said.
    campaign_due: bool,
    back_off: BackOff,
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
        }
    }

    pub(super) fn ask(&mut self, request: <S::Api as Api>::Request, asked: Asked<S::More>, out: &mut Out<S>) {
        self.under_way = Some((self.asking.ask(request, out), asked));
    }

    /// A follower's turn: cleans up, tries to acquire, or only looks while others go first.
    fn poll(&mut self, now: Now, out: &mut Out<S>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if self.leftover.is_some() {
            coverage::mark(S::MARKS.cleans_up);
            self.clean_up(out);
        } else if now.mono < self.held_off_until {
            coverage::mark(S::MARKS.held_off);
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

    /// Gives back what may be ours and is not believed any more.
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
            (Asked::Acquire { .. }, Ok(Some(Meaning::Refused))) => self.look(out),
            // The service said no: nothing was taken. The next poll tries again.
            (Asked::Acquire { .. }, Err(Failure::Rejected(_))) => {}
            (Asked::Acquire { value, .. }, _) => {
                coverage::mark(S::MARKS.leftover);
                self.give_back(value, out);
            }
            (Asked::Look, Ok(Some(Meaning::Held(value)))) => {
                self.asking.observe(value.as_deref(), out);
                S::looked(self, now, value, out);
            }
            (Asked::Renew { sent }, Ok(Some(Meaning::Done))) => self.renewed(now, sent, out),
            (Asked::Renew { .. }, Ok(Some(Meaning::Refused))) => {
                coverage::mark(S::MARKS.renewal_refused);
                self.depose(now, Deposed::Lost, out);
                self.look(out);
            }
            (Asked::GiveBack, Ok(_)) => {
                self.leftover = None;
                if now.mono >= self.held_off_until {
                    self.acquire(now, out);
                }
            }
            // A renewal without an answer is tried again at the next interval, until the belief lapses; the rest at the
            // next poll.
            _ => {}
        }
    }

    pub(super) fn lead(&mut self, now: Now, value: String, token: u64, sent: u64, out: &mut Out<S>) {
        let leadership = Leadership { token, valid_until: S::valid_until(&self.asking, now, sent) };
        if leadership.valid_until <= now.mono {
            coverage::mark(S::MARKS.too_late);
            // The answer was so late that there is nothing left to believe.
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

    /// Ends the belief, first of all, and gives the lock back.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Out<S>) {
        let Some(value) = self.stop_believing(now, why, out) else { return };
        if why != Deposed::Lost {
            self.give_back(value, out);
        }
    }

    /// Ends the belief; what the lock held. What is under way is a renewal that has become pointless.
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
        // Who was refused by the resource goes back to polling; who resigned lets others go first.
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
        // Before anything else: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            coverage::mark(S::MARKS.expired);
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
            Input::Transfer(to) if self.lease.is_some() => S::transfer(self, now, to, out),
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that ended meanwhile, a follower's resignation; there are no streams.
            _ => {}
        }
    }
}
