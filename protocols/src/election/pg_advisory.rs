//! `pg-advisory`: a session advisory lock of PostgreSQL; the owner of the connection that holds it leads. There cannot
//! be a token: the lock belongs to the connection, and carries nothing that a resource could compare.
//!
//! **Where it comes from.** Many teams' first attempt, since it takes a single statement and no table: `SELECT
//! pg_try_advisory_lock(key)` in a loop, and work while the connection lasts (postgres/postgres,
//! `src/backend/utils/adt/lockfuncs.c`, `src/backend/storage/lmgr/lock.c: LockReleaseAll`). The leader pings its
//! connection (`SELECT 1`), and believes until a ping *fails*. An unanswered ping is not a failure: drivers wait for as
//! long as the kernel does (pgjdbc's `socketTimeout` is 0 by default; Linux retransmits for 924.6 s, `tcp_retries2`).
//!
//! **What it assumes about time.** The server never gives up a connection before its client does. The server has to
//! detect the end of a lock: at once when the process dies, since its kernel resets the connection; when the machine or
//! the network dies, after `tcp_keepalives_idle` and its probes. With the defaults of PostgreSQL and Linux that takes
//! 7,875 s; here the client requests the TTL (`tcp_keepalives_*` and `tcp_user_timeout`, whole seconds).
//!
//! **What breaks it.** A half-open connection: the server gives it up, and the lock with it, while the client still
//! waits for an answer, and two lead. A terminated backend, or a restart of the server: the leader learns of it at its
//! next ping, a successor at its next attempt. A pause alone breaks nothing, however long: the kernel of a paused
//! process answers probes, so nobody leads meanwhile. But if somebody ends the session, the sleeper wakes up with a
//! write in progress.
//!
//! **What shows it.** `partition`, `gc-pause`, `lost-lease`, `service-restart`.
//!
//! `pg-advisory-pooled` is the same through PgBouncer in transaction mode (pgbouncer/pgbouncer at 13a344f,
//! `src/objects.c: release_server, find_server`): every statement goes to the server connection used last, so the lock
//! belongs to the pool. The next candidate is on the same session, in which the lock is re-entrant, and gets it too.
//! All candidates lead from the start.

pub mod from_sending;

use super::{
    OwnTimers, Preference, Promise, Protocol, Setup, Transport,
    asking::{Asking, EXPIRE, POLL, RENEW, RETRIED},
    hazard,
    promise::{self, UNFENCED},
};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, StreamNumber, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::postgres::{self, Keepalive, Reply, Request, Watch, key_of, seat_key},
    types::{Leadership, MILLISECOND, SECOND},
};

type Input = elector::Input<Nothing, postgres::Api>;
type Output = elector::Output<Nothing, postgres::Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "pg-advisory",
    about: "A session advisory lock: the node whose connection holds it leads; no token, and none is available",
    service: &postgres::SESSIONS,
    tokened: false,
    transport: Transport::Stream,
    default_lease_ttl: 30 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| Keepalive::within(ttl).length(),
    renew_interval: |ttl| ttl / 3,
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
    elector: |setup| boxed(PgAdvisory::new(setup, Counting::Nothing)),
    promise: |hazard, _| match hazard {
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_SERVICE => UNFENCED,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        // A lock taken by an abandoned request ends with its connection.
        hazard::SLOW_SERVICE => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// The holder never checks whether it still has the lock.
pub const NEVER_ASKED: Bug = Bug {
    id: "pg-advisory-never-asked",
    protocols: &["pg-advisory"],
    what: "The lock's holder never checks that its session still exists: if the session is terminated, it keeps \
           leading beside the next holder.",
    source: "JasperFx/wolverine issue 2602",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("lost-lease", "pg-advisory", 4),
};

/// A lock taken by a dropped request stays with a connection that the pool keeps.
pub const KEPT_IN_POOL: Bug = Bug {
    id: "pg-advisory-kept-in-pool",
    protocols: &["pg-advisory"],
    what: "A lock request that takes too long is abandoned, and its connection returns to a pool that hands out \
           another: the lock was taken on it all the same, for nobody.",
    source: "GreptimeTeam/greptimedb issue 7670 (`rds/postgres.rs: ElectionPgClient::query, reset_client`)",
    violation: "liveness",
    shown: Shown::by("slow-service", "pg-advisory", 4),
};

/// The same through a pool.
pub const POOLED: Protocol = Protocol {
    name: "pg-advisory-pooled",
    about: "The same lock through a connection pool in transaction mode: the pool holds it, and every candidate is \
            told yes",
    service: &postgres::POOLED,
    promise: |_, _| UNFENCED,
    bounds: |_| promise::Bounds::default(),
    // All candidates lead, so another one serves at once.
    notices: promise::Notices { cannot_work: promise::Notice::AtOnce, ..promise::Notices::SILENCE },
    ..PROTOCOL
};

/// How long Linux retransmits unacknowledged data before the connection fails, nanoseconds (`tcp_retries2` = 15).
const KERNEL_GIVES_UP: u64 = 924_600 * MILLISECOND;

/// How long a leader believes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Counting {
    /// Until a ping fails.
    Nothing,
    /// For a TTL from when the last answered request was sent, and no longer than the session as the client sees it.
    FromSending,
}

