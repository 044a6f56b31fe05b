//! `redis-lease`: a lease that ends, and a leader that knows when.
//!
//! **Where it comes from.** Reference text "Leader Election Gone Wrong", Fix 1: `SET NX PX` with a ttl of 15 s; every ttl/3 a
//! script renews the key *if it is still ours*; a node that cannot renew stops, "even if it feels healthy". Release compares
//! too. Two things are added that the text's code leaves out although it asks for them: the belief ends by the local clock,
//! so that an unreachable Redis is a lost lease, and a lost answer is not taken for a refusal.
//!
//! **What it assumes about time.** The belief runs for one ttl of the node's monotonic clock from when the last confirmed
//! request was *sent*; Redis counts the same ttl on its wall clock from when it arrived (redis/redis, `src/db.c:
//! keyIsExpired`, `src/t_string.c: getExpireMillisecondsOrReply`). So: both clocks go at the same rate, Redis's does not
//! step forward, and no write takes longer to arrive than a successor takes to be elected.
//!
//! **What breaks it.** A pause between looking at the belief and writing: the write goes out under a lease that ended during
//! the pause. There is no token, so the resource cannot know. Also Redis losing what it acknowledged, and a fast or stepped
//! server clock.
//!
//! **What shows it.** `gc-pause`. In `partition` the leader stops by its own clock before the key can run out.
//!
//! **Whose key is it?** The value is new for each *attempt*, `<name>/<nonce>/<attempt>`. A request that took effect late (a
//! network may keep one for a while after we gave it up) can then never renew, delete or stand for another attempt's key. An
//! acquisition whose outcome is unknown is never believed: it is given back, by compare-and-delete of its own value, before
//! the next attempt; so is a lease that lapsed. At worst the key is nobody's for one ttl.
//!
//! `redis_fenced.rs` is this file plus the token; `diff` shows what that takes.

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    promise::{self, UNFENCED},
    redis_common::{EXPIRE, Input, Output, POLL, RENEW, RETRIED, RedisRequests},
};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    elector::{Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::redis::{self, Reply, Request},
    types::{Leadership, SECOND},
};

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-lease",
    about: "SET NX PX with compare-and-renew, compare-and-delete and a belief that ends by the local clock; no token",
    service: &redis::SERVICE,
    tokened: false,
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
    transfers: false,
    changes_members: false,
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(RedisLease::new(setup)),
    promise: |hazard, _| match hazard {
        Hazard::PauseBeyondLease | Hazard::MixedLocks => UNFENCED,
        Hazard::None | Hazard::Crash | Hazard::Resignation | Hazard::ClockDrift => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart | Hazard::Starvation => Promise::Holds,
        Hazard::Flapping | Hazard::MissingLink => Promise::Holds,
        // The belief is over before the key is, as far as clocks are right.
        Hazard::CutOffFromService | Hazard::DelayedRenewals | Hazard::SlowService => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// Known from leases over slow links: what was granted is counted from when one hears of it.
pub const BELIEF_FROM_ANSWER: Bug = Bug {
    id: "redis-lease-belief-from-answer",
    protocols: &["redis-lease"],
    what: "The leader counts its lease from the answer on, so that it believes for longer than the key lives, by as long as \
           the answer took.",
    source: "derived; in Raft's leases: etcd-io/raft issue 166, sofa-jraft issue 34",
    violation: "dual_belief",
    shown: Shown::by("late-answer", "redis-lease", 4),
};

/// Reference text 000, "Fix 1", as printed.
pub const RENEWAL_THROWS: Bug = Bug {
    id: "redis-lease-renewal-throws",
    protocols: &["redis-lease"],
    what: "A renewal that cannot reach Redis throws before it comes to `isLeader = false`: the leader stops only when it is \
           told that the key is not its own.",
    source: "derived from lease code as tutorials have it: `renew()` has no `catch`, and no clock ends `isLeader`",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("partition", "redis-lease", 4),
};

/// A lock for good.
pub const NO_TTL: Bug = Bug {
    id: "redis-lease-without-ttl",
    protocols: &["redis-lease"],
    what: "The key is set without a time to live: when its holder dies, it is held for ever.",
    source: "derived: `SET key id NX` without `PX`; a lock without an end is a deadlock once its holder dies",
    violation: "liveness",
    shown: Shown::by("clean-kill", "redis-lease", 4),
};

/// In milliseconds as good as for ever: a century.
const FOR_EVER_MS: u64 = 100 * 365 * 24 * 3_600_000;

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
    Acquire { value: String, sent: u64 },
    Look,
    Renew { sent: u64 },
    GiveBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RedisLease {
    redis: RedisRequests,
    lease: Option<Lease>,
    under_way: Option<(RequestNumber, Asked)>,
    /// A value of ours that may be in the key although we do not lead; to be deleted before the next attempt.
    leftover: Option<String>,
    /// Until then others go first.
    held_off_until: u64,
    /// `Campaign` is still to be said.
    campaign_due: bool,
}

impl RedisLease {
    fn new(setup: Setup) -> Self {
        let redis = RedisRequests::new(setup);
        RedisLease { redis, lease: None, under_way: None, leftover: None, held_off_until: 0, campaign_due: true }
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
        let request = Request::SetNxPx { key: self.redis.key(), value: value.clone(), ttl_ms: self.key_ms() };
        self.ask(request, Asked::Acquire { value, sent: now.mono }, out);
    }

    /// How long the key is to live, milliseconds.
    fn key_ms(&self) -> u64 {
        if self.redis.setup.bugs.has(&NO_TTL) { FOR_EVER_MS } else { self.redis.ttl_ms() }
    }

    /// Until when a lease may be believed in that was asked for at `sent`.
    fn valid_until(&self, now: Now, sent: u64) -> u64 {
        if self.redis.setup.bugs.has(&RENEWAL_THROWS) {
            return u64::MAX;
        }
        let from = if self.redis.setup.bugs.has(&BELIEF_FROM_ANSWER) { now.mono } else { sent };
        from + self.redis.ttl()
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
        let request =
            Request::CompareAndPexpire { key: self.redis.key(), value: lease.value.clone(), ttl_ms: self.key_ms() };
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(request, Asked::Renew { sent: now.mono }, out);
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Acquire { value, sent }, Ok(Reply::Done(true))) => self.lead(now, value, sent, out),
            (Asked::Acquire { .. }, Ok(Reply::Done(false))) => self.look(out),
            // The server said no: nothing was taken. The next poll tries again.
            (Asked::Acquire { .. }, Err(Failure::Rejected(_))) => {}
            (Asked::Acquire { value, .. }, _) => {
                crate::mark!(RedisLeftover);
                self.leftover = Some(value);
                self.give_back(out);
            }
            (Asked::Look, Ok(Reply::Value(value))) => self.redis.observe(value.as_deref(), out),
            (Asked::Renew { sent }, Ok(Reply::Done(true))) => self.renewed(now, sent, out),
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
            (Asked::Look | Asked::Renew { .. } | Asked::GiveBack, _) => {}
        }
    }

    fn lead(&mut self, now: Now, value: String, sent: u64, out: &mut Vec<Output>) {
        let leadership = Leadership { token: 0, valid_until: self.valid_until(now, sent) };
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

    fn renewed(&mut self, now: Now, sent: u64, out: &mut Vec<Output>) {
        let valid_until = self.valid_until(now, sent);
        let Some(lease) = &mut self.lease else { return };
        lease.leadership.valid_until = valid_until;
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: lease.leadership.valid_until });
        out.push(Output::Renewed(lease.leadership));
    }

    /// Ends the belief, first of all. What is under way is a renewal that has become pointless.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(lease) = self.lease.take() else { return };
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
                Deposed::Fenced => wait,
                Deposed::Resigned | Deposed::Stuck => self.redis.ttl(),
            };
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        if why != Deposed::Lost {
            self.leftover = Some(lease.value);
            self.give_back(out);
        }
    }
}

impl Elector for RedisLease {
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
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that ended meanwhile, a follower's resignation; Redis has no streams.
            _ => {}
        }
    }
}
