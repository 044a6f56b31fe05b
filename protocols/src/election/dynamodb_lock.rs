//! `dynamodb-lock`: Amazon's lock client for DynamoDB as applications use it: one item, conditional writes, an opaque
//! version.
//!
//! **Where it comes from.** awslabs/amazon-dynamodb-lock-client at 601eab1, `AmazonDynamoDBLockClient.java`
//! (`acquireLock`, `createLockItem`, `upsertAndMonitorExpiredLock`, `sendHeartbeat`, `run`, `releaseLock`) and
//! `LockItem.java` (`isExpired`). Defaults from `AmazonDynamoDBLockClientOptions.java`: lease 20 s, heartbeat 5 s; the
//! client refuses a heartbeat period above half the lease. `DEFAULT_BUFFER_MS`, 1 s, is both the refresh period and the
//! time that a call waits beyond one lease.
//!
//! Every write puts a new random `recordVersionNumber` into the item, conditional on the version that the writer knows.
//! A waiter reads the item once per refresh period. If the version stays the same for the lease duration *in the item*,
//! counted on the waiter's monotonic clock from its first read of that version, the waiter overwrites the item,
//! conditional on that version. The holder counts its lease from when it sent the last successful heartbeat, and its
//! `LockItem` expires by that clock.
//!
//! **What it assumes about time.** Only that the candidates' clocks run at similar rates: the holder counts from
//! sending, a waiter from reading.
//!
//! **There is no token.** Versions are UUIDs: they can be compared for equality but have no order, and each heartbeat
//! replaces them, so a resource cannot tell an old holder from a new one. Late writes take effect even with fencing.
//!
//! **What breaks it.**
//! - A pause between `isExpired` and the write: nothing stops the write.
//! - A deleted item. Heartbeats then fail; `sendHeartbeat` forgets the lock and logs at debug level. The holder's
//!   `LockItem` stays valid until its lease expires, while the next candidate takes the free lock at once.
//! - A heartbeat whose answer is lost. The item has its version, the client still the previous one, and every further
//!   heartbeat is refused: the lock expires under a healthy holder.
//! - Issue 94: a call to `acquireLock` waits for the buffer plus *one* lease in total, even if the version changes
//!   meanwhile. The next call starts watching anew, so a dead holder may be replaced as late as two leases after its
//!   last heartbeat.
//!
//! **How it is modelled.** The item is an object with an entity tag, as in `object_lease.rs`: DynamoDB's condition on
//! `recordVersionNumber` is `If-Match`, since the version is part of the content; `attribute_not_exists` is
//! `If-None-Match`. Reads are consistent, as the client requests. A release leaves an item marked as released
//! (`withDeleteLockOnRelease(false)`); deleting it, the default, makes no difference to waiters. Throttling is not
//! modelled. When `acquireLock` fails, the application calls it again at once.
//!
//! **What shows it.** `gc-pause`, `clean-kill`, `lost-lease`.

use super::{
    Conditions, OwnTimer, OwnTimers, Preference, Promise, Protocol, Setup, Timer, Timings, Transport, hazard,
    object_lease::key_of,
    promise::{self, UNFENCED},
};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    random::Random,
    service::object_store::{self, Api, Condition, Lease, Reply, Request},
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// `DEFAULT_BUFFER_MS`: how long a call to `acquireLock` waits beyond one lease.
const BUFFER: u64 = SECOND;

/// Both sides count on candidates' clocks, the holder from an earlier moment. If the item is gone, the holder keeps
/// believing for the rest of its lease.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let lease = if c.drops { 0 } else { c.fast(timings.lease_ttl) };
    Some(c.slow(timings.lease_ttl).saturating_sub(lease))
}

