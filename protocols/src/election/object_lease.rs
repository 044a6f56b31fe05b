//! `object-lease`: a lease in an object of an object store, replaced only if it has not changed since it was read.
//!
//! **Where it comes from.** Leases built on S3's conditional writes: Gunnar Morling, "Leader Election With S3
//! Conditional Writes" (2024: an epoch in the object is the fencing token), and the manifest of slatedb/slatedb
//! (`writer_epoch`, taken by compare-and-set). Expiry works as in client-go, not by timestamps in the object: a
//! candidate that has not seen the object change for its TTL, by its own clock, takes it, with the next token in the
//! same write.
//!
//! **What it assumes about time.** Similar rates of the candidates' clocks, and nothing of the store's clock. The
//! belief lasts one TTL from when the confirming write was *sent*; others count the same time from when they *read* it.
//!
//! **What breaks it.** A pause between checking the belief and writing, which the token reveals. A deleted object,
//! whose tokens restart. Stores that do not compare and write in one step, such as S3 before 2024.
//!
//! **What shows it.** `gc-pause`; `lost-lease`.
//!
//! **Whose object is it?** Each attempt has a new holder name. After an unanswered write the object is read before
//! anything else: if it is the attempt's own, the attempt continues from there.

use super::{
    Conditions, OwnTimers, Preference, Promise, Protocol, Setup, Timings, Transport,
    back_off::{BackOff, paced},
    hazard,
    promise::{self, UNCHECKED},
};
use crate::{
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

/// The object that a group's candidates compete for.
pub fn key_of(group: u16) -> String {
    match group {
        0 => "leader".to_owned(),
        group => format!("leader-{group}"),
    }
}

/// Both sides count on candidates' clocks, the leader from an earlier moment.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let lease = if c.drops { 0 } else { c.fast(timings.lease_ttl) };
    Some(c.slow(timings.lease_ttl).saturating_sub(lease))
}

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "object-lease",
    about: "A lease in an object that is replaced by its entity tag, as on S3; a node that sees no change takes it, \
            with the next token",
    service: &object_store::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 3,
    // One poll until the last change is seen, and one more until it proves to be the last.
    takeover_max: |timings, _| 2 * timings.renew_interval + 100 * MILLISECOND,
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(ObjectLease::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::LOST_LEASE => Promise::Breaks(&["elections"]),
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::CUT_OFF_FROM_SERVICE => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART | hazard::STARVATION => Promise::Holds,
        hazard::DELAYED_RENEWALS | hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// The next read or renewal.
const TURN: TimerId = 0;
/// The end of the belief.
const EXPIRE: TimerId = 1;

/// The request under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Read,
    /// A write of this attempt, and the time of sending.
    Write {
        lease: Lease,
        sent: u64,
    },
    GiveBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectLease {
    setup: Setup,
    random: Random,
    requests: RequestNumber,
    under_way: Option<(RequestNumber, Asked)>,
    attempts: u64,
    /// This attempt's holder name.
    holder: String,
    /// The object as last read, its tag, and when that tag was first read.
    seen: Option<(Lease, String, u64)>,
    leadership: Option<Leadership>,
    /// The last write was not answered: read first.
    unsure: bool,
    held_off: u64,
    campaigning: bool,
    told: Option<NodeId>,
    back_off: BackOff,
}

impl ObjectLease {
    fn new(setup: Setup) -> Self {
        let random = Random::new(setup.nonce);
        let mut new = ObjectLease {
            setup,
            random,
            requests: 0,
            under_way: None,
            attempts: 0,
            holder: String::new(),
            seen: None,
            leadership: None,
            unsure: false,
            held_off: 0,
            campaigning: false,
            told: None,
            back_off: BackOff::default(),
        };
        new.another_attempt();
        new
    }

    fn another_attempt(&mut self) {
        self.attempts += 1;
        let name = self.setup.names.get(self.setup.node.index()).map_or("", String::as_str);
        self.holder = format!("{name}/{:016x}/{}", self.setup.nonce, self.attempts);
    }

    fn key(&self) -> String {
        key_of(self.setup.group)
    }

    fn ttl_ms(&self) -> u64 {
        (self.setup.timings.lease_ttl / MILLISECOND).max(1)
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.requests += 1;
        let (number, timeout) = (self.requests, self.setup.timings.request_timeout);
        out.push(Output::Point(Point::BeforeAsk));
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
        self.under_way = Some((number, asked));
    }

    /// A waiting candidate's next turn, after ¾ to 19/20 of an interval, so that candidates do not stay in step.
    fn turn_later(&mut self, now: u64, out: &mut Vec<Output>) {
        let interval = self.setup.timings.renew_interval;
        let shortest = interval / 4 * 3;
        let drawn = (shortest, shortest + (interval / 5).saturating_sub(1));
        let wait = paced(&self.setup.bugs, interval, drawn, &mut self.random);
        out.push(Output::SetTimer { id: TURN, at: now + wait });
    }

    fn read(&mut self, out: &mut Vec<Output>) {
        self.ask(Request::Get { key: self.key() }, Asked::Read, out);
    }

    fn write(&mut self, now: u64, lease: Lease, condition: Condition, out: &mut Vec<Output>) {
        let asked = Asked::Write { lease: lease.clone(), sent: now };
        self.ask(Request::Put { key: self.key(), lease, condition }, asked, out);
    }

    /// Renews this attempt's lease.
    fn renew(&mut self, now: u64, out: &mut Vec<Output>) {
        let Some((lease, tag, _)) = self.seen.clone() else { return };
        out.push(Output::Point(Point::BeforeRenew));
        let next = Lease { beat: lease.beat + 1, ttl_ms: self.ttl_ms(), ..lease };
        self.write(now, next, Condition::Tag(tag), out);
    }

    fn turn(&mut self, now: u64, out: &mut Vec<Output>) {
        match self.leadership {
            Some(_) => {
                out.push(Output::SetTimer { id: TURN, at: now + self.setup.timings.renew_interval });
                if self.under_way.is_none() {
                    if self.unsure { self.read(out) } else { self.renew(now, out) }
                }
            }
            None => {
                self.turn_later(now, out);
                if self.under_way.is_none() {
                    if !self.campaigning && now >= self.held_off {
                        self.campaigning = true;
                        out.push(Output::Campaign);
                    }
                    self.read(out);
                }
            }
        }
    }

    fn observe(&mut self, out: &mut Vec<Output>) {
        let name = self.seen.as_ref().and_then(|(lease, ..)| lease.holder.split_once('/'));
        let place = name.and_then(|(name, _)| self.setup.names.iter().position(|known| known == name));
        let leader = place.and_then(|place| u16::try_from(place).ok()).map(NodeId);
        if self.told != leader {
            self.told = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Handles the object as read.
    fn found(&mut self, now: u64, lease: Lease, tag: String, out: &mut Vec<Output>) {
        if self.seen.as_ref().is_none_or(|(_, old, _)| *old != tag) {
            self.seen = Some((lease.clone(), tag.clone(), now));
        }
        self.unsure = false;
        if lease.holder == self.holder {
            return self.renew(now, out);
        }
        if self.leadership.is_some() {
            crate::mark!("object-lease: the leader finds another's object, or none");
            return self.depose(now, Deposed::Lost, out);
        }
        self.observe(out);
        let since = self.seen.as_ref().map_or(now, |(_, _, since)| *since);
        let is_over = now.saturating_sub(since) >= lease.ttl_ms.saturating_mul(MILLISECOND);
        if now >= self.held_off && (lease.holder.is_empty() || is_over) {
            out.push(Output::Point(Point::BeforeCampaign));
            let (holder, ttl_ms) = (self.holder.clone(), self.ttl_ms());
            let next = Lease { holder, token: lease.token.saturating_add(1), ttl_ms, beat: 0 };
            self.write(now, next, Condition::Tag(tag), out);
        }
    }

    fn stored(&mut self, now: u64, lease: Lease, tag: String, sent: u64, out: &mut Vec<Output>) {
        let token = lease.token;
        self.seen = Some((lease, tag, now));
        let valid_until = sent + self.ttl_ms() * MILLISECOND;
        let leadership = Leadership { token, valid_until };
        if valid_until <= now {
            crate::mark!("object-lease: written so late that nothing is left to believe");
            return self.give_back(out);
        }
        out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
        match self.leadership.replace(leadership) {
            Some(_) => {
                self.back_off.confirmed();
                out.push(Output::Point(Point::Renewed));
                out.push(Output::Renewed(leadership));
            }
            None => {
                self.campaigning = false;
                out.push(Output::SetTimer { id: TURN, at: sent + self.setup.timings.renew_interval });
                out.push(Output::Elected(leadership));
                self.observe(out);
            }
        }
    }

    /// Releases the object, if it is unchanged and this attempt's.
    fn give_back(&mut self, out: &mut Vec<Output>) {
        let own = self.seen.clone().filter(|(lease, ..)| lease.holder == self.holder);
        self.another_attempt();
        if let Some((lease, tag, _)) = own {
            let lease = Lease { holder: String::new(), ttl_ms: 0, ..lease };
            self.ask(Request::Put { key: self.key(), lease, condition: Condition::Tag(tag) }, Asked::GiveBack, out);
        }
    }

    fn depose(&mut self, now: u64, why: Deposed, out: &mut Vec<Output>) {
        if self.leadership.take().is_none() {
            return;
        }
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        self.unsure = false;
        self.held_off = now
            + match why {
                Deposed::Expired | Deposed::Lost => 0,
                Deposed::Fenced => self.back_off.refused(),
                Deposed::Resigned | Deposed::Stuck => self.setup.timings.lease_ttl,
            };
        if why != Deposed::Resigned {
            self.campaigning = true;
            out.push(Output::Campaign);
        }
        self.turn_later(now, out);
        self.give_back(out);
        if self.told.take().is_some() {
            out.push(Output::Observed(None));
        }
    }

    fn replied(&mut self, now: u64, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Read, Ok(Reply::Object(lease, tag))) => self.found(now, lease, tag, out),
            (Asked::Read, Ok(Reply::Missing)) if self.leadership.is_none() => {
                self.seen = None;
                if now >= self.held_off {
                    out.push(Output::Point(Point::BeforeCampaign));
                    let lease = Lease { holder: self.holder.clone(), token: 1, ttl_ms: self.ttl_ms(), beat: 0 };
                    self.write(now, lease, Condition::Absent, out);
                }
            }
            (Asked::Read, Ok(Reply::Missing)) | (Asked::Write { .. }, Ok(Reply::Refused))
                if self.leadership.is_some() =>
            {
                crate::mark!("object-lease: the leader finds another's object, or none");
                self.depose(now, Deposed::Lost, out);
            }
            (Asked::Write { lease, sent }, Ok(Reply::Stored(tag))) => self.stored(now, lease, tag, sent, out),
            (Asked::Write { .. }, Err(Failure::Unknown(_))) => {
                crate::mark!("object-lease: a write has no answer");
                self.unsure = true;
            }
            // The next turn reads again.
            _ => {}
        }
    }
}

impl Elector for ObjectLease {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let now = now.mono;
        // First of all: after a pause, answers and timers come in any order.
        if self.leadership.is_some_and(|leadership| leadership.valid_until <= now) {
            crate::mark!("object-lease: the belief ends by the clock");
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.turn(now, out),
            Input::Timer(TURN) => self.turn(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some((_, asked)) = self.under_way.take_if(|(under_way, _)| *under_way == number) {
                    self.replied(now, asked, reply, out);
                }
            }
            Input::Resign if self.leadership.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            _ => {}
        }
    }
}
