//! Consul as clients see it: one server that is its own agent, with sessions and keys.
//!
//! [`model`] is pure. [`wire`] serves it through Consul's HTTP API, over [`http`](super::http).
//!
//! Compared with Consul 1.8.7. As with etcd, the process is a server that has just become leader: what Raft has
//! committed is still there, every session's time restarts (`agent/consul/session_ttl.go: initializeSessionTimers`),
//! and so does every lock-delay in the log (`agent/consul/state/delay.go`). Not modelled are the seconds in which a
//! restarted server has no leader, and the latency of consensus and disk.
//!
//! [`cluster`] models several servers.
//!
//! Not modelled: access control, other nodes, services and health checks (a session's checks pass while its server
//! runs), transactions, lists and trees of keys, prepared queries, events, namespaces. Requests that need them are
//! refused explicitly.

pub mod cluster;
mod command;
pub mod model;
mod pieces;
pub(super) mod target;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use protocols_clients::env::Env;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// A single server, or several that agree.
pub(super) fn members(count: usize) -> Vec<State> {
    match count {
        1 => vec![Arc::new(Consul::default())],
        _ => cluster::members(count),
    }
}

/// A Consul server that can also be changed from outside.
#[derive(Default)]
pub struct Consul {
    model: Arc<Mutex<model::Model>>,
    changed: Arc<Notify>,
}

impl Consul {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        wire::serve(env, port, self.model.clone(), self.changed.clone()).await
    }
}

impl Model for Consul {
    fn leads(&self) -> bool {
        true
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        model.drop_leadership_of(candidate, group, what);
        self.changed.notify_waiters();
        model.holder(group)
    }

    fn holder(&self, group: u16, _wall_ms: u64) -> Option<Holder> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).holder(group)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let data = match disk {
            Disk::Copied => self.model.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Disk::Empty => model::Model::default(),
        };
        Some(Arc::new(Consul { model: Arc::new(Mutex::new(data)), ..Consul::default() }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
