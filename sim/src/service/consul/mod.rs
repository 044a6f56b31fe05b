//! Consul, as far as a client can tell: one server that is its own agent, its sessions and its keys.
//!
//! [`model`] is pure. [`wire`] serves it as Consul's own HTTP API, and [`http`](super::http) speaks the protocol.
//!
//! Compared with Consul 1.8.7. Like etcd's, the process is a server that has just become leader: what Raft has committed is
//! there still, every session has its whole time again (`agent/consul/session_ttl.go: initializeSessionTimers`), and every
//! lock-delay that the log tells of begins anew (`agent/consul/state/delay.go`). The seconds in which a restarted server has
//! no leader are left out, and so is the time that consensus and disk take.
//!
//! [`cluster`] has several servers.
//!
//! Not here: access control, other nodes, services and health checks (a session's checks pass while its server runs),
//! transactions, lists and trees of keys, prepared queries, events, namespaces. Whatever is asked of those is refused in so
//! many words.

pub mod cluster;
mod command;
pub mod model;
mod pieces;
pub(super) mod target;
mod wanted;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use protocols_clients::env::Env;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// One server by itself, or several that agree.
pub(super) fn members(count: usize) -> Vec<State> {
    match count {
        1 => vec![Arc::new(Consul::default())],
        _ => cluster::members(count),
    }
}

/// Consul, and what tells it that it was changed from outside.
#[derive(Default)]
pub struct Consul {
    model: Arc<Mutex<model::Model>>,
    changed: Arc<Notify>,
}

impl Consul {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket is gone.
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
