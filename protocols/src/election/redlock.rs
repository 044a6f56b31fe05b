//! `redlock`: the lock of a majority of independent Redis servers.
//!
//! **Where it comes from.** leandromoreira/redlock-rb 0.1.7, `lib/redlock/client.rb: Client#try_lock_instances,
//! #lock_instances, #drift, #timed, #unlock, RedisInstance#lock`, at its defaults: the servers are asked in turn, for
//! 0.1 s each, and once more if one is silent or its connection breaks (redis/redis-rb 4.0.1, `lib/redis/client.rb:
//! Client#ensure_connected`, `reconnect_attempts`). A lock granted by a majority is valid for `ttl − elapsed −
//! (0.01·ttl + 2 ms)`; otherwise all servers are told to unlock, and after a random wait below 200 ms it is tried
//! again, three times in all. Later releases differ: 0.1.8 tries four times and extends only once, 0.2.0 waits 200 ms
//! and up to 50 more, 1.0.0 reads the monotonic clock. Beyond the library, an election needs this: the holder extends
//! every ttl/3 by `lock(…, extend: info)`, and stops by its own clock.
//!
//! **What it assumes about time.** All servers' *wall* clocks, by which keys expire, and the holder's clock run at
//! rates within one per cent of each other, and are never set; no process pauses after it checked the validity; a
//! server that restarts without its data stays away for a TTL ("delayed restarts"). `elapsed` is read from the wall
//! clock: if that is set back during a lock, the validity exceeds the keys' lifetime; if set forward, it is worthless.
//!
//! **What breaks it.** A pause beyond the validity: there is **no token**, and five independent servers cannot provide
//! one, so the resource cannot tell the sleeper from its successor (Kleppmann 2016). A majority whose clocks are set
//! forward. A server of the majority that returns empty and votes again. And the library itself: a failed extension
//! *first unlocks every server* and then returns, or retries with the same value; meanwhile its caller believes in the
//! earlier validity, and another may get the lock. So briefly losing three servers makes two leaders.
//!
//! **What shows it.** `gc-pause`; `clock-step`, where the servers' clocks are set; `flapping`; `--bug
//! redis-forgotten-on-restart` with one member of the majority killed (`sim/tests/all/redlock.rs`).
//!
//! The library uses a random value per lock; here it also names the holder, `<name>/<nonce>/<attempt>`: others read the
//! servers in turn until a majority agrees, and try only if none does. Trying blindly would cost 30 requests a turn.

pub mod drill;
pub mod from_sending;
mod timing;

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    asking::{Asking, EXPIRE, POLL, RENEW, RETRIED},
    hazard,
    promise::{self, UNFENCED},
    redis_common,
};
use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::{
        redis::{Reply, Request},
        redis_servers::{self, Api},
    },
    types::{Leadership, MILLISECOND, SECOND},
};
use std::collections::BTreeMap;
use timing::{belief_overlap, drift_ms, longest_belief};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redlock",
    about: "The lock of a majority of five independent Redis, as redlock-rb takes it; no token",
    service: &redis_servers::SERVICE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    // The keys may expire while a follower waits after its last attempt, and another follower may then get in its way.
    takeover_max: |timings, _| timings.retry_period() + 2 * RETRY_DELAY,
    read_lease: Some(|timings| (longest_belief(timings), timings.lease_ttl)),
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
    elector: |setup| boxed(Redlock::new(setup)),
    promise: |hazard, _| match hazard {
        hazard::PAUSE_BEYOND_LEASE => UNFENCED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS => Promise::Holds,
        // A partition short enough for an extension to fail, and for the servers to be told so, makes two leaders.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap,
};

/// The number of attempts per lock.
const TRIES: u32 = 3;
/// The longest wait after an attempt; nanoseconds.
const RETRY_DELAY: u64 = 200 * MILLISECOND;
/// The timeout of a single server, connecting to it included, nanoseconds.
pub const SERVER_TIMEOUT: u64 = 100 * MILLISECOND;
/// The end of the wait after a failed attempt.
const RETRY: TimerId = 3;

/// This node's lock, as it believes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    value: String,
    leadership: Leadership,
}

/// The current step at the servers, which are asked in turn.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    /// They are asked for the lock; `granted` have given it.
    Lock { granted: usize, began: Now },
    /// They are told to unlock.
    Unlock { then: Then },
    /// They are asked for the key's value; without a majority, the lock is tried next if `tries`.
    Look { seen: BTreeMap<Vec<u8>, usize>, tries: bool },
    /// Waits for [`RETRY`].
    Wait,
}

