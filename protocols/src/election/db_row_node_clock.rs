//! `db-row-node-clock`: a row in which the leader records its last check-in by its own clock; others compare with
//! theirs.
//!
//! **Where it comes from.** Quartz's clustered job store (quartz-scheduler/quartz at bb2505a, `JobStoreSupport:
//! doCheckin, clusterCheckIn, findFailedInstances, calcFailedIfAfter`, `StdRowLockSemaphore`, which inserts the row
//! that it locks if it is missing): every 7.5 s (`clusterCheckinInterval`) an instance writes
//! `System.currentTimeMillis()` into its row, and takes over from an instance whose `last + max(its interval, time
//! since my own last check-in) + 7.5 s` has passed by its own clock. It takes over in one transaction, under a row lock
//! (`SELECT … FOR UPDATE`). Here every check-in does so, since there is one row for the leader instead of one per
//! instance. ShedLock without `usingDbTime()`, its default, compares nodes' clocks in the same way. Token and end of
//! the belief are added.
//!
//! **What it assumes about time.** That all nodes' *wall* clocks agree: "the clocks must be within a second of each
//! other", say Quartz's instructions. For safety nothing: the resource orders writes by token.
//!
//! **What breaks it.** A candidate whose clock is ahead by more than the rest of the leader's time repeatedly takes
//! over from a healthy leader; a leader whose clock is ahead is missed that much later when it dies. With fencing that
//! costs elections; without it, two leaders act. Also, a transaction that stays open: if a candidate is paused or cut
//! off between `SELECT … FOR UPDATE` and `COMMIT`, the row stays locked, and nobody can check in until the database
//! closes its connection. With the defaults of PostgreSQL and Linux that takes 2 hours and 11 minutes; here the client
//! requests one lease.
//! **What shows it.** `clock-step`; `gc-pause`, without fencing.
//!
//! **Whose row is it?** As in `db_row.rs`, each attempt has a new value. If an attempt's outcome is unknown, the next
//! look at the row tells; a value of this node's found there is not believed but ended.

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    asking::{Asking, EXPIRE, POLL, RENEW, RETRIED},
    back_off::BackOff,
    hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    clock::Now,
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::postgres::{self, CheckIn, Reply, Request, name_of},
    types::{Leadership, MILLISECOND, SECOND},
};

type Input = elector::Input<Nothing, postgres::Api>;
type Output = elector::Output<Nothing, postgres::Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "db-row-node-clock",
    about: "A row with the time when the leader was last seen, by the nodes' clocks; read and written under the row's \
            lock",
    service: &postgres::CHECK_INS,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 2,
    // A candidate that was late itself waits that much longer.
    takeover_max: |timings, _| timings.retry_period(),
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(DbRowNodeClock::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::SERVICE_DATA_LOSS | hazard::SERVICE_RESTORED => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    // Wall clocks may differ arbitrarily.
    belief_overlap: promise::without_bound,
};

/// This node's lease, as it believes.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    /// The row's value while it is this node's.
    value: String,
    leadership: Leadership,
}

/// The request under way.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    /// Locks and reads the row.
    Row,
    /// Takes the row with a value and a token; counted from when the clocks were read.
    Take { value: String, token: u64, read: u64 },
    /// Renews; counted from when the clocks were read.
    Renew { read: u64 },
    /// Clears the row.
    Leave,
    /// Ends the transaction without a change.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct DbRowNodeClock {
    asking: Asking,
    lease: Option<Lease>,
    under_way: Option<(RequestNumber, Asked)>,
    /// When this node last looked, milliseconds of its wall clock.
    looked_ms: Option<i64>,
    /// Others go first until then.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
    back_off: BackOff,
}

impl DbRowNodeClock {
    fn new(setup: Setup) -> Self {
        DbRowNodeClock {
            asking: Asking::new(setup),
            lease: None,
            under_way: None,
            looked_ms: None,
            held_off_until: 0,
            campaign_due: true,
            back_off: BackOff::default(),
        }
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.under_way = Some((self.asking.ask(request, out), asked));
    }

    fn interval_ms(&self) -> i64 {
        (self.asking.setup.timings.renew_interval / MILLISECOND) as i64
    }

    /// The rest of a lease at the time of a check-in, which others wait in addition.
    fn grace_ms(&self) -> i64 {
        self.asking.ttl_ms() as i64 - self.interval_ms()
    }

    /// Begins a transaction, to renew or to look.
    fn begin(&mut self, out: &mut Vec<Output>) {
        let (name, who) = (name_of(self.asking.setup.group), self.asking.name().to_owned());
        self.ask(Request::Begin { name, who, renews: self.lease.is_some() }, Asked::Row, out);
    }

    fn end(&mut self, row: CheckIn, asked: Asked, out: &mut Vec<Output>) {
        let put = Some((name_of(self.asking.setup.group), row));
        self.ask(Request::End { put }, asked, out);
    }

    fn roll_back(&mut self, out: &mut Vec<Output>) {
        self.ask(Request::End { put: None }, Asked::Nothing, out);
    }

