//! A Consul agent in front of several servers. To its client it appears to run on the client's own machine.
//!
//! **After** hashicorp/consul 1.8.7, `agent/consul/client.go: RPC, lanNodeFailed`, `agent/router/manager.go:
//! NotifyFailedServer`. It shuffles the servers once, stays with one, and moves on to the next when that one is
//! unreachable or answers with any error. It does not retry a request, since the server has already held it for as long
//! as the agent would. It avoids servers that gossip has declared dead. Requests already sent to one hang until the
//! connection's keepalive times out (hashicorp/yamux, `mux.go: DefaultConfig`).
//!
//! **What is simplified.** Only a server that keeps a request waiting is probed: here once a second over HTTP, where
//! memberlist's members probe each other at random over UDP, at the same total rate (`memberlist/config.go:
//! DefaultLANConfig`).

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

/// The interval between probes and the timeout of each, nanoseconds (`ProbeInterval`).
const PROBE: u64 = SECOND;
/// How long a server stays suspected before it is declared dead, nanoseconds: `SuspicionMult` of 4 probes among up to
/// ten members, two of which confirm the suspicion (`memberlist/suspicion.go`).
const SUSPICION: u64 = 4 * SECOND;
/// The interval between a connection's keepalives and the timeout of each, nanoseconds (`KeepAliveInterval`,
/// `ConnectionWriteTimeout`).
const KEEPALIVE: (u64, u64) = (30 * SECOND, 10 * SECOND);

/// Whether the server may hold the answer back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It answers at once, unless something is wrong.
    No,
    /// It answers when something changes (`?index=`).
    ForChange,
}

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

    /// Sends a request to the current server.
    ///
    /// # Errors
    /// As for [`Http::ask`], and unknown if the server falls silent.
    pub(super) async fn ask(&self, ask: Ask, waits: Waits) -> Result<Answer, Failure> {
        let count = self.servers.len();
        let current = self.current.load(Ordering::Relaxed);
        let from_current = (0..count).map(|after| current.wrapping_add(after));
        let is_up = |at: &usize| !self.servers[at % count].is_down.load(Ordering::Relaxed);
        let at = from_current.clone().find(is_up).unwrap_or(current);
        let server = self.servers.get(at % count.max(1));
        let server = server.ok_or_else(|| Failure::Unknown("there is no server".into()))?;
        let answer = match count {
            // A single endpoint is the agent itself, on this machine.
            1 => server.http.ask(ask).await,
            _ => server.ask(ask, waits).await,
        };
        if answer.as_ref().map_or(true, |answer| answer.status >= 500) {
            // Unless another request has moved on already.
            let next = at.wrapping_add(1);
            let _ = self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        answer
    }
}

struct Server<E: Env> {
    env: E,
    http: Http<E>,
    /// When the connection's first keepalive is due, nanoseconds after it was made.
    keepalive_phase: u64,
    heard_at: AtomicU64,
    /// Whether [`Server::watch`] is running.
    is_watched: AtomicBool,
    /// Whether gossip has declared the server dead.
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

    /// Whether the server answers a request that it can serve alone within `patience` nanoseconds.
    async fn answers_within(&self, patience: u64) -> bool {
        let ask = self.http.ask(Ask::new(Method::GET, "/v1/status/leader?stale"));
        let answers = matches!(self.env.timeout(patience, ask).await, Some(Ok(_)));
        if answers {
            self.heard();
        }
        answers
    }

    /// What gossip does about a server that was sent a request: nothing if it answers before the first probe.
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

    /// Waits until a keepalive times out.
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
