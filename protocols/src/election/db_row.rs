//! `db-row`: a row with an expiry, taken by compare-and-set, by the database's clock; the token stands in the row.
//!
//! **Where it comes from.** ShedLock (lukas-krecan/ShedLock at 2495b14): `PostgresSqlServerTimeStatementsSource` has the
//! statements of its `JdbcTemplateLockProvider` with `usingDbTime()`: `INSERT … ON CONFLICT (name) DO UPDATE … WHERE lock_until <=
//! now` takes, `UPDATE … WHERE locked_by = … AND lock_until > now` extends, and releasing sets `lock_until` to now. Who holds
//! for long extends in the middle of `lockAtMostFor` (`KeepAliveLockProvider`), and may not ask for less than 30 s. Two things
//! are added: the token, counted in the same statement, and a belief that ends by the local clock. ShedLock's keep-alive
//! stops extending once the time is up, but tells the task nothing.
//!
//! **What it assumes about time.** For safety nothing: the resource orders writes by token. For the *belief* to be unique:
//! one ttl of the node's monotonic clock from when the last confirmed statement was *sent* ends no later than a ttl of the
//! database's wall clock from when it arrived. `now()` is when the transaction began, so a statement that waits for the row
//! counts from before it waited, which is to the safe side.
//!
//! **What breaks it.** Fencing off: then a pause longer than the lease lets two act. A database that forgets the row (restored
//! from a backup, failed over to a replica that lags) counts tokens anew, and every new leader is refused until they have
//! caught up; candidates then stay away for longer and longer. Somebody who locks the row in a transaction of their own:
//! everybody waits for as long as that lasts, the leader with its extension as well.
//!
//! **What shows it.** `gc-pause`, with fencing and without; `clock-step`; a session of `psql` on the row.
//!
//! **Whose row is it?** The value is new for each *attempt*, `<name>/<nonce>/<attempt>`. A statement that took effect late can
//! then never extend or end another attempt's lock. An attempt whose outcome is unknown is never believed, its token is not
//! known either: it is ended, by its own value, before the next; so is a lock that lapsed. At worst the row is nobody's for
//! one ttl, and a token is skipped.
//!
//! Where the work is rows of the same database, the token can be checked in the very transaction of the write, by
//! `SELECT FROM fencepost_lock WHERE name = $1 AND token = $2 FOR SHARE` before it. Here resource and lock are apart, as they
//! mostly are, and the ledger compares.

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    back_off::BackOff,
    postgres_common::{EXPIRE, Input, Output, POLL, PostgresRequests, RENEW, RETRIED},
    promise::{self, UNCHECKED},
};
use crate::{
    clock::Now,
    elector::{Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::postgres::{self, Reply, Request},
    types::{Leadership, SECOND},
};

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "db-row",
    about: "A row with an expiry by the database's clock, taken by compare-and-set; its token is counted in the row",
    service: &postgres::SERVICE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: 30 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 2,
    takeover_max: |timings, _| timings.retry_period(),
    // The row lasts from when the request arrived, the belief from when it was sent.
    read_lease: Some(|timings| (timings.lease_ttl, timings.lease_ttl)),
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    timers: OwnTimers::of(&[RETRIED]),
    claim: None,
    elector: |setup| boxed(DbRow::new(setup)),
    promise: |hazard, fencing| match hazard {
        Hazard::ServiceDataLoss | Hazard::ServiceRestored => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        Hazard::None | Hazard::Crash | Hazard::Resignation | Hazard::ClockDrift => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart | Hazard::Starvation => Promise::Holds,
        Hazard::Flapping | Hazard::MissingLink => Promise::Holds,
        Hazard::CutOffFromService | Hazard::DelayedRenewals | Hazard::SlowService => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::from_sending,
};

/// The lease that this node believes to hold.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    /// What the row holds while it is ours.
    value: String,
    /// What the belief is worth.
    leadership: Leadership,
}

/// The one request under way.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    Acquire { value: String, sent: u64 },
    Look,
    Renew { sent: u64 },
    GiveBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct DbRow {
    postgres: PostgresRequests,
    lease: Option<Lease>,
    under_way: Option<(RequestNumber, Asked)>,
    /// A value of ours that may be in the row although we do not lead; to be ended before the next attempt.
    leftover: Option<String>,
    /// Until then others go first.
    held_off_until: u64,
    /// `Campaign` is still to be said.
    campaign_due: bool,
    back_off: BackOff,
}

impl DbRow {
    fn new(setup: Setup) -> Self {
        let postgres = PostgresRequests::new(setup);
        let (lease, under_way, leftover) = (None, None, None);
        let back_off = BackOff::default();
        DbRow { postgres, lease, under_way, leftover, held_off_until: 0, campaign_due: true, back_off }
    }

    fn ask(&mut self, request: Request, asked: Asked, out: &mut Vec<Output>) {
        self.under_way = Some((self.postgres.ask(request, out), asked));
    }

