//! `margin-lease`: whoever holds a key in Redis leads, and stops believing a margin before the key expires.
//!
//! **Where it comes from.** Redlock's algorithm with a single server: it subtracts 1 % of the TTL for clocks that differ
//! (leandromoreira/redlock-rb, `CLOCK_DRIFT_FACTOR`). The token comes from a counter, in the script that takes the key.
//!
//! **How it elects.** Candidates try to take the key. The leader extends it while it has the leader's value; that value is
//! new for each attempt, so that a late request cannot extend or delete another attempt's key.
//!
//! **What it assumes about time.** Nothing for the token. A belief lasts a TTL less the margin from when the confirmed
//! request was *sent*; Redis counts the TTL from when it *arrived*, by its wall clock. So two nodes never believe at once
//! while clock rates differ by less than the margin, and the server's wall clock does not jump ahead.
//!
//! **What breaks it.** A pause between the check of the belief and the write, where nobody checks the token. If Redis
//! loses its data, it grants tokens again.

use protocols::{
    clock::Now,
    election::{
        Conditions, OwnTimers, Promise, Protocol, Setup, Timings, hazard,
        promise::{self, UNCHECKED},
        redis_common::{key_of, token_key_of},
        redis_fenced,
    },
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    parameter::{Parameter, Place, Takes},
    payload::Nothing,
    point::Point,
    service::redis::{self, Reply, Request},
    types::{Leadership, MILLISECOND, SECOND, TimerId},
};

type Input = elector::Input<Nothing, redis::Api>;
type Output = elector::Output<Nothing, redis::Api>;

pub static PROTOCOL: Protocol = Protocol {
    name: "margin-lease",
    about: "A key in Redis with a fencing token; the leader stops a margin before the key expires",
    service: &redis::SERVICE,
    default_lease_ttl: 3 * SECOND,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.renew_interval,
    read_lease: Some(|timings| (belief(timings), timings.lease_ttl)),
    transfers: false,
    parameters: &[MARGIN],
    timers: OwnTimers::NONE,
    elector: |setup| boxed(MarginLease::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED | hazard::SERVICE_FORGETS => {
            promise::granted_again(fencing)
        }
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK => Promise::Holds,
        _ => Promise::May,
    },
    belief_overlap: |timings, c: &Conditions| {
        Some(c.slow(belief(timings)).saturating_sub(c.service(timings.lease_ttl)))
    },
    // It has a token, no preferred candidate, no messages between candidates and nothing on disk, either.
    ..redis_fenced::PROTOCOL
};

/// `--set margin-lease.margin=5`.
pub const MARGIN: Parameter = Parameter {
    name: "margin",
    takes: Takes::Count { least: 0, most: 50 },
    usual: "1",
    about: "Percentage of the TTL by which the leader stops before the key expires",
    place: Place::Values,
};

/// The key's TTL, milliseconds.
fn ttl_ms(timings: &Timings) -> u64 {
    (timings.lease_ttl / MILLISECOND).max(1)
}

/// How long a leader believes after it sent the last confirmed request, nanoseconds.
fn belief(timings: &Timings) -> u64 {
    let percent = timings.own.values.get(&MARGIN).unwrap_or(1);
    ttl_ms(timings) * MILLISECOND / 100 * (100 - percent)
}

/// A follower tries again.
const POLL: TimerId = 0;
/// The leader extends its key.
const RENEW: TimerId = 1;
/// The belief ends.
const EXPIRE: TimerId = 2;

/// The request under way, and when it was sent.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    Take { sent: u64 },
    Extend { sent: u64 },
    Release,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct MarginLease {
    setup: Setup,
    /// The value of this node's latest attempt, as long as the key may have it.
    value: Option<String>,
    lease: Option<Leadership>,
    under_way: Option<(RequestNumber, Asked)>,
    requests: RequestNumber,
    campaigning: bool,
    /// After a resignation, others go first until then.
    held_off_until: u64,
}

impl MarginLease {
    fn new(setup: Setup) -> Self {
        let (value, lease, under_way) = (None, None, None);
        MarginLease { setup, value, lease, under_way, requests: 0, campaigning: false, held_off_until: 0 }
    }

    fn ask(&mut self, asked: Asked, out: &mut Vec<Output>) {
        let group = self.setup.group;
        let (key, ttl_ms) = (key_of(group).into_owned(), ttl_ms(&self.setup.timings));
        let value = self.value.clone().unwrap_or_default();
        let request = match asked {
            Asked::Take { .. } => {
                Request::AcquireFenced { key, token_key: token_key_of(group).into_owned(), value, ttl_ms }
            }
            Asked::Extend { .. } => Request::CompareAndPexpire { key, value, ttl_ms },
            Asked::Release => Request::CompareAndDelete { key, value },
        };
        self.requests += 1;
        let (number, timeout) = (self.requests, self.setup.timings.request_timeout);
        self.under_way = Some((number, asked));
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
    }

