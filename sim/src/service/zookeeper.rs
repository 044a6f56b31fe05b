//! ZooKeeper as clients see it: one member with its nodes, sessions and watches.
//!
//! [`model`] is pure. [`wire`] serves it in ZooKeeper's own protocol.
//!
//! [`cluster`] models several members.
//!
//! Not modelled: a single member's disk latency; access lists beyond their presence, and authentication; quotas; nodes
//! with a time to live (off by default), and the scan that deletes empty containers once a minute; persistent and
//! recursive watches; several reads in one request; reconfiguration; four-letter commands.

pub mod cluster;
pub mod model;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use std::sync::{Arc, PoisonError};

/// A ZooKeeper member that can also be changed from outside.
#[derive(Default)]
pub struct Zookeeper(Arc<wire::Server>);

/// A single member, or several that agree, unused.
pub(super) fn members(count: usize) -> Vec<State> {
    match count {
        1 => vec![Arc::new(Zookeeper::default())],
        _ => cluster::members(count),
    }
}

impl Zookeeper {
    /// Serves on any [`Env`](protocols_clients::env::Env) until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: protocols_clients::env::Env>(&self, env: E, port: u16) -> std::io::Result<()> {
        wire::serve(env, port, self.0.clone()).await
    }
}

impl Model for Zookeeper {
    fn leads(&self) -> bool {
        true
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut model = self.0.model.lock().unwrap_or_else(PoisonError::into_inner);
        model.drop_leadership_of(candidate, group, what);
        self.0.changed.notify_one();
        model.holder(group)
    }

    fn holder(&self, group: u16, _wall_ms: u64) -> Option<Holder> {
        self.0.model.lock().unwrap_or_else(PoisonError::into_inner).holder(group)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let data = match disk {
            Disk::Copied => self.0.model.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Disk::Empty => model::Model::new(),
        };
        Some(Arc::new(Zookeeper(Arc::new(wire::Server::of(data)))))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