/// The step after unlocking all servers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Then {
    /// The next attempt.
    Retry,
    /// The next poll.
    Poll,
}

/// A call into the library that has not returned yet.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Call {
    value: String,
    /// Whether it extends the held lock.
    extends: bool,
    tries_left: u32,
    step: Step,
    /// The current server, and the request to it.
    member: usize,
    number: RequestNumber,
    /// Whether this is the second request to it, over a new connection.
    again: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Redlock {
    asking: Asking,
    lease: Option<Lease>,
    call: Option<Call>,
    /// Others go first until then.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
}

impl Redlock {
    fn new(setup: Setup) -> Self {
        let asking = Asking::new(setup);
        Redlock { asking, lease: None, call: None, held_off_until: 0, campaign_due: true }
    }

    fn servers(&self) -> usize {
        self.asking.setup.service.len()
    }

    fn quorum(&self) -> usize {
        self.servers() / 2 + 1
    }

    /// Begins a call with this step.
    fn call(&mut self, now: Now, value: String, extends: bool, step: Step, out: &mut Vec<Output>) {
        self.call = Some(Call { value, extends, tries_left: TRIES, step, member: 0, number: 0, again: false });
        self.ask(now, out);
    }

    /// A follower's poll: reads, and tries to lock if no majority agrees, unless others go first.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.call.is_some() {
            return;
        }
        let tries = now.mono >= self.held_off_until;
        if !tries {
            crate::mark!("redis: lets others go first");
        }
        self.look(now, tries, out);
    }

    fn lock(&mut self, now: Now, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let value = redis_common::attempt_value(&mut self.asking);
        self.call(now, value, false, Step::Lock { granted: 0, began: now }, out);
    }

    fn look(&mut self, now: Now, tries: bool, out: &mut Vec<Output>) {
        self.call(now, String::new(), false, Step::Look { seen: BTreeMap::new(), tries }, out);
    }

    fn extend(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        let Some(lease) = self.lease.as_ref().filter(|_| self.call.is_none()) else { return };
        let value = lease.value.clone();
        out.push(Output::Point(Point::BeforeRenew));
        self.call(now, value, true, Step::Lock { granted: 0, began: now }, out);
    }

    /// Asks the current server; after the last one, continues with the next step.
    fn ask(&mut self, now: Now, out: &mut Vec<Output>) {
        let (key, ttl_ms, servers) = (redis_common::key(&self.asking.setup), self.asking.ttl_ms(), self.servers());
        let Some(call) = &mut self.call else { return };
        if call.member >= servers {
            return self.all_asked(now, out);
        }
        let value = call.value.clone();
        let request = match &call.step {
            Step::Lock { .. } => Request::Lock { key, value, ttl_ms },
            Step::Unlock { .. } => Request::CompareAndDelete { key, value },
            Step::Look { .. } => Request::Get { key },
            Step::Wait => return,
        };
        let number = self.asking.next_number();
        call.number = number;
        let request = redis_servers::Request { member: call.member, request };
        let timeout = SERVER_TIMEOUT.min(self.asking.setup.timings.request_timeout);
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
    }

    /// The current server has answered, refused, or stayed silent; for a lock, the latter two are a no.
    fn answered(&mut self, now: Now, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let quorum = self.quorum();
        let Some(call) = &mut self.call else { return };
        match (&mut call.step, reply) {
            (Step::Lock { granted, .. }, Ok(Reply::Done(true))) => *granted += 1,
            (Step::Look { seen, .. }, Ok(Reply::Value(Some(value)))) => {
                let count = seen.entry(value.clone()).or_default();
                *count += 1;
                if *count >= quorum {
                    return self.looked(now, Some(&value), false, out);
                }
            }
            // redis-rb disconnects, and asks once more over a new connection.
            (_, Err(Failure::Unknown(_))) if !call.again => {
                call.again = true;
                return self.ask(now, out);
            }
            _ => {}
        }
        (call.member, call.again) = (call.member + 1, false);
        self.ask(now, out);
    }

    fn all_asked(&mut self, now: Now, out: &mut Vec<Output>) {
        let quorum = self.quorum();
        let Some(call) = self.call.take() else { return };
        match call.step {
            Step::Lock { granted, began } => {
                let elapsed_ms = wall_ms(now) - wall_ms(began);
                let ttl_ms = self.asking.ttl_ms();
                let left_ms = ttl_ms as i64 - elapsed_ms - drift_ms(ttl_ms) as i64;
                match u64::try_from(left_ms) {
                    Ok(validity_ms) if granted >= quorum => {
                        self.locked(now, call, began, validity_ms.saturating_mul(MILLISECOND), out);
                    }
                    _ => {
                        crate::mark!("redlock: a try gets no majority, and unlocks all");
                        let step = Step::Unlock { then: Then::Retry };
                        self.call = Some(Call { step, member: 0, ..call });
                        self.ask(now, out);
                    }
                }
            }
            Step::Unlock { then: Then::Retry } => {
                let wait = self.asking.draw(RETRY_DELAY);
                out.push(Output::SetTimer { id: RETRY, at: now.mono + wait });
                self.call = Some(Call { step: Step::Wait, tries_left: call.tries_left - 1, ..call });
            }
            Step::Unlock { then: Then::Poll } => self.poll_later(now, out),
            Step::Look { tries, .. } => self.looked(now, None, tries, out),
            Step::Wait => self.call = Some(call),
        }
    }

    /// The wait after an attempt is over: tries again, or the call returns without a lock.
    fn retry(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(call) = self.call.take_if(|call| call.step == Step::Wait) else { return };
        if call.tries_left > 0 {
            let value = if call.extends { call.value } else { redis_common::attempt_value(&mut self.asking) };
            let step = Step::Lock { granted: 0, began: now };
            self.call = Some(Call { value, step, member: 0, ..call });
            self.ask(now, out);
        } else if call.extends {
            crate::mark!("redlock: an extension fails, and the lock is given up");
            self.depose(now, Deposed::Lost, out);
        } else {
            self.look(now, false, out);
        }
    }

    fn locked(&mut self, now: Now, call: Call, began: Now, validity: u64, out: &mut Vec<Output>) {
        let leadership = Leadership { token: 0, valid_until: now.mono.saturating_add(validity) };
        if let Some(lease) = &mut self.lease {
            lease.leadership = leadership;
            out.push(Output::Point(Point::Renewed));
            out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
            return out.push(Output::Renewed(leadership));
        }
        if validity == 0 {
            let step = Step::Unlock { then: Then::Poll };
            return self.call(now, call.value, false, step, out);
        }
        self.lease = Some(Lease { value: call.value, leadership });
        self.asking.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: began.mono + self.asking.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn looked(&mut self, now: Now, value: Option<&[u8]>, tries: bool, out: &mut Vec<Output>) {
        out.extend(self.asking.news(value).map(Output::Observed));
        match tries {
            true => self.lock(now, out),
            false => self.poll_later(now, out),
        }
    }

    fn poll_later(&mut self, now: Now, out: &mut Vec<Output>) {
        self.call = None;
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
    }

    /// Ends the belief first. An extension under way has become pointless.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(lease) = self.lease.take() else { return };
        out.push(Output::Deposed(why));
        out.extend([RENEW, EXPIRE, RETRY].map(Output::CancelTimer));
        if let Some(call) = self.call.take() {
            out.push(Output::Service(ServiceOutput::Cancel(call.number)));
        }
        let wait = match why {
            Deposed::Expired | Deposed::Lost => 0,
            Deposed::Fenced => self.asking.poll_wait(),
            Deposed::Resigned | Deposed::Stuck => self.asking.ttl(),
        };
        self.held_off_until = now.mono + wait;
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        match why {
            // The failed extension has unlocked all servers.
            Deposed::Lost => self.look(now, false, out),
            _ => self.call(now, lease.value, false, Step::Unlock { then: Then::Poll }, out),
        }
    }
}

/// As `Time.now` is read: whole milliseconds of the wall clock.
fn wall_ms(now: Now) -> i64 {
    i64::try_from(now.wall / MILLISECOND).unwrap_or(i64::MAX)
}

impl Elector for Redlock {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            crate::mark!("redis: the belief ends by the clock");
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.poll(now, out),
            Input::Timer(POLL) if self.lease.is_none() => self.poll(now, out),
            Input::Timer(RENEW) if self.lease.is_some() => self.extend(now, out),
            Input::Timer(RETRY) => self.retry(now, out),
            Input::Service(ServiceInput::Reply { number, reply })
                if self.call.as_ref().is_some_and(|call| call.number == number) =>
            {
                self.answered(now, reply, out);
            }
            Input::Resign if self.lease.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that has ended, or a follower's resignation; Redis has no streams.
            _ => {}
        }
    }
}
