//! What the PostgreSQL elections share and what is not election: whose value is whose, numbering requests, the pace of
//! polling, and telling others who leads. What any of it is used for stands in the protocols' own files.

use super::{OwnTimer, Setup, Timer, back_off::paced};
use crate::{
    core::TimerId,
    elector::{self, RequestNumber, ServiceOutput},
    payload::Nothing,
    point::Point,
    random::Random,
    service::postgres::{Api, Request, name_of},
    types::{MILLISECOND, NodeId},
};

pub(super) type Input = elector::Input<Nothing, Api>;
pub(super) type Output = elector::Output<Nothing, Api>;

/// A follower asks at the pace of renewals unless told otherwise.
pub(super) const RETRIED: OwnTimer = OwnTimer { timer: Timer::RetryPeriod, default: None };

/// Time for a follower to ask.
pub(super) const POLL: TimerId = 0;
/// Time for the leader to renew.
pub(super) const RENEW: TimerId = 1;
/// The belief ends.
pub(super) const EXPIRE: TimerId = 2;

/// A candidate's means of asking PostgreSQL. Polls and requests are counted here; what they mean is the protocol's business.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PostgresRequests {
    pub(super) setup: Setup,
    random: Random,
    requests: RequestNumber,
    attempts: u64,
    polled: bool,
    /// What was last said to `Observed`; `None` when that may be wrong by now.
    observed: Option<Option<NodeId>>,
}

impl PostgresRequests {
    pub(super) fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        PostgresRequests { setup, random, requests: 0, attempts: 0, polled: false, observed: None }
    }

    /// The row of its group.
    pub(super) fn row(&self) -> String {
        name_of(self.setup.group)
    }

    /// The time to live as the database gets it, whole milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    /// The same in nanoseconds: a belief must not outlast the row by the rounding.
    pub(super) fn ttl(&self) -> u64 {
        self.ttl_ms() * MILLISECOND
    }

    /// The candidate's name.
    pub(super) fn own_name(&self) -> &str {
        self.setup.names.get(self.setup.node.index()).map_or("", String::as_str)
    }

    /// A value that names this process: `<name>/<nonce>`.
    pub(super) fn process_value(&self) -> String {
        format!("{}/{:016x}", self.own_name(), self.setup.nonce)
    }

    /// A value that nobody ever used before: `<name>/<nonce>/<attempt>`.
    pub(super) fn attempt_value(&mut self) -> String {
        self.attempts += 1;
        format!("{}/{}", self.process_value(), self.attempts)
    }

    /// Sends a request and says its number.
    pub(super) fn ask(&mut self, request: Request, out: &mut Vec<Output>) -> RequestNumber {
        self.ask_within(request, self.setup.timings.request_timeout, out)
    }

    /// The same with another timeout, nanoseconds.
    pub(super) fn ask_within(&mut self, request: Request, timeout: u64, out: &mut Vec<Output>) -> RequestNumber {
        self.requests += 1;
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request {
            number: self.requests,
            request,
            timeout,
            concurrent: false,
        }));
        self.requests
    }

    /// Nanoseconds until a follower's next poll. The first wait is anything up to an interval, so that candidates that
    /// start together do not stay in step; later ones are ¾ to 19/20 of it. The rest is for the round trip: from one
    /// poll's arrival at the server to the next one's takes no longer than that.
    pub(super) fn poll_wait(&mut self) -> u64 {
        let interval = self.setup.timings.retry_period();
        let shortest = if self.polled { interval / 4 * 3 } else { 1 };
        self.polled = true;
        paced(&self.setup.bugs, interval, (shortest, interval / 20 * 19), &mut self.random)
    }

    /// Says who leads, given what the row holds, if that is news. A value of this very node means nobody: it is not
    /// asking about itself while it leads.
    pub(super) fn observe(&mut self, value: Option<&str>, out: &mut Vec<Output>) {
        let leader = value.and_then(|value| self.named(value)).filter(|leader| *leader != self.setup.node);
        if self.observed != Some(leader) {
            self.observed = Some(leader);
            out.push(Output::Observed(leader));
        }
    }

    /// What was last observed may be wrong from now on.
    pub(super) fn forget_observed(&mut self) {
        self.observed = None;
    }

    /// The candidate that a row's value names; `None` when it is none of ours.
    fn named(&self, value: &str) -> Option<NodeId> {
        let is = |name: &String| value.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let place = self.setup.names.iter().position(is)?;
        u16::try_from(place).ok().map(NodeId)
    }
}