    /// A follower's turn: cleans up, tries to acquire, or only looks while others go first.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.postgres.poll_wait() });
        if self.under_way.is_some() {
            return;
        }
        if self.leftover.is_some() {
            crate::mark!(DbRowCleansUp);
            self.give_back(out);
        } else if now.mono < self.held_off_until {
            crate::mark!(DbRowHeldOff);
            self.look(out);
        } else {
            self.acquire(now, out);
        }
    }

    fn acquire(&mut self, now: Now, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let value = self.postgres.attempt_value();
        let (name, holder) = (self.postgres.row(), value.clone());
        let request = Request::Take { name, holder, ttl_ms: self.postgres.ttl_ms() };
        self.ask(request, Asked::Acquire { value, sent: now.mono }, out);
    }

    fn look(&mut self, out: &mut Vec<Output>) {
        self.ask(Request::Look { name: self.postgres.row() }, Asked::Look, out);
    }

    /// Ends what may be ours and is not believed any more.
    fn give_back(&mut self, out: &mut Vec<Output>) {
        if let Some(holder) = self.leftover.clone() {
            self.ask(Request::Release { name: self.postgres.row(), holder }, Asked::GiveBack, out);
        }
    }

    fn renew(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.postgres.setup.timings.renew_interval });
        let Some(lease) = self.lease.as_ref().filter(|_| self.under_way.is_none()) else { return };
        let (name, holder) = (self.postgres.row(), lease.value.clone());
        let request = Request::Extend { name, holder, ttl_ms: self.postgres.ttl_ms() };
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(request, Asked::Renew { sent: now.mono }, out);
    }

    fn answered(&mut self, now: Now, asked: Asked, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (asked, reply) {
            (Asked::Acquire { value, sent }, Ok(Reply::Token(Some(token)))) => {
                self.lead(now, value, token, sent, out);
            }
            (Asked::Acquire { .. }, Ok(Reply::Token(None))) => self.look(out),
            // The server said no: nothing was taken. The next poll tries again.
            (Asked::Acquire { .. }, Err(Failure::Rejected(_))) => {}
            (Asked::Acquire { value, .. }, _) => {
                crate::mark!(DbRowLeftover);
                self.leftover = Some(value);
                self.give_back(out);
            }
            (Asked::Look, Ok(Reply::Holder(value))) => self.postgres.observe(value.as_deref(), out),
            (Asked::Renew { sent }, Ok(Reply::Done(true))) => self.renewed(sent, out),
            (Asked::Renew { .. }, Ok(Reply::Done(false))) => {
                crate::mark!(DbRowRenewalRefused);
                self.depose(now, Deposed::Lost, out);
                self.look(out);
            }
            (Asked::GiveBack, Ok(_)) => {
                self.leftover = None;
                if now.mono >= self.held_off_until {
                    self.acquire(now, out);
                }
            }
            // A renewal without an answer is tried again at the next interval, until the belief lapses; the rest at the
            // next poll.
            (Asked::Look | Asked::Renew { .. } | Asked::GiveBack, _) => {}
        }
    }

    fn lead(&mut self, now: Now, value: String, token: u64, sent: u64, out: &mut Vec<Output>) {
        let leadership = Leadership { token, valid_until: sent + self.postgres.ttl() };
        if leadership.valid_until <= now.mono {
            crate::mark!(DbRowTooLate);
            // The answer was so late that there is nothing left to believe.
            self.leftover = Some(value);
            return self.give_back(out);
        }
        self.lease = Some(Lease { value, leadership });
        self.postgres.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: sent + self.postgres.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn renewed(&mut self, sent: u64, out: &mut Vec<Output>) {
        let Some(lease) = &mut self.lease else { return };
        lease.leadership.valid_until = sent + self.postgres.ttl();
        self.back_off.confirmed();
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: lease.leadership.valid_until });
        out.push(Output::Renewed(lease.leadership));
    }

    /// Ends the belief, first of all. What is under way is a renewal that has become pointless.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(lease) = self.lease.take() else { return };
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        out.push(Output::CancelTimer(EXPIRE));
        if let Some((number, _)) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        let wait = self.postgres.poll_wait();
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
        // Who was refused by the resource goes back to polling; who resigned lets others go first.
        self.held_off_until = now.mono
            + match why {
                Deposed::Expired | Deposed::Lost => 0,
                Deposed::Fenced => wait.max(self.back_off.refused()),
                Deposed::Resigned | Deposed::Stuck => self.postgres.ttl(),
            };
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        if why != Deposed::Lost {
            self.leftover = Some(lease.value);
            self.give_back(out);
        }
    }
}

impl Elector for DbRow {
    type Peer = Nothing;
    type Service = postgres::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // Before anything else: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            crate::mark!(DbRowExpired);
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
            // Timers of a role that ended meanwhile, a follower's resignation; there are no streams.
            _ => {}
        }
    }
}
