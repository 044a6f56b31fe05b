//! `redis-fenced`: the lease of `redis-lease` with a fencing token, so that the resource can refuse the past.
//!
//! **Where it comes from.** Reference text "Leader Election Gone Wrong", Fix 2. The text's script calls `INCR` before `SET NX`
//! and so burns a token on every failed attempt; here the token is drawn only when the key was taken, in the same script:
//! tokens are allocated atomically with the acquisition (fencing rule 6), and without gaps from losing.
//!
//! **What it assumes about time.** For safety nothing: the resource orders writes by token, whatever anybody believes. For
//! the *belief* to be unique it assumes what `redis-lease` does: one ttl of the node's monotonic clock from when the last
//! confirmed request was *sent* ends no later than Redis's ttl on its wall clock (redis/redis, `src/db.c: keyIsExpired`).
//!
//! **What breaks it.** Fencing off: then it is `redis-lease`. Redis forgetting the counter (a lost disk, a replica promoted
//! too early, `FLUSHALL`): tokens start again below what the resource has seen, and every new leader is refused until the
//! counter has caught up, one election each; candidates then stay away for longer and longer. A pause longer than the lease makes two nodes believe, and the ledger refuses
//! the older.
//!
//! **What shows it.** `gc-pause`, with fencing and without.
//!
//! **Whose key is it?** The value is new for each *attempt*, `<name>/<nonce>/<attempt>`. A request that took effect late (a
//! network may keep one for a while after we gave it up) can then never renew, delete or stand for another attempt's key. An
//! acquisition whose outcome is unknown is never believed, its token is not known either: it is given back, by
//! compare-and-delete of its own value, before the next attempt; so is a lease that lapsed. At worst the key is nobody's for
//! one ttl, and a token is skipped.
//!
//! **A named successor** gets the key in one script: if it is still ours, its value becomes `<successor>/handed/<token>`,
//! with the next token, for a whole ttl. Whoever finds its own name there when it looks takes the key over from that value by
//! the same script, to a value and with a token of its own attempt: so a process that was started again meanwhile has no token
//! that its former self had. The leader stops believing before it asks. If no answer comes, it deletes the key unless it was
//! handed over; if the successor never looks, the key is nobody's for one ttl.
//!
//! `redis_lease.rs` is this file without the token; `diff` shows what that takes.

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    back_off::BackOff,
    promise::{self, UNCHECKED},
    redis_common::{EXPIRE, Input, Output, POLL, RENEW, RETRIED, RedisRequests, token_key_of},
};
use crate::{
    clock::Now,
    elector::{Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::redis::{self, Reply, Request},
    types::{Leadership, NodeId, SECOND},
};

pub use super::redis_common::TOKEN_KEY;

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-fenced",
    about: "redis-lease with a fencing token that is drawn in the script that takes the key",
    service: &redis::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.retry_period(),
    // The key lasts from when the request arrived, the belief from when it was sent.
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: true,
    changes_members: false,
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(RedisFenced::new(setup)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss | Hazard::ServiceRestored | Hazard::ServiceForgets => promise::granted_again(fencing),
        // The server knows of one lock, and its leader is not who believes by the other.
        Hazard::MixedLocks if fencing => Promise::Breaks(&["phantom_leader"]),
        Hazard::MixedLocks => UNCHECKED,
        _ if fencing => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        Hazard::None | Hazard::Crash | Hazard::Resignation | Hazard::ClockDrift => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart | Hazard::Starvation => Promise::Holds,
        Hazard::Flapping | Hazard::MissingLink | Hazard::Transfer => Promise::Holds,
        Hazard::CutOffFromService | Hazard::DelayedRenewals | Hazard::SlowService => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// The lease that this node believes to hold.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    /// What the key holds while it is ours.
    value: String,
    /// What the belief is worth.
    leadership: Leadership,
}

/// The one request under way.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    Acquire {
        value: String,
        sent: u64,
    },
    Look,
    Renew {
        sent: u64,
    },
    GiveBack,
    /// To hand the key over, which holds this.
    HandOver {
        value: String,
    },
    /// To take over what was handed to us, with a value that begins so.
    TakeOver {
        value: String,
        sent: u64,
    },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RedisFenced {
    redis: RedisRequests,
    lease: Option<Lease>,
    under_way: Option<(RequestNumber, Asked)>,
    /// A value of ours that may be in the key although we do not lead; to be deleted before the next attempt.
    leftover: Option<String>,
    /// Until then others go first.
    held_off_until: u64,
    /// `Campaign` is still to be said.
    campaign_due: bool,
    back_off: BackOff,
}

