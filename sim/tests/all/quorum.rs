//! A test protocol on several independent Redis servers: a candidate that gets the key from a majority leads while
//! those keys live, counted from when it asked. It has no token. Every server's answers are logged for the test.

use protocols::{
    clock::Now,
    core::TimerId,
    election::{Protocol, Setup, redis_lease},
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    payload::Nothing,
    point::Point,
    service::{
        redis::{Reply as Answer, Request},
        redis_servers::{self, Api},
    },
    types::{Leadership, MILLISECOND, SECOND},
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

pub static QUORUM: Protocol = Protocol {
    name: "redis-quorum",
    about: "The key of a majority of independent Redis servers",
    service: &redis_servers::SERVICE,
    elector: |setup| boxed(Quorum::new(setup)),
    ..redis_lease::PROTOCOL
};

/// A server's answer to an attempt to take its key: if it granted the key, its count of granted keys; `None` if no
/// answer came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    /// The time, in milliseconds from the start of the run, by the candidate's monotonic clock.
    pub at_ms: u64,
    /// The server, counted from 0.
    pub member: usize,
    pub answer: Option<Option<u64>>,
}

/// By the name of the first candidate, which differs between tests.
static HEARD: Mutex<BTreeMap<String, Vec<Heard>>> = Mutex::new(BTreeMap::new());

/// The servers' answers in the run whose first candidate has this name.
pub fn heard(first: &str) -> Vec<Heard> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).remove(first).unwrap_or_default()
}

const POLL: TimerId = 0;
const RENEW: TimerId = 1;
const EXPIRE: TimerId = 2;
/// The interval between a follower's attempts.
const PACE: u64 = 400 * MILLISECOND;

/// The current question to all servers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Take,
    Renew,
    GiveBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Quorum {
    setup: Setup,
    requests: RequestNumber,
    attempts: u64,
    /// The server of each request in flight.
    under_way: BTreeMap<RequestNumber, usize>,
    asked: Asked,
    sent: u64,
    granted: usize,
    value: String,
    leadership: Option<Leadership>,
    campaigns: bool,
}

impl Quorum {
    fn new(setup: Setup) -> Self {
        Quorum {
            setup,
            requests: 0,
            attempts: 0,
            under_way: BTreeMap::new(),
            asked: Asked::Take,
            sent: 0,
            granted: 0,
            value: String::new(),
            leadership: None,
            campaigns: false,
        }
    }

    fn ttl_ms(&self) -> u64 {
        self.setup.timings.lease_ttl / MILLISECOND
    }

    /// Logs a server's answer to an attempt to take its key, for the test.
    fn note(&self, now: Now, member: usize, answer: Option<Option<u64>>) {
        if self.asked != Asked::Take {
            return;
        }
        // Monotonic clocks begin at multiples of a thousand seconds.
        let at_ms = now.mono / MILLISECOND % 1_000_000;
        let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        heard.entry(self.setup.names[0].clone()).or_default().push(Heard { at_ms, member, answer });
    }

    /// Asks every server, and abandons earlier requests still in flight.
    fn ask_all(&mut self, now: Now, asked: Asked, request: &Request, out: &mut Vec<Output>) {
        for (number, member) in std::mem::take(&mut self.under_way) {
            self.note(now, member, None);
            // Otherwise a request to a silent server waits in its queue, and takes effect much later.
            if self.asked != Asked::GiveBack {
                out.push(Output::Service(ServiceOutput::Cancel(number)));
            }
        }
        (self.asked, self.sent, self.granted) = (asked, now.mono, 0);
        for member in 0..self.setup.service.len() {
            self.requests += 1;
            self.under_way.insert(self.requests, member);
            let request = redis_servers::Request { member, request: request.clone() };
            let (number, timeout) = (self.requests, self.setup.timings.request_timeout);
            out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
        }
    }

    fn take(&mut self, now: Now, out: &mut Vec<Output>) {
        let pace = PACE + self.setup.nonce % PACE;
        out.push(Output::SetTimer { id: POLL, at: now.mono + pace });
        if !std::mem::replace(&mut self.campaigns, true) {
            out.push(Output::Campaign);
        }
        // Keys from a minority are released before the next attempt.
        if !self.value.is_empty() {
            self.give_back(now, out);
        }
        self.attempts += 1;
        self.value = format!("{}/{:x}/{}", self.setup.names[self.setup.node.index()], self.setup.nonce, self.attempts);
        let (value, ttl_ms) = (self.value.clone(), self.ttl_ms());
        let take = Request::AcquireFenced { key: "key".into(), token_key: "count".into(), value, ttl_ms };
        self.ask_all(now, Asked::Take, &take, out);
    }

    fn give_back(&mut self, now: Now, out: &mut Vec<Output>) {
        let give_back = Request::CompareAndDelete { key: "key".into(), value: self.value.clone() };
        self.ask_all(now, Asked::GiveBack, &give_back, out);
    }

    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.setup.timings.renew_interval });
        let (value, ttl_ms) = (self.value.clone(), self.ttl_ms());
        self.ask_all(now, Asked::Renew, &Request::CompareAndPexpire { key: "key".into(), value, ttl_ms }, out);
    }

    fn answered(&mut self, now: Now, member: usize, answer: Option<Answer>, out: &mut Vec<Output>) {
        let count = match &answer {
            Some(Answer::Token(count)) => Some(*count),
            _ => None,
        };
        self.note(now, member, count);
        if self.asked == Asked::GiveBack {
            return;
        }
        self.granted += usize::from(matches!(answer, Some(Answer::Token(Some(_)) | Answer::Done(true))));
        if self.granted != self.setup.service.len() / 2 + 1 {
            return;
        }
        let leadership = Leadership { token: 0, valid_until: self.sent + self.ttl_ms() * MILLISECOND };
        if leadership.valid_until <= now.mono {
            return;
        }
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        match self.leadership.replace(leadership) {
            Some(_) => {
                out.push(Output::Point(Point::Renewed));
                out.push(Output::Renewed(leadership));
            }
            None => {
                out.push(Output::CancelTimer(POLL));
                out.push(Output::SetTimer { id: RENEW, at: self.sent + self.setup.timings.renew_interval });
                out.push(Output::Elected(leadership));
            }
        }
    }

    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        self.leadership = None;
        self.campaigns = false;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        let wait = if why == Deposed::Resigned { self.setup.timings.lease_ttl + SECOND } else { PACE };
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
    }
}

impl Elector for Quorum {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if self.leadership.is_some_and(|leadership| leadership.valid_until <= now.mono) {
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.take(now, out),
            Input::Timer(POLL) if self.leadership.is_none() => self.take(now, out),
            Input::Timer(RENEW) if self.leadership.is_some() => self.renew(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some(member) = self.under_way.remove(&number) {
                    self.answered(now, member, reply.ok(), out);
                }
            }
            Input::Resign if self.leadership.is_some() => {
                self.depose(now, Deposed::Resigned, out);
                self.give_back(now, out);
            }
            Input::Fenced if self.leadership.is_some() => self.depose(now, Deposed::Fenced, out),
            _ => {}
        }
    }
}
