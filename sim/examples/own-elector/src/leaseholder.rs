//! `lease-holder`: the holder of a [lease server](crate::service)'s lease leads; every write carries its token.
//!
//! **What it assumes about time.** Nothing for the token. A belief lasts a lease from when the answered request was
//! *sent*; the server's lease counts from when it *arrived*, by the server's wall clock.
//!
//! **What breaks it.** A pause between the check of the belief and the write, or a server that drops the lease, where
//! nobody checks the token.

use crate::service::{self, Reply, Request};
use protocols::{
    clock::Now,
    election::{
        Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Transport,
        promise::{self, UNCHECKED},
    },
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    types::{Leadership, MILLISECOND, NodeId, SECOND, TimerId},
};

type Input = elector::Input<Nothing, service::Api>;
type Output = elector::Output<Nothing, service::Api>;

pub static PROTOCOL: Protocol = Protocol {
    name: "lease-holder",
    about: "Whoever has the lease of a server that counts tokens leads",
    service: &service::SERVICE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    takeover_max: |timings, _| timings.renew_interval,
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    persists: false,
    forgets_to_wait: false,
    ring: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(LeaseHolder::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        Hazard::None | Hazard::Crash | Hazard::Resignation | Hazard::RollingRestart => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// A follower asks again.
const POLL: TimerId = 0;
/// The leader renews.
const RENEW: TimerId = 1;
/// The belief ends.
const EXPIRE: TimerId = 2;

/// The outstanding request, and when it was sent.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    Take { sent: u64 },
    Keep { sent: u64 },
    Give,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct LeaseHolder {
    setup: Setup,
    lease: Option<Leadership>,
    under_way: Option<(RequestNumber, Asked)>,
    requests: RequestNumber,
    /// Until then, other candidates go first.
    held_off_until: u64,
    campaigning: bool,
    observed: Option<NodeId>,
}

impl LeaseHolder {
    fn new(setup: Setup) -> Self {
        let (lease, under_way, observed) = (None, None, None);
        LeaseHolder { setup, lease, under_way, requests: 0, held_off_until: 0, campaigning: false, observed }
    }

    fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.requests += 1;
        self.under_way = Some((self.requests, asked));
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request {
            number: self.requests,
            request,
            timeout: self.setup.timings.request_timeout,
            concurrent: false,
        }));
    }

    /// Each candidate polls at its own pace, so that no two stay in step; in twentieths of the renewal interval.
    fn poll_later(&mut self, now: Now, out: &mut Vec<Output>) {
        let twentieths = 14 + (self.setup.nonce ^ self.requests) % 6;
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.setup.timings.renew_interval / 20 * twentieths });
    }

    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        self.poll_later(now, out);
        if self.under_way.is_some() || now.mono < self.held_off_until {
            return;
        }
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let name = self.setup.names.get(self.setup.node.index()).cloned().unwrap_or_default();
        // The outcome of an unanswered attempt is unknown; if it took the lease, the next attempt takes it again.
        self.ask(Request::Take { name, ttl_ms: self.ttl_ms() }, Asked::Take { sent: now.mono }, out);
    }

    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.setup.timings.renew_interval });
        if let (Some(lease), None) = (self.lease, &self.under_way) {
            out.push(Output::Point(Point::BeforeRenew));
            let request = Request::Keep { token: lease.token, ttl_ms: self.ttl_ms() };
            self.ask(request, Asked::Keep { sent: now.mono }, out);
        }
    }

    fn observe(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let until = |sent: u64| sent + self.ttl_ms() * MILLISECOND;
        match (asked, reply) {
            (Asked::Take { sent }, Ok(Reply::Token(token))) if until(sent) > now.mono => {
                let leadership = Leadership { token, valid_until: until(sent) };
                self.lease = Some(leadership);
                self.campaigning = false;
                self.observed = None;
                out.push(Output::CancelTimer(POLL));
                out.push(Output::SetTimer { id: RENEW, at: sent + self.setup.timings.renew_interval });
                out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
                out.push(Output::Elected(leadership));
            }
            (Asked::Take { .. }, Ok(Reply::Held(name))) => {
                let holder = self.setup.names.iter().position(|known| *known == name);
                self.observe(holder.map(|place| NodeId(place as u16)), out);
            }
            (Asked::Keep { sent }, Ok(Reply::Done)) => {
                let valid_until = until(sent);
                if let Some(lease) = &mut self.lease {
                    lease.valid_until = valid_until;
                    out.push(Output::Point(Point::Renewed));
                    out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
                    out.push(Output::Renewed(*lease));
                }
            }
            (Asked::Keep { .. }, Ok(Reply::Gone)) => self.depose(now, Deposed::Lost, out),
            // No usable answer: the next poll or renewal asks again.
            _ => {}
        }
    }

    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(lease) = self.lease.take() else { return };
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        if why == Deposed::Resigned {
            self.held_off_until = now.mono + self.setup.timings.lease_ttl;
            self.ask(Request::Give { token: lease.token }, Asked::Give, out);
        }
        self.poll_later(now, out);
    }
}

impl Elector for LeaseHolder {
    type Peer = Nothing;
    type Service = service::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.is_some_and(|lease| lease.valid_until <= now.mono) {
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
            // Timers of an earlier role; the server has no streams.
            _ => {}
        }
    }
}