impl RedisFenced {
    fn new(setup: Setup) -> Self {
        let redis = RedisRequests::new(setup);
        let (lease, under_way, leftover) = (None, None, None);
        let back_off = BackOff::default();
        RedisFenced { redis, lease, under_way, leftover, held_off_until: 0, campaign_due: true, back_off }
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.under_way = Some((self.redis.ask(request, out), asked));
    }

    /// A follower's turn: cleans up, tries to acquire, or only looks while others go first.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.redis.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if self.leftover.is_some() {
            crate::mark!(RedisCleansUp);
            self.give_back(out);
        } else if now.mono < self.held_off_until {
            crate::mark!(RedisHeldOff);
            self.look(out);
        } else {
            self.acquire(now, out);
        }
    }

    fn acquire(&mut self, now: Now, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let value = self.redis.attempt_value();
        let request = Request::AcquireFenced {
            key: self.redis.key(),
            token_key: token_key_of(self.redis.setup.group).into_owned(),
            value: value.clone(),
            ttl_ms: self.redis.ttl_ms(),
        };
        self.ask(request, Asked::Acquire { value, sent: now.mono }, out);
    }

    fn look(&mut self, out: &mut Vec<Output>) {
        self.ask(Request::Get { key: self.redis.key() }, Asked::Look, out);
    }

    /// Deletes what may be ours and is not believed any more.
    fn give_back(&mut self, out: &mut Vec<Output>) {
        if let Some(value) = self.leftover.clone() {
            self.ask(Request::CompareAndDelete { key: self.redis.key(), value }, Asked::GiveBack, out);
        }
    }

    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.redis.setup.timings.renew_interval });
        let Some(lease) = self.lease.as_ref().filter(|_| self.under_way.is_none()) else { return };
        let request = Request::CompareAndPexpire {
            key: self.redis.key(),
            value: lease.value.clone(),
            ttl_ms: self.redis.ttl_ms(),
        };
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(request, Asked::Renew { sent: now.mono }, out);
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Acquire { value, sent }, Ok(Reply::Token(Some(token)))) => {
                self.lead(now, value, token, sent, out);
            }
            (Asked::Acquire { .. }, Ok(Reply::Token(None))) => self.look(out),
            // The server said no: nothing was taken. The next poll tries again.
            (Asked::Acquire { .. }, Err(Failure::Rejected(_))) => {}
            (Asked::Acquire { value, .. }, _) => {
                crate::mark!(RedisLeftover);
                self.leftover = Some(value);
                self.give_back(out);
            }
            (Asked::Look, Ok(Reply::Value(value))) => {
                self.redis.observe(value.as_deref(), out);
                self.take_over(now, value, out);
            }
            (Asked::TakeOver { value, sent }, Ok(Reply::Token(Some(token)))) => {
                self.lead(now, format!("{value}{token}"), token, sent, out);
            }
            (Asked::HandOver { .. }, Ok(Reply::Token(_))) => {}
            // It may be ours still, or handed over.
            (Asked::HandOver { value }, _) => {
                self.leftover = Some(value);
                self.give_back(out);
            }
            (Asked::Renew { sent }, Ok(Reply::Done(true))) => self.renewed(sent, out),
            (Asked::Renew { .. }, Ok(Reply::Done(false))) => {
                crate::mark!(RedisRenewalRefused);
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
            (Asked::Look | Asked::Renew { .. } | Asked::GiveBack | Asked::TakeOver { .. }, _) => {}
        }
    }

    /// Takes the key over if it was handed to this node. What comes of it without an answer lapses.
    fn take_over(&mut self, now: Now, held: Option<Vec<u8>>, out: &mut Vec<Output>) {
        let handed = handed_to(self.redis.name());
        let Some(value) = held.and_then(|held| String::from_utf8(held).ok()).filter(|held| held.starts_with(&handed))
        else {
            return;
        };
        let to = format!("{}/", self.redis.attempt_value());
        let request = self.hand_over_to(value, to.clone());
        self.ask(request, Asked::TakeOver { value: to, sent: now.mono }, out);
    }

    fn hand_over_to(&self, value: String, to: String) -> Request {
        let (key, token_key) = (self.redis.key(), token_key_of(self.redis.setup.group).into_owned());
        Request::HandOver { key, token_key, value, to, ttl_ms: self.redis.ttl_ms() }
    }

    /// Stops believing, and then gives the key to a named successor.
    fn hand_over(&mut self, now: Now, to: NodeId, out: &mut Vec<Output>) {
        let Some(heir) = self.redis.setup.names.get(to.index()).filter(|_| to != self.redis.setup.node) else { return };
        let handed = handed_to(heir);
        out.push(Output::Point(Point::BeforeRelease));
        let Some(value) = self.stop_believing(now, Deposed::Resigned, out) else { return };
        let request = self.hand_over_to(value.clone(), handed);
        self.ask(request, Asked::HandOver { value }, out);
    }

    fn lead(&mut self, now: Now, value: String, token: u64, sent: u64, out: &mut Vec<Output>) {
        let leadership = Leadership { token, valid_until: sent + self.redis.ttl() };
        if leadership.valid_until <= now.mono {
            crate::mark!(RedisTooLate);
            // The answer was so late that there is nothing left to believe.
            self.leftover = Some(value);
            return self.give_back(out);
        }
        self.lease = Some(Lease { value, leadership });
        self.redis.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: sent + self.redis.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn renewed(&mut self, sent: u64, out: &mut Vec<Output>) {
        let Some(lease) = &mut self.lease else { return };
        lease.leadership.valid_until = sent + self.redis.ttl();
        self.back_off.confirmed();
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: lease.leadership.valid_until });
        out.push(Output::Renewed(lease.leadership));
    }

    /// Ends the belief, first of all, and gives the key back.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(value) = self.stop_believing(now, why, out) else { return };
        if why != Deposed::Lost {
            self.leftover = Some(value);
            self.give_back(out);
        }
    }

    /// Ends the belief; what the key held. What is under way is a renewal that has become pointless.
    fn stop_believing(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) -> Option<String> {
        let lease = self.lease.take()?;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        let wait = self.redis.poll_wait();
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
        // Who was refused by the resource goes back to polling; who resigned lets others go first.
        self.held_off_until = now.mono
            + match why {
                Deposed::Expired | Deposed::Lost => 0,
                Deposed::Fenced => wait.max(self.back_off.refused()),
                Deposed::Resigned | Deposed::Stuck => self.redis.ttl(),
            };
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        Some(lease.value)
    }
}

/// How the value begins of a key that was handed to the candidate of that name.
fn handed_to(name: &str) -> String {
    format!("{name}/handed/")
}

impl Elector for RedisFenced {
    type Peer = Nothing;
    type Service = redis::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // Before anything else: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            crate::mark!(RedisExpired);
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
            Input::Transfer(to) if self.lease.is_some() => self.hand_over(now, to, out),
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that ended meanwhile, a follower's resignation; Redis has no streams.
            _ => {}
        }
    }
}