    /// A follower's poll.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if now.mono >= self.held_off_until {
            if std::mem::take(&mut self.campaign_due) {
                out.push(Output::Campaign);
            }
            out.push(Output::Point(Point::BeforeCampaign));
        }
        self.begin(out);
    }

    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        if self.lease.is_some() && self.under_way.is_none() {
            out.push(Output::Point(Point::BeforeRenew));
            self.begin(out);
        }
    }

    /// Acts on the content of the locked row.
    fn has_row(&mut self, now: Now, row: Option<CheckIn>, out: &mut Vec<Output>) {
        let now_ms = (now.wall / MILLISECOND) as i64;
        let looked_ms = self.looked_ms.replace(now_ms);
        match &self.lease {
            Some(lease) => match row {
                Some(row) if row.holder == lease.value => {
                    let row = CheckIn { last_ms: now_ms, interval_ms: self.interval_ms(), ..row };
                    self.end(row, Asked::Renew { read: now.mono }, out);
                }
                other => {
                    crate::mark!("db-row-node-clock: the leader finds the row another's");
                    // The belief ends first; the request under way is obsolete.
                    self.depose(now, Deposed::Lost, out);
                    self.observe(other.as_ref(), out);
                    self.roll_back(out);
                }
            },
            None => self.follows(now, row, looked_ms, out),
        }
    }

    fn follows(&mut self, now: Now, row: Option<CheckIn>, looked_ms: Option<i64>, out: &mut Vec<Output>) {
        let now_ms = (now.wall / MILLISECOND) as i64;
        let own = format!("{}/", self.asking.process_value());
        // From an attempt with an unknown outcome, or a leadership that has ended.
        let is_leftover = row.as_ref().is_some_and(|row| row.holder.starts_with(&own));
        if !is_leftover && let Some(row) = row.as_ref().filter(|row| !row.holder.is_empty()) {
            let late_ms = looked_ms.map_or(0, |looked| now_ms.saturating_sub(looked));
            if late_ms > row.interval_ms {
                crate::mark!("db-row-node-clock: was late itself, and is patient with the others");
            }
            let failed_after = row.last_ms.saturating_add(late_ms.max(row.interval_ms)).saturating_add(self.grace_ms());
            if failed_after >= now_ms {
                self.observe(Some(row), out);
                return self.roll_back(out);
            }
            crate::mark!("db-row-node-clock: takes the row of somebody who was not seen for long");
        }
        self.observe(None, out);
        if now.mono < self.held_off_until {
            return match row.filter(|_| is_leftover) {
                Some(row) => self.end(CheckIn { holder: String::new(), ..row }, Asked::Leave, out),
                None => self.roll_back(out),
            };
        }
        let token = row.map_or(0, |row| row.token) + 1;
        let value = self.asking.attempt_value();
        let row = CheckIn { holder: value.clone(), last_ms: now_ms, interval_ms: self.interval_ms(), token };
        self.end(row, Asked::Take { value, token, read: now.mono }, out);
    }

    fn observe(&mut self, row: Option<&CheckIn>, out: &mut Vec<Output>) {
        let holder = row.map(|row| row.holder.as_str()).filter(|holder| !holder.is_empty());
        self.asking.observe(holder.map(str::as_bytes), out);
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Row, Ok(Reply::CheckIn(row))) => self.has_row(now, row, out),
            (Asked::Take { value, token, read }, Ok(Reply::Done(true))) => self.lead(now, value, token, read, out),
            (Asked::Renew { read }, Ok(Reply::Done(true))) => self.renewed(read, out),
            (Asked::Take { .. } | Asked::Renew { .. }, Err(Failure::Unknown(_))) => {
                crate::mark!("db-row-node-clock: nobody knows whether the row was written")
            }
            // A refused request has changed nothing. The next poll or renewal sees the row.
            _ => {}
        }
    }

    fn lead(&mut self, now: Now, value: String, token: u64, read: u64, out: &mut Vec<Output>) {
        let leadership = Leadership { token, valid_until: read + self.asking.ttl() };
        if leadership.valid_until <= now.mono {
            return;
        }
        self.lease = Some(Lease { value, leadership });
        self.asking.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: read + self.asking.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn renewed(&mut self, read: u64, out: &mut Vec<Output>) {
        let Some(lease) = &mut self.lease else { return };
        lease.leadership.valid_until = read + self.asking.ttl();
        self.back_off.confirmed();
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: lease.leadership.valid_until });
        out.push(Output::Renewed(lease.leadership));
    }

    /// Ends the belief first. A check-in under way has become pointless, and cancelling it ends its transaction.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(_) = self.lease.take() else { return };
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        let wait = self.asking.poll_wait();
        self.held_off_until = now.mono
            + match why {
                Deposed::Expired | Deposed::Lost => 0,
                Deposed::Fenced => wait.max(self.back_off.refused()),
                Deposed::Resigned | Deposed::Stuck => self.asking.ttl(),
            };
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
        // The row may still name this node, which is to be ended under its lock.
        if why != Deposed::Lost {
            self.begin(out);
        }
    }
}

impl Elector for DbRowNodeClock {
    type Peer = Nothing;
    type Service = postgres::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            crate::mark!("db-row-node-clock: the belief ends by the clock");
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
            // Timers of a role that has ended, or a follower's resignation; there are no streams.
            _ => {}
        }
    }
}