    /// Each candidate polls at its own pace, so that no two stay in step.
    fn poll_later(&mut self, now: Now, out: &mut Vec<Output>) {
        let twentieths = 14 + (self.setup.nonce ^ self.requests) % 6;
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.setup.timings.renew_interval / 20 * twentieths });
    }

    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        self.poll_later(now, out);
        match self.under_way {
            Some(_) => {}
            None if self.value.is_some() => self.ask(Asked::Release, out),
            None => self.take(now, out),
        }
    }

    fn take(&mut self, now: Now, out: &mut Vec<Output>) {
        if now.mono < self.held_off_until {
            return;
        }
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let Setup { node, names, nonce, .. } = &self.setup;
        self.value = Some(format!("{}/{nonce:016x}/{}", names[node.index()], self.requests));
        self.ask(Asked::Take { sent: now.mono }, out);
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let until = |sent: u64| sent + belief(&self.setup.timings);
        match (asked, reply) {
            (Asked::Take { sent }, Ok(Reply::Token(Some(token)))) if until(sent) > now.mono => {
                let leadership = Leadership { token, valid_until: until(sent) };
                self.lease = Some(leadership);
                self.campaigning = false;
                out.push(Output::CancelTimer(POLL));
                out.push(Output::SetTimer { id: RENEW, at: sent + self.setup.timings.renew_interval });
                out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
                out.push(Output::Elected(leadership));
            }
            (Asked::Take { .. }, Ok(Reply::Token(None))) => self.value = None,
            // Too late for a belief, or nobody knows whether the key was taken, and with which token.
            (Asked::Take { .. }, _) => {
                protocols::mark!("own-elector: an attempt may have left a key that nobody believes in");
                self.ask(Asked::Release, out);
            }
            (Asked::Extend { sent }, Ok(Reply::Done(true))) => {
                let valid_until = until(sent);
                let Some(lease) = &mut self.lease else { return };
                lease.valid_until = valid_until;
                out.push(Output::Point(Point::Renewed));
                out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
                out.push(Output::Renewed(*lease));
            }
            (Asked::Extend { .. }, Ok(Reply::Done(false))) => self.depose(now, Deposed::Lost, out),
            (Asked::Release, Ok(_)) => {
                self.value = None;
                self.take(now, out);
            }
            // No usable answer: the next poll or renewal asks again.
            _ => {}
        }
    }

    /// Ends the belief first, and then releases the key.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        if self.lease.take().is_none() {
            return;
        }
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        if why == Deposed::Resigned {
            self.held_off_until = now.mono + self.setup.timings.lease_ttl;
        }
        self.ask(Asked::Release, out);
        self.poll_later(now, out);
    }
}

impl Elector for MarginLease {
    type Peer = Nothing;
    type Service = redis::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.is_some_and(|lease| lease.valid_until <= now.mono) {
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.poll(now, out),
            Input::Timer(POLL) if self.lease.is_none() => self.poll(now, out),
            Input::Timer(RENEW) if self.lease.is_some() => {
                out.push(Output::SetTimer { id: RENEW, at: now.mono + self.setup.timings.renew_interval });
                if self.under_way.is_none() {
                    out.push(Output::Point(Point::BeforeRenew));
                    self.ask(Asked::Extend { sent: now.mono }, out);
                }
            }
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
            // Timers of an earlier role; a follower's resignation.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Deposed::{Lost, Resigned};

    fn core() -> MarginLease {
        let (names, timings) = (vec!["n1".to_owned()], PROTOCOL.default_timings());
        let (node, stored, service, bugs) = (protocols::types::NodeId(0), None, Vec::new(), Default::default());
        MarginLease::new(Setup { node, group: 0, seat: None, names, timings, nonce: 7, stored, service, bugs })
    }

    /// Whether this input, at that many milliseconds, leads to this output.
    fn says(core: &mut MarginLease, ms: u64, input: Input, expected: &Output) -> bool {
        let mut out = Vec::new();
        core.step(Now { mono: ms * MILLISECOND, wall: 0 }, input, &mut out);
        out.contains(expected)
    }

    fn answer(number: RequestNumber, reply: Reply) -> Input {
        Input::Service(ServiceInput::Reply { number, reply: Ok(reply) })
    }

    fn asks(number: RequestNumber, request: Request) -> Output {
        Output::Service(ServiceOutput::Request { number, request, timeout: SECOND, concurrent: false })
    }

    fn release(attempt: u64) -> Request {
        Request::CompareAndDelete { key: key_of(0).into_owned(), value: format!("n1/{:016x}/{attempt}", 7) }
    }

    #[test]
    fn a_belief_counts_from_sending_and_ends_a_margin_before_the_key() {
        let believes = |ms| Leadership { token: 7, valid_until: ms * MILLISECOND };
        let mut core = core();
        core.step(Now::default(), Input::Start, &mut Vec::new());
        let mut late = core.clone();
        assert!(says(&mut late, 2_970, answer(1, Reply::Token(Some(7))), &asks(2, release(0))), "nothing is left");
        assert!(says(&mut core, 500, answer(1, Reply::Token(Some(7))), &Output::Elected(believes(2_970))));
        let (key, value) = (key_of(0).into_owned(), format!("n1/{:016x}/0", 7));
        let extend = asks(2, Request::CompareAndPexpire { key, value, ttl_ms: 3_000 });
        assert!(says(&mut core, 1_000, Input::Timer(RENEW), &extend));
        let mut lost = core.clone();
        assert!(says(&mut core, 1_900, answer(2, Reply::Done(true)), &Output::Renewed(believes(3_970))));
        assert!(says(&mut lost, 1_900, answer(2, Reply::Done(false)), &Output::Deposed(Lost)), "the key is another's");
        assert!(
            says(&mut core, 2_000, Input::Resign, &Output::Deposed(Resigned)) && core.held_off_until == 5_000_000_000
        );
        assert!(says(&mut lost, 1_950, answer(3, Reply::Done(false)), &Output::Point(Point::BeforeCampaign)));
        assert_eq!(lost.value, Some(format!("n1/{:016x}/3", 7)), "each attempt has a value of its own");
        let fast = |service_fast_ppm| Conditions { service_fast_ppm, ..Conditions::default() };
        let overlap = |ppm| (PROTOCOL.belief_overlap)(&core.setup.timings, &fast(ppm)).unwrap_or(u64::MAX);
        assert!(overlap(10_000) == 0 && overlap(50_000) > 0, "two never believe while clocks differ by less than 1 %");
    }
}