/// The check in `AmazonDynamoDBLockClient`'s constructor.
fn refuses(timings: &Timings) -> Option<String> {
    let late = timings.renew_interval.saturating_mul(2) > timings.lease_ttl;
    late.then(|| "the interval of renewals is longer than half the lease".to_owned())
}

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "dynamodb-lock",
    about: "Amazon's DynamoDB lock client: a node that sees one version of the item for a whole lease takes it",
    service: &object_store::SERVICE,
    tokened: false,
    transport: Transport::Datagram,
    default_lease_ttl: 20 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 4,
    // Issue 94: a call may end just before it would take the lock, and the next one watches for a whole lease again.
    takeover_max: |timings, _| timings.lease_ttl + 4 * timings.retry_period() + 300 * MILLISECOND,
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers {
        list: &[OwnTimer { timer: Timer::RetryPeriod, default: Some(|_| SECOND) }],
        renews_at_retry: false,
        refuses,
    },
    claim: None,
    elector: |setup| boxed(DynamoDbLock::new(setup)),
    promise: |hazard, _| match hazard {
        // The holder of a deleted item continues until its lease expires, alongside the candidate that found the lock
        // free.
        hazard::PAUSE_BEYOND_LEASE => UNFENCED,
        // Its writes need not fall between two of the other's.
        hazard::LOST_LEASE => Promise::Breaks(&["seq_strictly_increasing", "no_stale_write", "read_version"]),
        hazard::NONE | hazard::CLOCK_STEPS | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::CUT_OFF_FROM_SERVICE | hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// The library before its pull request 99.
pub const NEVER_OBSERVES: Bug = Bug {
    id: "dynamodb-skip-wait-forgets",
    protocols: &["dynamodb-lock"],
    what: "With `shouldSkipBlockingWait`, each call judges the item by its own first look, from which it has never \
           expired: a dead holder's lock is never free again.",
    source: "awslabs/amazon-dynamodb-lock-client issue 44",
    violation: "liveness",
    shown: Shown::by("clean-kill", "dynamodb-lock", 4),
};

/// The next read or heartbeat.
const TURN: TimerId = 0;
/// The holder's `LockItem` expires.
const EXPIRE: TimerId = 1;

/// The request under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Read,
    /// Takes the item, or renews it; with the time of sending.
    Write {
        lease: Lease,
        sent: u64,
    },
    Release,
}

/// A call to `acquireLock`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call {
    began: u64,
    /// `millisecondsToWait`.
    wait: u64,
    /// `lockTryingToBeAcquired`: the item's tag, its lease duration, and when that tag was first read.
    watched: Option<(String, u64, u64)>,
}

/// A lock that this process holds: `LockItem`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    lease: Lease,
    tag: String,
    valid_until: u64,
    /// Whether heartbeats are sent for it.
    beats: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct DynamoDbLock {
    setup: Setup,
    random: Random,
    requests: RequestNumber,
    under_way: Option<(RequestNumber, Asked)>,
    call: Option<Call>,
    held: Option<Held>,
    held_off: u64,
    campaigning: bool,
    told: Option<NodeId>,
}

