//! Shared by candidates that ask a service for a lock's holder: numbered requests, unique values, the polling interval,
//! and reporting the leader. The requests and the meaning of answers are in the protocols' own files.

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

/// The interval between a candidate's attempts; by default the renewal interval.
pub(super) const RETRIED: OwnTimer = OwnTimer { timer: Timer::RetryPeriod, default: None };

/// A follower's next poll.
pub(super) const POLL: TimerId = 0;
/// The leader's next renewal.
pub(super) const RENEW: TimerId = 1;
/// The end of the belief.
pub(super) const EXPIRE: TimerId = 2;

/// A candidate's shared state.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Asking {
    pub(super) setup: Setup,
    random: Random,
    requests: RequestNumber,
    attempts: u64,
    polled: bool,
    /// The last [`Output::Observed`]; `None` if it may be outdated.
    observed: Option<Option<NodeId>>,
}

impl Asking {
    pub(super) fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        Asking { setup, random, requests: 0, attempts: 0, polled: false, observed: None }
    }

    /// The TTL sent to the service, in whole milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    /// The same in nanoseconds: rounding must not let a belief outlast its lock.
    pub(super) fn ttl(&self) -> u64 {
        self.ttl_ms() * MILLISECOND
    }

    pub(super) fn name(&self) -> &str {
        self.setup.names.get(self.setup.node.index()).map_or("", String::as_str)
    }

    /// A value that names this process: `<name>/<nonce>`.
    pub(super) fn process_value(&self) -> String {
        format!("{}/{:016x}", self.name(), self.setup.nonce)
    }

    /// A value that is never used again: `<name>/<nonce>/<attempt>`.
    pub(super) fn attempt_value(&mut self) -> String {
        self.attempts += 1;
        // Every poll makes one, so this allocates once.
        let mut value = String::with_capacity(self.name().len() + "/0123456789abcdef/0000000".len());
        let _ = write!(value, "{}/{:016x}/{}", self.name(), self.setup.nonce, self.attempts);
        value
    }

    /// Sends a request and returns its number.
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

    /// The number for the next request.
    pub(super) fn next_number(&mut self) -> RequestNumber {
        self.requests += 1;
        self.requests
    }

    /// A random number of nanoseconds below `bound`.
    pub(super) fn draw(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Nanoseconds until a follower's next poll. The first wait is random up to an interval, so that candidates that
    /// start together spread out; later ones are ¾ to 19/20 of it. The rest leaves time for the round trip: polls
    /// arrive at the service no further apart than the interval.
    pub(super) fn poll_wait(&mut self) -> u64 {
        let interval = self.setup.timings.retry_period();
        let shortest = if self.polled { interval / 4 * 3 } else { 1 };
        self.polled = true;
        paced(&self.setup.bugs, interval, (shortest, interval / 20 * 19), &mut self.random)
    }

    /// Reports the leader according to the lock's value, if that is new. A value of this node's own counts as nobody: a
    /// leader does not look at itself.
    pub(super) fn observe<S: Api>(&mut self, value: Option<&[u8]>, out: &mut Vec<Output<Nothing, S>>) {
        out.extend(self.news(value).map(Output::Observed));
    }

    /// The leader that [`Self::observe`] would report, if new.
    pub(super) fn news(&mut self, value: Option<&[u8]>) -> Option<Option<NodeId>> {
        let leader = value.and_then(|value| self.named(value)).filter(|leader| *leader != self.setup.node);
        (self.observed != Some(leader)).then(|| {
            self.observed = Some(leader);
            leader
        })
    }

    /// Marks the last observation as possibly outdated.
    pub(super) fn forget_observed(&mut self) {
        self.observed = None;
    }

    /// The candidate named by a lock's value; `None` if it is no candidate's.
    fn named(&self, value: &[u8]) -> Option<NodeId> {
        let is = |name: &String| value.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        let place = self.setup.names.iter().position(is)?;
        u16::try_from(place).ok().map(NodeId)
    }
}
