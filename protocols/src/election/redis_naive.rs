//! `redis-naive`: an instructive bad default, included to fail as it does in production.
//!
//! **Where it comes from.** A typical first attempt: `SET key id NX PX ttl` to acquire, `PEXPIRE key ttl` to renew,
//! `DEL key` to release (the article "Leader Election": "a naive Redis lease has no fencing and no consensus, so use it
//! to demonstrate the failure, then fix it").
//!
//! **What it assumes about time.** That it is never late. It believes until Redis says that the key is gone, and never
//! checks a clock.
//!
//! **What breaks it.** Any pause or partition longer than the TTL. Redis gives the key to another candidate; the old
//! leader returns, its `PEXPIRE` finds *a* key and succeeds, and from then on it renews the other's lease and both
//! believe indefinitely. Its plain `DEL` can delete another's key. There is no token, so no ledger can tell the two
//! apart.
//!
//! **What shows it.** `gc-pause`, `partition`.

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    asking::{Asking, POLL, RENEW, RETRIED},
    hazard,
    promise::{self, UNFENCED},
    redis_common::{self, Input, Output},
};
use crate::{
    clock::Now,
    elector::{Deposed, Elector, RequestNumber, ServiceInput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::redis::{self, Reply, Request},
    types::{Leadership, SECOND},
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-naive",
    about: "SET NX PX, renewed and released without checking whose key it is: the wrong default, to show what goes wrong",
    service: &redis::SERVICE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.retry_period(),
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(RedisNaive::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_SERVICE => UNFENCED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::STARVATION => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// A belief that does not expire.
const BELIEF: Leadership = Leadership { token: 0, valid_until: u64::MAX };

/// The request under way whose answer matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Acquire,
    Look,
    Renew,
    Release,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RedisNaive {
    asking: Asking,
    leading: bool,
    under_way: Option<(RequestNumber, Asked)>,
    /// Others go first until then, after a resignation.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
}

impl RedisNaive {
    fn new(setup: Setup) -> Self {
        RedisNaive {
            asking: Asking::new(setup),
            leading: false,
            under_way: None,
            held_off_until: 0,
            campaign_due: true,
        }
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.under_way = Some((self.asking.ask(request, out), asked));
    }

    /// A follower's poll: tries to acquire, or only reads while others go first.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if now.mono < self.held_off_until {
            return self.look(out);
        }
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let request = Request::SetNxPx {
            key: redis_common::key(&self.asking.setup),
            value: self.asking.process_value(),
            ttl_ms: self.asking.ttl_ms(),
        };
        self.ask(request, Asked::Acquire, out);
    }

    fn look(&mut self, out: &mut Vec<Output>) {
        self.ask(Request::Get { key: redis_common::key(&self.asking.setup) }, Asked::Look, out);
    }

    /// The leader's renewal. It does not care whether the last one was answered.
    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        if self.under_way.is_some() {
            return;
        }
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(
            Request::Pexpire { key: redis_common::key(&self.asking.setup), ttl_ms: self.asking.ttl_ms() },
            Asked::Renew,
            out,
        );
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Acquire, Ok(Reply::Done(true))) => self.lead(now, out),
            (Asked::Acquire, Ok(_)) => self.look(out),
            (Asked::Look, Ok(Reply::Value(value))) => self.asking.observe(value.as_deref(), out),
            (Asked::Renew, Ok(Reply::Done(true))) => {
                // Some key was renewed. It does not ask whose.
                out.push(Output::Point(Point::Renewed));
                out.push(Output::Renewed(BELIEF));
            }
            (Asked::Renew, Ok(Reply::Done(false))) => self.depose(now, Deposed::Lost, out),
            // It ignores a failed or unknown renewal, which is its mistake. A key taken by an unknown acquisition
            // expires by itself, as does one whose deletion failed.
            _ => {}
        }
    }

    fn lead(&mut self, now: Now, out: &mut Vec<Output>) {
        self.leading = true;
        self.asking.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        out.push(Output::Elected(BELIEF));
    }

    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        self.leading = false;
        self.under_way = None;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
    }
}

impl Elector for RedisNaive {
    type Peer = Nothing;
    type Service = redis::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.poll(now, out),
            Input::Timer(POLL) if !self.leading => self.poll(now, out),
            Input::Timer(RENEW) if self.leading => self.renew(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some((_, asked)) = self.under_way.take_if(|(under_way, _)| *under_way == number) {
                    self.answered(now, asked, reply, out);
                }
            }
            Input::Resign if self.leading => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
                self.held_off_until = now.mono + self.asking.ttl();
                self.ask(Request::Del { key: redis_common::key(&self.asking.setup) }, Asked::Release, out);
            }
            Input::Fenced if self.leading => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that has ended; Redis has no streams.
            _ => {}
        }
    }
}