impl DynamoDbLock {
    fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        let (under_way, call, held, told) = (None, None, None, None);
        DynamoDbLock { setup, random, requests: 0, under_way, call, held, held_off: 0, campaigning: false, told }
    }

    fn key(&self) -> String {
        key_of(self.setup.group)
    }

    fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    fn refresh(&self) -> u64 {
        self.setup.timings.retry_period()
    }

    /// The owner, and a version that is never used again.
    fn version(&mut self) -> String {
        let name = self.setup.names.get(self.setup.node.index()).map_or("", String::as_str);
        format!("{name}/{:016x}{:016x}", self.random.next_u64(), self.random.next_u64())
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.requests += 1;
        let (number, timeout) = (self.requests, self.setup.timings.request_timeout);
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
        self.under_way = Some((number, asked));
    }

    fn write(&mut self, now: u64, beat: u64, condition: Condition, out: &mut Vec<Output>) {
        let lease = Lease { holder: self.version(), token: 0, ttl_ms: self.ttl_ms(), beat };
        let asked = Asked::Write { lease: lease.clone(), sent: now };
        self.ask(Request::Put { key: self.key(), lease, condition }, asked, out);
    }

    /// One round of `run`, or of the loop in `acquireLock`.
    fn turn(&mut self, now: u64, out: &mut Vec<Output>) {
        if self.under_way.is_some() {
            return;
        }
        if let Some(held) = &self.held {
            if held.beats {
                let (beat, tag) = (held.lease.beat + 1, held.tag.clone());
                out.push(Output::Point(Point::BeforeRenew));
                self.write(now, beat, Condition::Tag(tag), out);
            }
            return;
        }
        if now >= self.held_off {
            if !std::mem::replace(&mut self.campaigning, true) {
                out.push(Output::Campaign);
            }
            self.call.get_or_insert(Call { began: now, wait: BUFFER, watched: None });
        }
        self.ask(Request::Get { key: self.key() }, Asked::Read, out);
    }

    fn observe(&mut self, lease: &Lease, out: &mut Vec<Output>) {
        let name = lease.holder.split_once('/').map(|(name, _)| name);
        let place = name.and_then(|name| self.setup.names.iter().position(|known| known == name));
        self.tell(place.and_then(|place| u16::try_from(place).ok()).map(NodeId), out);
    }

    fn tell(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.told != leader {
            self.told = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Handles the item as read.
    fn found(&mut self, now: u64, lease: &Lease, tag: String, out: &mut Vec<Output>) {
        self.observe(lease, out);
        let forgets = self.setup.bugs.has(&NEVER_OBSERVES);
        let Some(call) = &mut self.call else { return self.sleep(now, out) };
        let length = lease.ttl_ms.saturating_mul(MILLISECOND);
        let is_over = match &call.watched {
            // Released.
            _ if lease.holder.is_empty() => true,
            None => {
                call.wait = call.wait.saturating_add(length);
                call.watched = Some((tag.clone(), length, now));
                false
            }
            Some((watched, length, since)) if *watched == tag => !forgets && now - since > *length,
            Some(_) => {
                call.watched = Some((tag.clone(), length, now));
                false
            }
        };
        if is_over {
            out.push(Output::Point(Point::BeforeCampaign));
            return self.write(now, 0, Condition::Tag(tag), out);
        }
        self.sleep(now, out);
    }

    /// The end of a round of `acquireLock`: the call fails once it has waited long enough, and the application calls
    /// again.
    fn sleep(&mut self, now: u64, out: &mut Vec<Output>) {
        if self.call.as_ref().is_some_and(|call| now - call.began > call.wait) {
            crate::mark!("dynamodb-lock: a call to acquireLock ends without the lock");
            self.call = None;
            return self.turn(now, out);
        }
        out.push(Output::SetTimer { id: TURN, at: now + self.refresh() });
    }

    fn stored(&mut self, now: u64, lease: Lease, tag: String, sent: u64, out: &mut Vec<Output>) {
        let valid_until = sent + self.ttl_ms() * MILLISECOND;
        let leadership = Leadership { token: 0, valid_until };
        let is_new = self.held.is_none();
        self.held = Some(Held { lease, tag, valid_until, beats: true });
        self.call = None;
        if valid_until <= now {
            crate::mark!("dynamodb-lock: written so late that nothing is left to believe");
            return self.release(out);
        }
        out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
        out.push(Output::SetTimer { id: TURN, at: now.max(sent + self.setup.timings.renew_interval) });
        if is_new {
            self.campaigning = false;
            out.push(Output::Elected(leadership));
            self.tell(Some(self.setup.node), out);
        } else {
            out.push(Output::Point(Point::Renewed));
            out.push(Output::Renewed(leadership));
        }
    }

    /// `LockItem.close`: marks the item as released, if it still has the version known here.
    fn release(&mut self, out: &mut Vec<Output>) {
        if let Some(Held { lease, tag, .. }) = self.held.take() {
            let lease = Lease { holder: String::new(), ttl_ms: 0, ..lease };
            self.ask(Request::Put { key: self.key(), lease, condition: Condition::Tag(tag) }, Asked::Release, out);
        }
    }

    fn depose(&mut self, now: u64, why: Deposed, out: &mut Vec<Output>) {
        if self.held.is_none() {
            return;
        }
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(EXPIRE));
        out.push(Output::CancelTimer(TURN));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        if why == Deposed::Resigned {
            self.held_off = now + self.setup.timings.lease_ttl;
        } else {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        self.tell(None, out);
        self.release(out);
    }

    fn replied(&mut self, now: u64, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Read, Ok(Reply::Object(lease, tag))) => self.found(now, &lease, tag, out),
            (Asked::Read, Ok(Reply::Missing)) if self.call.is_some() => {
                self.tell(None, out);
                out.push(Output::Point(Point::BeforeCampaign));
                self.write(now, 0, Condition::Absent, out);
            }
            (Asked::Write { lease, sent }, Ok(Reply::Stored(tag))) => self.stored(now, lease, tag, sent, out),
            (Asked::Write { sent, .. }, answer) => match &mut self.held {
                // Another version, no item, or this node's own version whose answer was lost: the lock is forgotten,
                // while its `LockItem` stays valid until its expiry.
                Some(held) if answer == Ok(Reply::Refused) => {
                    crate::mark!("dynamodb-lock: a heartbeat is refused, and no more are sent");
                    held.beats = false;
                }
                Some(_) => {
                    crate::mark!("dynamodb-lock: a heartbeat has no answer");
                    let at = now.max(sent + self.setup.timings.renew_interval);
                    out.push(Output::SetTimer { id: TURN, at });
                }
                None => self.sleep(now, out),
            },
            (Asked::Release | Asked::Read, _) => self.sleep(now, out),
        }
    }
}

impl Elector for DynamoDbLock {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let now = now.mono;
        // First of all: after a pause, answers and timers come in any order.
        if self.held.as_ref().is_some_and(|held| held.valid_until <= now) {
            crate::mark!("dynamodb-lock: the belief ends by the clock");
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start | Input::Timer(TURN) => self.turn(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some((_, asked)) = self.under_way.take_if(|(under_way, _)| *under_way == number) {
                    self.replied(now, asked, reply, out);
                }
            }
            Input::Resign if self.held.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            _ => {}
        }
    }
}
