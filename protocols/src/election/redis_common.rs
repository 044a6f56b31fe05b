//! What the Redis elections share and what is not election: the keys, whose value is whose, numbering requests, the pace
//! of polling, and telling others who leads. What any of it is used for stands in the protocols' own files.

use super::{OwnTimer, Setup, Timer, back_off::paced};
use crate::{
    bug::{Bug, Shown},
    core::TimerId,
    elector::{self, RequestNumber, ServiceOutput},
    payload::Nothing,
    point::Point,
    random::Random,
    service::redis::{Api, Request},
    types::{MILLISECOND, NodeId},
};
use std::{borrow::Cow, fmt::Write};

pub(super) type Input = elector::Input<Nothing, Api>;
pub(super) type Output = elector::Output<Nothing, Api>;

/// The key that the leader holds.
pub const KEY: &str = "leader:fencepost";
/// The counter that fencing tokens are drawn from. It has no time to live: it must outlast every lease.
pub const TOKEN_KEY: &str = "leader:fencepost:token";

/// The key that a group's leader holds.
pub fn key_of(group: u16) -> Cow<'static, str> {
    of_group(KEY, group)
}

/// The counter that a group's tokens are drawn from.
pub fn token_key_of(group: u16) -> Cow<'static, str> {
    of_group(TOKEN_KEY, group)
}

fn of_group(key: &'static str, group: u16) -> Cow<'static, str> {
    if group == 0 { key.into() } else { format!("{key}-{group}").into() }
}

/// From one attempt of a candidate to the next; it is the interval of renewals unless it is given.
pub(super) const RETRIED: OwnTimer = OwnTimer { timer: Timer::RetryPeriod, default: None };

/// What a Redis server does with its default settings.
pub const FORGOTTEN_ON_RESTART: Bug = Bug {
    id: "redis-forgotten-on-restart",
    protocols: &["redis-lease", "redis-fenced", "redlock"],
    what: "The server keeps nothing on disk: when it comes back, keys and the counter of tokens are gone.",
    source: "redis.conf of Redis 7.0: `appendonly no` is the default",
    violation: "dual_belief",
    shown: Shown::by("service-restart", "redis-lease", 12),
};

/// A migration that is half done.
pub const MIXED_LOCKS: Bug = Bug {
    id: "mixed-locks",
    protocols: &["redis-lease", "redis-fenced"],
    what: "Candidates of even numbers take the lock by a new name, and those of odd numbers by the old one, as during an upgrade.",
    source: "cockroachdb/cockroach issue 101836, of leases of two kinds; fixed in pull request 101942",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("steady", "redis-lease", 1),
};

/// A lock whose value says only on which host its holder runs.
pub const VALUE_BY_NAME: Bug = Bug {
    id: "redis-value-by-name",
    protocols: &["redis-lease", "redis-fenced"],
    what: "The key's value is the host's name, which all instances share, as containers of one image may: a script that compares it \
           renews and deletes another instance's key as if it were its own.",
    source: "postalserver/postal issue 3627; lukas-krecan/ShedLock issue 317; thebigredgeek/microlock issue 7",
    violation: "dual_belief",
    shown: Shown::by("partition", "redis-lease", 4),
};

/// Time for a follower to ask.
pub(super) const POLL: TimerId = 0;
/// Time for the leader to renew.
pub(super) const RENEW: TimerId = 1;
/// The belief ends.
pub(super) const EXPIRE: TimerId = 2;

/// A candidate's means of asking Redis. Polls and requests are counted here; what they mean is the protocol's business.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RedisRequests {
    pub(super) setup: Setup,
    random: Random,
    requests: RequestNumber,
    attempts: u64,
    polled: bool,
    /// What was last said to `Observed`; `None` when that may be wrong by now.
    observed: Option<Option<NodeId>>,
}

impl RedisRequests {
    pub(super) fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        RedisRequests { setup, random, requests: 0, attempts: 0, polled: false, observed: None }
    }

    /// The key that its group's leader holds.
    pub(super) fn key(&self) -> String {
        let key = key_of(self.setup.group);
        // The first candidate is number 1.
        let migrated = self.setup.node.0 % 2 == 1 && self.setup.bugs.has(&MIXED_LOCKS);
        if migrated { format!("{key}:new") } else { key.into_owned() }
    }

    /// The time to live as Redis gets it, whole milliseconds.
    pub(super) fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    /// The same in nanoseconds: a belief must not outlast the key by the rounding.
    pub(super) fn ttl(&self) -> u64 {
        self.ttl_ms() * MILLISECOND
    }

    /// A value that names this process: `<name>/<nonce>`.
    pub(super) fn process_value(&self) -> String {
        format!("{}/{:016x}", self.name(), self.setup.nonce)
    }

    /// This candidate's name.
    pub(super) fn name(&self) -> &str {
        self.setup.names.get(self.setup.node.index()).map_or("", String::as_str)
    }

    /// A value that nobody ever used before: `<name>/<nonce>/<attempt>`.
    pub(super) fn attempt_value(&mut self) -> String {
        if self.setup.bugs.has(&VALUE_BY_NAME) {
            // Readers expect the separator; nothing unique follows it.
            return format!("{}/", self.setup.names.first().map_or("", String::as_str));
        }
        self.attempts += 1;
        // Every poll makes one: room for all of it at once.
        let mut value = String::with_capacity(self.name().len() + "/0123456789abcdef/0000000".len());
        // Writing to a String cannot fail.
        let _ = write!(value, "{}/{:016x}/{}", self.name(), self.setup.nonce, self.attempts);
        value
    }

    /// Sends a request and says its number.
    pub(super) fn ask(&mut self, request: Request, out: &mut Vec<Output>) -> RequestNumber {
        self.next_number();
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request {
            number: self.requests,
            request,
            timeout: self.setup.timings.request_timeout,
            concurrent: false,
        }));
        self.requests
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
    /// poll's arrival at the server to the next one's takes no longer than the interval.
    pub(super) fn poll_wait(&mut self) -> u64 {
        let interval = self.setup.timings.retry_period();
        let shortest = if self.polled { interval / 4 * 3 } else { 1 };
        self.polled = true;
        paced(&self.setup.bugs, interval, (shortest, interval / 20 * 19), &mut self.random)
    }

    /// Says who leads, given what the key holds, if that is news. A value of this very node means nobody: it is not
    /// asking about itself while it leads.
    pub(super) fn observe(&mut self, value: Option<&[u8]>, out: &mut Vec<Output>) {
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

    /// The candidate that a key's value names; `None` when it is none of ours.
    fn named(&self, value: &[u8]) -> Option<NodeId> {
        let is = |name: &String| value.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        let place = self.setup.names.iter().position(is)?;
        u16::try_from(place).ok().map(NodeId)
    }
}
