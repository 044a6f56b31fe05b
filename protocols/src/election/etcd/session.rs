//! A lease and its key, the stages of a campaign, and their requests.

use crate::{
    election::Setup,
    elector::{RequestNumber, StreamNumber},
    service::etcd::Request,
    types::{MILLISECOND, NodeId, SECOND},
};

/// The prefix of the candidates' keys in the queue.
pub const PREFIX: &str = "fencepost/leader/";
/// The prefix of the one key, where there is no queue.
pub const SOLE_PREFIX: &str = "fencepost/sole/";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recipe {
    /// Each candidate has its own key; the oldest key leads, and each candidate waits for the one before its own.
    Queue,
    /// There is a single key; the candidate that creates it leads, and all others wait for its end.
    OneKey,
    /// A queue whose members count their leases from when a keepalive was sent, and keep one on its way at a time.
    SafeQueue,
}

/// The moment from which a lease is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counting {
    /// When the answer was read, as the library does.
    FromAnswers,
    /// When the confirmed request was sent: the belief ends no later than the lease.
    FromSending,
}

impl Recipe {
    /// The prefix of a group's keys.
    pub fn prefix(self, group: u16) -> String {
        match self {
            Recipe::Queue | Recipe::SafeQueue => prefix_of(group),
            Recipe::OneKey => of_group(SOLE_PREFIX, group),
        }
    }

    /// The prefix of the keys of what is stood for.
    pub(super) fn prefix_for(self, setup: &Setup) -> String {
        match &setup.seat {
            Some(seat) => format!("fencepost/{seat}/"),
            None => self.prefix(setup.group),
        }
    }

    pub(super) const fn counts(self) -> Counting {
        match self {
            Recipe::Queue | Recipe::OneKey => Counting::FromAnswers,
            Recipe::SafeQueue => Counting::FromSending,
        }
    }

    /// The stage after the awaited key is gone.
    pub(super) const fn after_waiting(self) -> Stage {
        match self {
            Recipe::Queue | Recipe::SafeQueue => Stage::Looking,
            Recipe::OneKey => Stage::Creating,
        }
    }
}

/// The prefix of the queue of a group's candidates.
pub fn prefix_of(group: u16) -> String {
    of_group(PREFIX, group)
}

fn of_group(prefix: &str, group: u16) -> String {
    if group == 0 { prefix.to_owned() } else { format!("{}-{group}/", prefix.trim_end_matches('/')) }
}

/// The interval at which `sendKeepAliveLoop` looks for due keepalives; also the pause of `recvKeepAliveLoop` and of our
/// retries.
pub(super) const RETRY: u64 = 500 * MILLISECOND;
/// The interval at which `deadlineLoop` looks for expired leases.
pub(in crate::election) const DEADLINE_SCAN: u64 = SECOND;
/// The deadline before the first answer: `DialTimeout` (1 s, as in our channel) plus a second.
const FIRST_ANSWER: u64 = 2 * SECOND;

/// The first tick after `after` of a loop with period `period` that started at `from`.
pub(super) fn tick_after(from: u64, period: u64, after: u64) -> u64 {
    from.saturating_add((after.saturating_sub(from) / period + 1).saturating_mul(period))
}

/// `ttl` nanoseconds in whole seconds, rounded up.
pub(super) const fn ttl_seconds(ttl: u64) -> u64 {
    ttl.div_ceil(SECOND)
}

/// A TTL as etcd gives it, in nanoseconds.
pub(super) const fn seconds(ttl_s: i64) -> u64 {
    (if ttl_s > 0 { ttl_s.unsigned_abs() } else { 0 }).saturating_mul(SECOND)
}

/// The stage of a campaign; each but the last two has a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Granting,
    Creating,
    Proclaiming,
    /// Looks for the key before its own.
    Looking,
    /// Reads its own key after a wait.
    Rechecking,
    /// Deletes its own key.
    Resigning,
    /// Reads the queue, to find the successor.
    Choosing(NodeId),
    /// Takes its own key, and those between it and the successor's, out of the queue.
    HandingOver {
        /// The successor's key and its create revision.
        heir: (Vec<u8>, i64),
        /// The keys in between.
        passed_over: Vec<(Vec<u8>, i64)>,
    },
    /// Watches the key before its own.
    Waiting(StreamNumber),
    Leading,
}