/// The request under way whose answer matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Lock,
    Ping,
    Unlock,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct UnderWay {
    number: RequestNumber,
    asked: Asked,
    /// Nanoseconds, where the belief counts from it; else 0.
    sent: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct PgAdvisory {
    asking: Asking,
    counting: Counting,
    /// The session that holds the lock, while this node leads.
    session: Option<u64>,
    /// The end of the belief.
    valid_until: u64,
    /// The stream that ends with the session.
    watch: Option<StreamNumber>,
    under_way: Option<UnderWay>,
    /// Others go first until then, after a resignation.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
}

impl PgAdvisory {
    fn new(setup: Setup, counting: Counting) -> Self {
        let (session, watch, under_way) = Default::default();
        let asking = Asking::new(setup);
        let (valid_until, held_off_until) = (u64::MAX, 0);
        PgAdvisory { asking, counting, session, valid_until, watch, under_way, held_off_until, campaign_due: true }
    }

    fn key(&self) -> i64 {
        match &self.asking.setup.seat {
            Some(seat) => seat_key(seat),
            None => key_of(self.asking.setup.group),
        }
    }

    fn counts(&self) -> bool {
        self.counting == Counting::FromSending
    }

    /// A belief that rests on a request sent at `sent`.
    fn belief(&mut self, sent: u64) -> Leadership {
        if self.counts() {
            self.valid_until = sent.saturating_add(self.asking.setup.timings.lease_ttl);
        }
        Leadership { token: 0, valid_until: self.valid_until }
    }

    fn ask(&mut self, now: Now, asked: Asked, request: Request, timeout: u64, out: &mut Vec<Output>) {
        let sent = if self.counts() { now.mono } else { 0 };
        self.under_way = Some(UnderWay { number: self.asking.ask_within(request, timeout, out), asked, sent });
    }

    fn request_timeout(&self) -> u64 {
        self.asking.setup.timings.request_timeout
    }

    /// A follower's poll.
    fn poll(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
        if self.under_way.is_some() || now.mono < self.held_off_until {
            return;
        }
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let request = Request::TryLock { key: self.key(), who: self.asking.name().to_owned() };
        self.ask(now, Asked::Lock, request, self.request_timeout(), out);
    }

    /// The leader's ping. It waits for one that is still unanswered: giving that up would close the connection, and
    /// with it end the lock.
    fn ping(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        let Some(session) = self.session.filter(|_| !self.asking.setup.bugs.has(&NEVER_ASKED)) else { return };
        if self.under_way.is_some() {
            crate::mark!("pg-advisory: a ping is not answered, and the leader goes on");
            return;
        }
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(now, Asked::Ping, Request::Ping { session }, KERNEL_GIVES_UP, out);
    }

    fn answered(&mut self, now: Now, to: UnderWay, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        match (to.asked, reply) {
            (Asked::Lock, Ok(Reply::Session(Some(session)))) => self.lead(now, session, to.sent, out),
            (Asked::Ping, Ok(_)) => {
                let belief = self.belief(to.sent);
                out.push(Output::Point(Point::Renewed));
                self.expire_at(belief.valid_until, out);
                out.push(Output::Renewed(belief));
            }
            (Asked::Ping, Err(_)) => {
                crate::mark!("pg-advisory: the leader's connection is gone");
                self.depose(now, Deposed::Lost, out);
            }
            // A lock taken without an answer ends with its connection, which the client closes.
            _ => {}
        }
    }

    fn lead(&mut self, now: Now, session: u64, sent: u64, out: &mut Vec<Output>) {
        let belief = self.belief(sent);
        if belief.valid_until <= now.mono {
            // The answer was too late for any belief.
            return self.unlock(now, session, out);
        }
        self.session = Some(session);
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        if self.counts() {
            let number = self.asking.next_number();
            self.watch = Some(number);
            out.push(Output::Service(ServiceOutput::Open { number, request: Watch { session } }));
        }
        self.expire_at(belief.valid_until, out);
        out.push(Output::Elected(belief));
    }

    fn expire_at(&self, at: u64, out: &mut Vec<Output>) {
        if self.counts() {
            out.push(Output::SetTimer { id: EXPIRE, at });
        }
    }

    fn unlock(&mut self, now: Now, session: u64, out: &mut Vec<Output>) {
        let request = Request::Unlock { key: self.key(), session };
        self.ask(now, Asked::Unlock, request, self.request_timeout(), out);
    }

    /// Ends the belief, and returns the session.
    fn stop_believing(&mut self, why: Deposed, out: &mut Vec<Output>) -> Option<u64> {
        let session = self.session.take()?;
        out.push(Output::Deposed(why));
        out.push(Output::CancelTimer(RENEW));
        if self.counts() {
            out.push(Output::CancelTimer(EXPIRE));
        }
        out.extend(self.watch.take().map(|watch| Output::Service(ServiceOutput::Close(watch))));
        Some(session)
    }

    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(session) = self.stop_believing(why, out) else { return };
        // Cancelling a ping under way closes its connection.
        if let Some(UnderWay { number, .. }) = self.under_way.take() {
            out.push(Output::Service(ServiceOutput::Cancel(number)));
        }
        let wait = self.asking.poll_wait();
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
        match why {
            Deposed::Resigned | Deposed::Stuck => self.held_off_until = now.mono + self.asking.ttl(),
            Deposed::Fenced => self.held_off_until = now.mono + wait,
            Deposed::Expired | Deposed::Lost => {}
        }
        if why != Deposed::Lost {
            self.unlock(now, session, out);
        }
    }

    /// Leaves the election. A request under way is given up with its connection, and so is a lock that it may take.
    fn withdraw(&mut self, now: Now, out: &mut Vec<Output>) {
        let session = self.stop_believing(Deposed::Resigned, out);
        match self.under_way.take_if(|under_way| under_way.asked != Asked::Unlock) {
            Some(UnderWay { number, .. }) => out.push(Output::Service(ServiceOutput::Cancel(number))),
            None => session.into_iter().for_each(|session| self.unlock(now, session, out)),
        }
    }
}

impl Elector for PgAdvisory {
    type Peer = Nothing;
    type Service = postgres::Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.session.is_some() && self.valid_until <= now.mono {
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.poll(now, out),
            Input::Timer(POLL) if self.session.is_none() => self.poll(now, out),
            Input::Timer(RENEW) if self.session.is_some() => self.ping(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => {
                if let Some(to) = self.under_way.take_if(|under_way| under_way.number == number) {
                    self.answered(now, to, reply, out);
                }
            }
            Input::Service(ServiceInput::Ended { number, .. })
                if self.watch.take_if(|watch| *watch == number).is_some() =>
            {
                self.depose(now, Deposed::Lost, out);
            }
            Input::Resign if self.session.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Withdraw => self.withdraw(now, out),
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that has ended.
            _ => {}
        }
    }
}
