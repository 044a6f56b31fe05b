//! etcd as clients see it: one member with its key-value store, leases and watches.
//!
//! [`model`] is pure. [`wire`] serves it over gRPC, so that the genuine client works unmodified.
//!
//! [`cluster`] models several members; `recipes` are its lock and election services.
//!
//! Not modelled: authentication, cluster and maintenance calls (`Unimplemented`); lease checkpoints (they only shorten
//! leases of more than five minutes after a change of leader); unsolicited progress notifications of watches (every ten
//! minutes); fragmented watch responses; the latency of consensus and disk.

pub mod cluster;
pub mod model;
mod recipes;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use protocols::{bug::Bugs, service::etcd::EXPIRES_BY_WALL_CLOCK};
use protocols_clients::env::Env;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// A single member, or several that agree.
pub(super) fn members(count: usize, bugs: &Bugs) -> Vec<State> {
    match count {
        1 => vec![Arc::new(Etcd { by_wall_clock: bugs.has(&EXPIRES_BY_WALL_CLOCK), ..Etcd::default() })],
        _ => cluster::members(count, bugs),
    }
}

/// An etcd member that can also be changed from outside.
#[derive(Default)]
pub struct Etcd {
    model: Arc<Mutex<model::Model>>,
    changed: Arc<Notify>,
    /// Whether its lessor uses the wall clock, which is wrong.
    by_wall_clock: bool,
}

impl Etcd {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        wire::serve_as(env, port, self.model.clone(), self.changed.clone(), self.by_wall_clock).await
    }
}

impl Model for Etcd {
    fn leads(&self) -> bool {
        true
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        model.drop_leadership_of(candidate, group, what);
        self.changed.notify_one();
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
        let by_wall_clock = self.by_wall_clock;
        Some(Arc::new(Etcd { model: Arc::new(Mutex::new(data)), by_wall_clock, ..Etcd::default() }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
