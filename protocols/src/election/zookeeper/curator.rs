//! Apache Curator's client: its states, its retries, and how it replaces an expired session.
//!
//! Reference: apache/curator 5.8, `curator-framework`, `state/ConnectionStateManager.java` (`setToSuspended`,
//! `addStateChange`, `processEvents`, `checkSessionExpiration`), `imps/CuratorFrameworkImpl.java`
//! (`validateConnection`, `checkBackgroundRetry`), `imps/FailedDeleteManager.java`; `curator-client`,
//! `ConnectionState.java` (`reset`), `retry/ExponentialBackoffRetry.java`. Requests are Curator's background
//! operations. Of the settings that users must choose, the retry policy is that of Curator's own examples,
//! `ExponentialBackoffRetry(1000, 3)`.
//!
//! A lost connection is reported at once (`SUSPENDED`). When it has been lost for a whole session timeout, Curator
//! itself gives up the session (`LOST`) and opens another; it measures that time by the *wall* clock.

use crate::{
    clock::Now,
    core::TimerId,
    elector::{self, RequestNumber, ServiceInput, ServiceOutput, StreamNumber},
    error::Failure,
    payload::Nothing,
    random::Random,
    service::zookeeper::{Api, Change, Code, Item, Reply, Request, StreamRequest},
    types::MILLISECOND,
};
use std::{collections::BTreeMap, hash::Hash};

type Output = elector::Output<Nothing, Api>;

/// The next retry.
pub const RETRY: TimerId = 0;
/// The connection may have been lost for too long.
pub const LOSE: TimerId = 1;

/// The first pause before a retry, nanoseconds; each further one is up to twice as long as the one before.
const BASE: u64 = 1_000 * MILLISECOND;
/// The number of retries.
const RETRIES: u32 = 3;

/// The state of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Connection {
    /// Not connected yet.
    None,
    Connected,
    /// Lost; the session may live on.
    Suspended,
    /// The session has expired, or was given up.
    Lost,
}

/// An event for a recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<T> {
    /// Connected, for the first time (`CONNECTED`) or again (`RECONNECTED`).
    Connected {
        /// Whether it is the first time.
        first: bool,
    },
    /// The connection is lost (`SUSPENDED`).
    Suspended,
    /// The session has expired, or was given up (`LOST`).
    Lost,
    /// A watch has fired.
    Watched(String, Change),
    /// A request was answered, or has failed for good.
    Done(T, Result<Reply, Failure>),
}

/// A request to carry out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Job<T> {
    tag: T,
    request: Request,
    tried: u32,
    /// Retried without end (`guaranteed()`).
    guaranteed: bool,
    /// Not retried by itself: the recipe first looks for its outcome (`withProtection()`).
    protected: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Curator<T> {
    asked_ms: u32,
    granted_ms: u32,
    random: Random,
    requests: RequestNumber,
    streams: StreamNumber,
    connection: Connection,
    connected_before: bool,
    session: i64,
    under_way: BTreeMap<RequestNumber, Job<T>>,
    /// Pending retries with their times.
    again: Vec<(u64, Job<T>)>,
    /// When the connection was lost, by the wall clock.
    suspended_at: u64,
}

impl<T: Clone + Eq + Hash> Curator<T> {
    /// A client that requests that session timeout, nanoseconds.
    pub fn new(timeout: u64, nonce: u64) -> Self {
        let asked_ms = u32::try_from(timeout.div_ceil(MILLISECOND)).unwrap_or(u32::MAX);
        Curator {
            asked_ms,
            granted_ms: asked_ms,
            random: Random::new(nonce),
            requests: 0,
            streams: 0,
            connection: Connection::None,
            connected_before: false,
            session: 0,
            under_way: BTreeMap::new(),
            again: Vec::new(),
            suspended_at: 0,
        }
    }

    /// Random numbers for the recipe.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The session's id; 0 before the first.
    pub fn session(&self) -> i64 {
        self.session
    }

    pub fn is_connected(&self) -> bool {
        self.connection == Connection::Connected
    }

    /// Whether there is a session that may live on.
    pub fn has_session(&self) -> bool {
        matches!(self.connection, Connection::Connected | Connection::Suspended)
    }

    /// Gives up the connection, and makes another for the same session.
    pub fn reconnect(&self, out: &mut Vec<Output>) {
        out.push(Output::Service(ServiceOutput::Push(self.streams)));
    }

    /// Gives up the connection, and the session with it, without a word to the server.
    pub fn abandon(&self, out: &mut Vec<Output>) {
        out.push(Output::Service(ServiceOutput::Close(self.streams)));
    }

    pub fn open(&mut self, out: &mut Vec<Output>) {
        self.streams += 1;
        let request = StreamRequest { timeout_ms: self.asked_ms };
        out.push(Output::Service(ServiceOutput::Open { number: self.streams, request }));
    }

    /// Sends a request; one that fails with the connection is retried.
    pub fn ask(&mut self, tag: T, request: Request, out: &mut Vec<Output>) {
        self.send(Job { tag, request, tried: 0, guaranteed: false, protected: false }, out);
    }

    /// Sends a request that must not be lost: it is retried without end.
    pub fn guarantee(&mut self, tag: T, request: Request, out: &mut Vec<Output>) {
        self.send(Job { tag, request, tried: 0, guaranteed: true, protected: false }, out);
    }

