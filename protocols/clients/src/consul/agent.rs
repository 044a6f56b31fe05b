//! The agent that a client talks to, where it is given several servers: on the client's own machine, as far as a client can
//! tell.
//!
//! **After** hashicorp/consul 1.8.7, `agent/consul/client.go: RPC, lanNodeFailed`, `agent/router/manager.go:
//! NotifyFailedServer`. It keeps to one server of an order that is drawn, and goes on to the next when that one cannot be
//! reached, or answers with an error of any kind; it does not ask again by itself, since the server has held the request for as
//! long as the agent would. It asks no server that gossip has given up. What was asked of one before hangs until the
//! connection's keepalive has not been answered (hashicorp/yamux, `mux.go: DefaultConfig`).
//!
//! **What is simplified.** Gossip is asked only about a server that has let a request wait: here every second by HTTP, where
//! memberlist's members probe each other at random by UDP, together as often (`memberlist/config.go: DefaultLANConfig`).

use crate::{
    env::Env,
    http::{Answer, Ask, Http},
    site::Endpoint,
};
use hyper::Method;
use protocols::{error::Failure, types::SECOND};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

/// From one probe to the next, and how long one may take, nanoseconds (`ProbeInterval`).
const PROBE: u64 = SECOND;
/// For how long a server is suspected before it is given up, nanoseconds: `SuspicionMult` of 4 probes among up to ten members,
/// of which two more suspect it (`memberlist/suspicion.go`).
const SUSPICION: u64 = 4 * SECOND;
/// How often a connection is asked whether anybody is there, and how long the answer may take, nanoseconds
/// (`KeepAliveInterval`, `ConnectionWriteTimeout`).
const KEEPALIVE: (u64, u64) = (30 * SECOND, 10 * SECOND);

/// May the answer take its time?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It comes at once, unless something is wrong.
    No,
    /// It comes when something changes (`?index=`).
    ForChange,
}

/// The agent.
pub(super) struct Agent<E: Env> {
    servers: Vec<Arc<Server<E>>>,
    current: AtomicUsize,
}

impl<E: Env> Agent<E> {
    pub(super) fn new(env: &E, endpoints: Vec<Endpoint>) -> Self {
        let mut endpoints = endpoints;
        for last in (1..endpoints.len()).rev() {
            endpoints.swap(last, (env.random() % (last as u64 + 1)) as usize);
        }
        let several = endpoints.len() > 1;
        let phase = || if several { env.random() % KEEPALIVE.0 } else { 0 };
        let servers = endpoints.into_iter().map(|to| Server::new(env, to, phase())).collect();
        Agent { servers, current: AtomicUsize::new(0) }
    }

    /// Asks the server that it keeps to.
    ///
    /// # Errors
    /// As for [`Http::ask`], and unknown where the server has fallen silent.
    pub(super) async fn ask(&self, ask: Ask, waits: Waits) -> Result<Answer, Failure> {
        let count = self.servers.len();
        let current = self.current.load(Ordering::Relaxed);
        let from_current = (0..count).map(|after| current.wrapping_add(after));
        let is_up = |at: &usize| !self.servers[at % count].is_down.load(Ordering::Relaxed);
        let at = from_current.clone().find(is_up).unwrap_or(current);
        let server = self.servers.get(at % count.max(1));
        let server = server.ok_or_else(|| Failure::Unknown("there is no server".into()))?;
        let answer = match count {
            // The agent itself, on this machine.
            1 => server.http.ask(ask).await,
            _ => server.ask(ask, waits).await,
        };
        if answer.as_ref().map_or(true, |answer| answer.status >= 500) {
            // Unless somebody else has gone on already.
            let next = at.wrapping_add(1);
            let _ = self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        answer
    }
}

/// One server, and what is known of it.
struct Server<E: Env> {
    env: E,
    http: Http<E>,
    /// When the connection's first keepalive is due after it was made, nanoseconds.
    keepalive_phase: u64,
    heard_at: AtomicU64,
    /// Does [`Server::watch`] run?
    is_watched: AtomicBool,
    /// Has gossip given it up?
    is_down: AtomicBool,
}

impl<E: Env> Server<E> {
    fn new(env: &E, endpoint: Endpoint, keepalive_phase: u64) -> Arc<Self> {
        Arc::new(Server {
            env: env.clone(),
            http: Http::new(env.clone(), endpoint),
            keepalive_phase,
            heard_at: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            is_down: AtomicBool::new(false),
        })
    }

    async fn ask(self: &Arc<Self>, ask: Ask, waits: Waits) -> Result<Answer, Failure> {
        if waits == Waits::No && !self.is_watched.swap(true, Ordering::Relaxed) {
            self.env.spawn_detached(self.clone().watch());
        }
        tokio::select! {
            biased;
            answer = self.http.ask(ask) => {
                if answer.is_ok() {
                    self.heard();
                }
                answer
            }
            () = self.falls_silent() => Err(Failure::Unknown("rpc error making call: keepalive timeout".into())),
        }
    }

    fn heard(&self) {
        self.heard_at.store(self.env.now().mono, Ordering::Relaxed);
    }

    /// Does it answer something that it knows by itself, in time?
    async fn answers_within(&self, patience: u64) -> bool {
        let ask = self.http.ask(Ask::new(Method::GET, "/v1/status/leader?stale"));
        let answers = matches!(self.env.timeout(patience, ask).await, Some(Ok(_)));
        if answers {
            self.heard();
        }
        answers
    }

    /// What gossip makes of a server that was asked something: nothing, when it has answered before the first probe.
    async fn watch(self: Arc<Self>) {
        let began = self.env.now().mono;
        let mut probe_at = began;
        loop {
            probe_at += PROBE;
            self.env.sleep_until(probe_at).await;
            if self.heard_at.load(Ordering::Relaxed) >= began || self.answers_within(PROBE).await {
                break;
            }
            let silent = self.env.now().mono.saturating_sub(began);
            self.is_down.fetch_or(silent >= PROBE + SUSPICION, Ordering::Relaxed);
        }
        self.is_down.store(false, Ordering::Relaxed);
        self.is_watched.store(false, Ordering::Relaxed);
    }

    /// Waits until the connection is given up, since nobody has answered on it.
    async fn falls_silent(&self) {
        loop {
            let now = self.env.now().mono;
            let due = now + KEEPALIVE.0 - (now + KEEPALIVE.0 - self.keepalive_phase) % KEEPALIVE.0;
            self.env.sleep_until(due).await;
            if !self.answers_within(KEEPALIVE.1).await {
                return;
            }
        }
    }
}