/// A lease and its key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Session {
    pub(super) lease: i64,
    pub(super) ttl_s: i64,
    /// The prefix of its group's keys.
    pub(super) prefix: String,
    pub(super) key: String,
    /// The own key's; 0 while unknown.
    pub(super) create_revision: i64,
    /// The keepalive stream; `None` between two streams.
    pub(super) stream: Option<StreamNumber>,
    /// When that stream was opened: the origin of its send loop's ticks.
    pub(super) opened: u64,
    pub(super) keepalive_due: u64,
    /// When the keepalive was sent that is not answered yet, on that stream; only where deadlines count from sending.
    pub(super) unanswered: Option<u64>,
    pub(super) deadline: u64,
}

impl Session {
    /// A session whose lease was asked for at `asked`, and granted just now.
    pub(super) fn new(recipe: Recipe, setup: &Setup, lease: i64, ttl_s: i64, (asked, now): (u64, u64)) -> Self {
        let prefix = recipe.prefix_for(setup);
        let key = match recipe {
            Recipe::Queue | Recipe::SafeQueue => format!("{prefix}{lease:x}"),
            Recipe::OneKey => format!("{prefix}leader"),
        };
        Session {
            lease,
            ttl_s,
            key,
            prefix,
            create_revision: 0,
            stream: None,
            opened: now,
            keepalive_due: now,
            unanswered: None,
            deadline: match recipe.counts() {
                Counting::FromAnswers => now + FIRST_ANSWER,
                Counting::FromSending => asked.saturating_add(seconds(ttl_s)),
            },
        }
    }
}

impl Session {
    /// Whether the deadline has passed. The library looks at whole ticks, and after it.
    pub(super) fn is_over(&self, recipe: Recipe, now: u64) -> bool {
        match recipe.counts() {
            Counting::FromAnswers => now > self.deadline,
            Counting::FromSending => now >= self.deadline,
        }
    }
}

/// The next numbers of requests and streams.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Numbers {
    request: RequestNumber,
    stream: StreamNumber,
}

impl Numbers {
    pub(super) fn request(&mut self) -> RequestNumber {
        self.request += 1;
        self.request
    }

    pub(super) fn stream(&mut self) -> StreamNumber {
        self.stream += 1;
        self.stream
    }
}

/// The stage's request. The last two stages have none, and without a session only the first has one.
pub(super) fn request(stage: &Stage, session: Option<&Session>, value: String, ttl: u64) -> Option<Request> {
    if *stage == Stage::Granting {
        return Some(Request::Grant { ttl_s: i64::try_from(ttl_seconds(ttl)).unwrap_or(i64::MAX) });
    }
    let Session { prefix, key, lease, create_revision, .. } = session?;
    let (key, lease, create_revision) = (key.clone(), *lease, *create_revision);
    match stage {
        Stage::Granting | Stage::Waiting(_) | Stage::Leading => None,
        Stage::Creating => Some(Request::CreateKey { key, value, lease }),
        Stage::Proclaiming => Some(Request::Proclaim { key, value, lease, create_revision }),
        Stage::Looking => {
            Some(Request::Predecessor { prefix: prefix.clone(), max_create_revision: create_revision - 1 })
        }
        Stage::Rechecking => Some(Request::GetKey { key }),
        Stage::Resigning => Some(Request::DeleteKey { key, create_revision }),
        Stage::Choosing(_) => Some(Request::Queue { prefix: prefix.clone() }),
        Stage::HandingOver { heir, passed_over } => {
            let (heir, passed_over) = (heir.clone(), passed_over.clone());
            Some(Request::HandOver { key, create_revision, heir, passed_over })
        }
    }
}
