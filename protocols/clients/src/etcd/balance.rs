//! One channel to several members, balanced as in etcd's own Go client: gRPC's `round_robin`.
//!
//! `etcd-client` uses tonic's balancer, which dials by tokio's clock and sockets and draws from its own random source,
//! so it cannot run in the simulation. This one follows etcd's Go client instead (etcd-io/etcd, `client/v3/client.go:
//! roundRobinQuorumBackoff`, the service config `round_robin`; grpc/grpc-go, `balancer/roundrobin`,
//! `internal/backoff`): it dials all members, and redials a broken connection at once, then after 1 s, 1.6 s …, give or
//! take a fifth. Starting at a random member, every request and stream goes to the next connected one. It waits while
//! no member is connected but some are being dialled, and fails once all dials have failed. A silent member keeps its
//! connection until a ping goes unanswered. (tonic's balancer picks a random member, reachable or not.) connection
//! until a ping goes unanswered. (tonic's takes a member at random, also one that cannot be reached.)

use super::channel::{self, Opened};
use crate::{env::Env, site::Endpoint};
use protocols::types::SECOND;
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
};
use tokio::sync::Notify;
use tonic::body::Body;
use tower::{BoxError, Service};

/// The first and the longest wait after a failed dial, nanoseconds.
const BACK_OFF: (u64, u64) = (SECOND, 120 * SECOND);

enum Line {
    Connecting,
    Ready(channel::Sender),
    Failed(String),
}

struct State<E: Env> {
    lines: Vec<Line>,
    next: usize,
    /// One task per member; empty before the first request.
    keepers: Vec<E::Task>,
}

struct Shared<E: Env> {
    env: E,
    endpoints: Vec<Endpoint>,
    state: Mutex<State<E>>,
    changed: Notify,
}

/// The channel; clones share its connections.
pub struct Balanced<E: Env>(Arc<Shared<E>>);

impl<E: Env> Clone for Balanced<E> {
    fn clone(&self) -> Self {
        Balanced(self.0.clone())
    }
}

impl<E: Env> Balanced<E> {
    /// A channel to `endpoints`; nothing is dialled yet.
    pub fn new(env: E, endpoints: Vec<Endpoint>) -> Self {
        let lines = endpoints.iter().map(|_| Line::Connecting).collect();
        let state = Mutex::new(State { lines, next: 0, keepers: Vec::new() });
        Balanced(Arc::new(Shared { env, endpoints, state, changed: Notify::new() }))
    }
}

impl<E: Env> Shared<E> {
    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dial_all(self: &Arc<Self>) {
        let mut state = self.state();
        if state.keepers.is_empty() {
            state.next = (self.env.random() % self.endpoints.len().max(1) as u64) as usize;
            let keep = |place| self.env.spawn(keep(Arc::downgrade(self), self.env.clone(), place));
            state.keepers = (0..self.endpoints.len()).map(keep).collect();
        }
    }

    fn set(&self, place: usize, line: Line) {
        self.state().lines[place] = line;
        self.changed.notify_waiters();
    }

    /// The next connected member; `None` while none is connected, and `Err` when all dials have failed.
    fn pick(&self) -> Result<Option<(usize, channel::Sender)>, String> {
        let mut state = self.state();
        let count = state.lines.len();
        let first = state.next;
        for place in (0..count).map(|step| (first + step) % count) {
            if let Line::Ready(sender) = &state.lines[place]
                && !sender.is_closed()
            {
                let sender = sender.clone();
                state.next = (place + 1) % count;
                return Ok(Some((place, sender)));
            }
        }
        let failed = state.lines.iter().map(|line| match line {
            Line::Failed(why) => Some(why.clone()),
            _ => None,
        });
        failed.collect::<Option<Vec<_>>>().map_or(Ok(None), |why| Err(why.join("; ")))
    }

    async fn call(self: Arc<Self>, request: http::Request<Body>) -> Result<http::Response<Body>, BoxError> {
        self.dial_all();
        let (place, mut sender) = loop {
            let changed = self.changed.notified();
            match self.pick()? {
                Some(picked) => break picked,
                None => changed.await,
            }
        };
        let request = channel::addressed(request, &self.endpoints[place])?;
        sender.ready().await?;
        Ok(sender.send_request(request).await?.map(Body::new))
    }
}

/// Keeps the connection to one member open for as long as the channel exists.
async fn keep<E: Env>(channel: Weak<Shared<E>>, env: E, place: usize) {
    let mut wait = BACK_OFF.0;
    loop {
        let Some(endpoint) = channel.upgrade().map(|shared| shared.endpoints[place].clone()) else { return };
        let opened = channel::open(&env, &endpoint).await;
        let Some(shared) = channel.upgrade() else { return };
        match opened {
            Ok(Opened { sender, ended }) => {
                wait = BACK_OFF.0;
                shared.set(place, Line::Ready(sender));
                drop(shared);
                ended.await;
                let Some(shared) = channel.upgrade() else { return };
                shared.set(place, Line::Connecting);
            }
            Err(error) => {
                shared.set(place, Line::Failed(error.to_string()));
                drop(shared);
                let fifth = wait / 5;
                env.sleep(wait - fifth + env.random() % (2 * fifth)).await;
                wait = (wait / 5 * 8).min(BACK_OFF.1);
            }
        }
    }
}

impl<E: Env> Service<http::Request<Body>> for Balanced<E> {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.clone().call(request))
    }
}