    /// Sends a request that must not be repeated: failures go back to the recipe.
    pub fn ask_once(&mut self, tag: T, request: Request, out: &mut Vec<Output>) {
        self.send(Job { tag, request, tried: 0, guaranteed: false, protected: true }, out);
    }

    /// Sends a request after the pause of retry number `retry`, from 0. Returns `false` if there is no such retry.
    pub fn ask_later(&mut self, now: u64, tag: T, request: Request, retry: u32, out: &mut Vec<Output>) -> bool {
        if retry >= RETRIES {
            return false;
        }
        self.later(now, Job { tag, request, tried: retry, guaranteed: false, protected: false }, out);
        true
    }

    /// Forgets pending requests and retries, except guaranteed ones and those that `keep` selects.
    pub fn forget(&mut self, keep: impl Fn(&T) -> bool) {
        self.under_way.retain(|_, job| job.guaranteed || keep(&job.tag));
        self.again.retain(|(_, job)| job.guaranteed || keep(&job.tag));
    }

    fn send(&mut self, job: Job<T>, out: &mut Vec<Output>) {
        self.requests += 1;
        let (number, request) = (self.requests, job.request.clone());
        self.under_way.insert(number, job);
        // A request ends with its answer or with the connection.
        out.push(Output::Service(ServiceOutput::Request { number, request, timeout: u64::MAX, concurrent: true }));
    }

    /// `ExponentialBackoffRetry.getSleepTimeMs`.
    fn later(&mut self, now: u64, mut job: Job<T>, out: &mut Vec<Output>) {
        crate::mark!("curator: a request is tried again");
        let most = 1_u32 << (job.tried + 1).min(29);
        let pause = BASE * u64::from((self.random.next_u32() % most).max(1));
        job.tried += 1;
        self.again.push((now.saturating_add(pause), job));
        self.set_retry(out);
    }

    fn set_retry(&self, out: &mut Vec<Output>) {
        if let Some(at) = self.again.iter().map(|(at, _)| *at).min() {
            out.push(Output::SetTimer { id: RETRY, at });
        }
    }

    /// Handles a timer; returns the resulting event.
    pub fn timer(&mut self, now: Now, id: TimerId, out: &mut Vec<Output>) -> Option<Event<T>> {
        match id {
            RETRY => {
                let (due, later) = std::mem::take(&mut self.again).into_iter().partition(|(at, _)| *at <= now.mono);
                self.again = later;
                let due: Vec<_> = due;
                due.into_iter().for_each(|(_, job)| self.send(job, out));
                self.set_retry(out);
                None
            }
            LOSE if self.connection == Connection::Suspended => {
                let left = self.granted().saturating_sub(now.wall.saturating_sub(self.suspended_at));
                if left > 0 {
                    out.push(Output::SetTimer { id: LOSE, at: now.mono.saturating_add(left) });
                    return None;
                }
                crate::mark!("curator: a session is given up after a whole timeout without a connection");
                Some(self.lose(out))
            }
            _ => None,
        }
    }

    /// The session's timeout, as granted by the server that it was last connected to, nanoseconds.
    pub fn granted(&self) -> u64 {
        u64::from(self.granted_ms) * MILLISECOND
    }

    /// Gives up the session, and opens another.
    fn lose(&mut self, out: &mut Vec<Output>) -> Event<T> {
        self.connection = Connection::Lost;
        out.push(Output::CancelTimer(LOSE));
        out.push(Output::Service(ServiceOutput::Close(self.streams)));
        self.open(out);
        Event::Lost
    }

    /// Handles the service's input; returns the resulting event.
    pub fn input(&mut self, now: Now, input: ServiceInput<Api>, out: &mut Vec<Output>) -> Option<Event<T>> {
        match input {
            ServiceInput::Reply { number, reply } => {
                let job = self.under_way.remove(&number)?;
                let failed = match &reply {
                    Ok(Reply::Refused(code)) => *code == Code::SessionExpired,
                    Ok(_) => false,
                    Err(_) => true,
                };
                if !failed || job.protected {
                    return Some(Event::Done(job.tag, reply));
                }
                if job.guaranteed || job.tried < RETRIES {
                    self.later(now.mono, job, out);
                    return None;
                }
                Some(Event::Done(job.tag, reply))
            }
            ServiceInput::Item { number, item } if number == self.streams => self.item(now, item, out),
            ServiceInput::Item { .. } | ServiceInput::Ended { .. } => None,
        }
    }

    fn item(&mut self, now: Now, item: Item, out: &mut Vec<Output>) -> Option<Event<T>> {
        match item {
            Item::Connected { session, timeout_ms } => {
                (self.session, self.granted_ms) = (session, timeout_ms);
                self.connection = Connection::Connected;
                out.push(Output::CancelTimer(LOSE));
                let first = !std::mem::replace(&mut self.connected_before, true);
                Some(Event::Connected { first })
            }
            Item::Disconnected if [Connection::Suspended, Connection::Lost].contains(&self.connection) => None,
            Item::Disconnected => {
                self.connection = Connection::Suspended;
                self.suspended_at = now.wall;
                out.push(Output::SetTimer { id: LOSE, at: now.mono.saturating_add(self.granted()) });
                Some(Event::Suspended)
            }
            Item::Expired => {
                crate::mark!("curator: the server says that the session is over");
                Some(self.lose(out))
            }
            Item::Watched { path, change } => Some(Event::Watched(path, change)),
        }
    }
}
