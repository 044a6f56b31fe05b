//! A lease and the key on it, the stages of a campaign, and what each stage asks.

use crate::{
    elector::{RequestNumber, StreamNumber},
    service::etcd::Request,
    types::{MILLISECOND, NodeId, SECOND},
};

/// What every candidate's key starts with in the queue.
pub const PREFIX: &str = "fencepost/leader/";
/// What the one key starts with, where there is no queue.
pub const SOLE_PREFIX: &str = "fencepost/sole/";

/// How candidates compete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recipe {
    /// Each has a key of its own; the oldest one leads, and each waits for the one in front.
    Queue,
    /// There is one key; whoever creates it leads, and all others wait for its end.
    OneKey,
}

impl Recipe {
    /// Under which a group's keys are.
    pub fn prefix(self, group: u16) -> String {
        match self {
            Recipe::Queue => prefix_of(group),
            Recipe::OneKey => of_group(SOLE_PREFIX, group),
        }
    }

    /// What a candidate does when the key that it waited for is gone.
    pub(super) const fn after_waiting(self) -> Stage {
        match self {
            Recipe::Queue => Stage::Looking,
            Recipe::OneKey => Stage::Creating,
        }
    }
}

/// The same for a group's candidates.
pub fn prefix_of(group: u16) -> String {
    of_group(PREFIX, group)
}

fn of_group(prefix: &str, group: u16) -> String {
    if group == 0 { prefix.to_owned() } else { format!("{}-{group}/", prefix.trim_end_matches('/')) }
}

/// `sendKeepAliveLoop` looks this often for keepalives that are due; `recvKeepAliveLoop` and our own retries wait as long.
pub(super) const RETRY: u64 = 500 * MILLISECOND;
/// `deadlineLoop` looks this often for leases that were not kept alive.
pub(in crate::election) const DEADLINE_SCAN: u64 = SECOND;
/// Deadline before the first answer: `DialTimeout` (1 s, as our channel has it) plus a second.
const FIRST_ANSWER: u64 = 2 * SECOND;

/// The first tick after `after` of a loop with that period that started at `from`.
pub(super) fn tick_after(from: u64, period: u64, after: u64) -> u64 {
    from.saturating_add((after.saturating_sub(from) / period + 1).saturating_mul(period))
}

/// Whole seconds that cover `ttl` nanoseconds.
pub(super) const fn ttl_seconds(ttl: u64) -> u64 {
    ttl.div_ceil(SECOND)
}

/// Where the campaign stands; each stage but the last two has its request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    Granting,
    Creating,
    Proclaiming,
    /// Looks for the key in front.
    Looking,
    /// Reads the own key after a wait.
    Rechecking,
    /// Deletes the own key.
    Resigning,
    /// Reads the queue, to find the successor in it.
    Choosing(NodeId),
    /// Takes the own key out of the queue, and everybody between it and the successor.
    HandingOver {
        /// The successor's key and its create revision.
        heir: (Vec<u8>, i64),
        /// The keys between.
        passed_over: Vec<(Vec<u8>, i64)>,
    },
    /// Watches the key in front.
    Waiting(StreamNumber),
    Leading,
}

/// A lease and the key on it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Session {
    pub(super) lease: i64,
    pub(super) ttl_s: i64,
    /// Under which the keys of its group's candidates are.
    pub(super) prefix: String,
    pub(super) key: String,
    /// Of the own key; 0 while it is not known.
    pub(super) create_revision: i64,
    /// The keepalive stream; `None` between two of them.
    pub(super) stream: Option<StreamNumber>,
    /// When that stream was opened: its send loop's ticks are counted from here.
    pub(super) opened: u64,
    pub(super) keepalive_due: u64,
    pub(super) deadline: u64,
}

impl Session {
    pub(super) fn new(recipe: Recipe, group: u16, lease: i64, ttl_s: i64, now: u64) -> Self {
        let prefix = recipe.prefix(group);
        let key = match recipe {
            Recipe::Queue => format!("{prefix}{lease:x}"),
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
            deadline: now + FIRST_ANSWER,
        }
    }
}

/// Numbers for requests and streams.
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

/// What a stage asks; the last two, and any but the first without a session, ask nothing.
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
