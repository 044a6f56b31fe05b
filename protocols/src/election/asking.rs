//! How a candidate asks a service that says who holds a lock: numbered requests, values of which nobody else has one, the pace
//! of polling, and telling others who leads. What is asked, and what an answer means, stands in the protocols' own files.

use super::{OwnTimer, Setup, Timer, back_off::paced};
use crate::{
    core::TimerId,
    elector::{Output, RequestNumber, ServiceOutput},
    payload::Nothing,
    point::Point,
    random::Random,
    service::Api,
    types::{MILLISECOND, NodeId},
};
use std::fmt::Write;

/// From one attempt of a candidate to the next; it is the interval of renewals unless it is given.
pub(super) const RETRIED: OwnTimer = OwnTimer { timer: Timer::RetryPeriod, default: None };

/// Time for a follower to ask.
pub(super) const POLL: TimerId = 0;
/// Time for the leader to renew.
pub(super) const RENEW: TimerId = 1;
/// The belief ends.
pub(super) const EXPIRE: TimerId = 2;

/// A candidate's means of asking.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Asking {
    pub(super) setup: Setup,
    random: Random,
    requests: RequestNumber,
    attempts: u64,
    polled: bool,
    /// What was last said to `Observed`; `None` when that may be wrong by now.
    observed: Option<Option<NodeId>>,
}

impl Asking {
    pub(super) fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        Asking { setup, random, requests: 0, attempts: 0, polled: false, observed: None }
    }

    /// The time to live as the service gets it, whole milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    /// The same in nanoseconds: a belief must not outlast the lock by the rounding.
    pub(super) fn ttl(&self) -> u64 {
        self.ttl_ms() * MILLISECOND
    }

    /// This candidate's name.
    pub(super) fn name(&self) -> &str {
        self.setup.names.get(self.setup.node.index()).map_or("", String::as_str)
    }

    /// A value that names this process: `<name>/<nonce>`.
    pub(super) fn process_value(&self) -> String {
        format!("{}/{:016x}", self.name(), self.setup.nonce)
    }

    /// A value that nobody ever used before: `<name>/<nonce>/<attempt>`.
    pub(super) fn attempt_value(&mut self) -> String {
        self.attempts += 1;
        // Every poll makes one: room for all of it at once.
        let mut value = String::with_capacity(self.name().len() + "/0123456789abcdef/0000000".len());
        // Writing to a String cannot fail.
        let _ = write!(value, "{}/{:016x}/{}", self.name(), self.setup.nonce, self.attempts);
        value
    }

    /// Sends a request and says its number.
    pub(super) fn ask<S: Api>(&mut self, request: S::Request, out: &mut Vec<Output<Nothing, S>>) -> RequestNumber {
        self.ask_within(request, self.setup.timings.request_timeout, out)
    }

    /// The same with another timeout, nanoseconds.
    pub(super) fn ask_within<S: Api>(
        &mut self,
        request: S::Request,
        timeout: u64,
        out: &mut Vec<Output<Nothing, S>>,
    ) -> RequestNumber {
        let number = self.next_number();
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
        number
    }

    /// The number of the next request.
    pub(super) fn next_number(&mut self) -> RequestNumber {
        self.requests += 1;
        self.requests
    }

    /// Nanoseconds below this bound.
    pub(super) fn draw(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Nanoseconds until a follower's next poll. The first wait is anything up to an interval, so that candidates that
    /// start together do not stay in step; later ones are ¾ to 19/20 of it. The rest is for the round trip: from one
    /// poll's arrival at the service to the next one's takes no longer than the interval.
    pub(super) fn poll_wait(&mut self) -> u64 {
        let interval = self.setup.timings.retry_period();
        let shortest = if self.polled { interval / 4 * 3 } else { 1 };
        self.polled = true;
        paced(&self.setup.bugs, interval, (shortest, interval / 20 * 19), &mut self.random)
    }

    /// Says who leads, given what the lock holds, if that is news. A value of this very node means nobody: it is not
    /// asking about itself while it leads.
    pub(super) fn observe<S: Api>(&mut self, value: Option<&[u8]>, out: &mut Vec<Output<Nothing, S>>) {
        out.extend(self.news(value).map(Output::Observed));
    }

    /// Who leads, as [`Self::observe`] would say it.
    pub(super) fn news(&mut self, value: Option<&[u8]>) -> Option<Option<NodeId>> {
        let leader = value.and_then(|value| self.named(value)).filter(|leader| *leader != self.setup.node);
        (self.observed != Some(leader)).then(|| {
            self.observed = Some(leader);
            leader
        })
    }

    /// What was last observed may be wrong from now on.
    pub(super) fn forget_observed(&mut self) {
        self.observed = None;
    }

    /// The candidate that a lock's value names; `None` when it is none of ours.
    fn named(&self, value: &[u8]) -> Option<NodeId> {
        let is = |name: &String| value.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        let place = self.setup.names.iter().position(is)?;
        u16::try_from(place).ok().map(NodeId)
    }
}
