//! A Redis 7.0 server as elections use it: a pure [`model`] behind the real wire protocol ([`wire`]).
//!
//! Its answers, errors included, were compared with Redis 7.0.15. It is configured with `appendonly yes` and
//! `appendfsync always`, the only setting under which Redis keeps acknowledged writes over a restart; the script cache
//! and connections are lost with the process. Not modelled: replication, persistence errors, memory limits.

mod call;
mod commands;
mod connection;
mod lua;
pub mod model;
pub mod resp;
mod script;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use protocols::{bug::Bugs, election::redis_common::FORGOTTEN_ON_RESTART};
use protocols_clients::env::Env;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

/// A Redis server that syncs every write.
#[derive(Default)]
pub struct Redis(Arc<Mutex<model::Model>>);

impl Redis {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        // Data that was never on disk is gone after a restart.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).restart();
        wire::serve(env, port, self.0.clone()).await
    }
}

/// Independent, unused servers.
pub(super) fn members(count: usize, bugs: &Bugs) -> Vec<State> {
    let forgets = bugs.has(&FORGOTTEN_ON_RESTART);
    let server = || -> State {
        let server = Redis::default();
        server.0.lock().unwrap_or_else(PoisonError::into_inner).forgets = forgets;
        Arc::new(server)
    };
    super::alone(count, server)
}

impl Model for Redis {
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) -> Option<Holder> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match what {
            Dropped::Counter => model.drop_counter(group),
            Dropped::Lease | Dropped::Key => model.drop_key_of(candidate, group),
        }
        model.holder(group, wall_ms)
    }

    fn holder(&self, group: u16, wall_ms: u64) -> Option<Holder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).holder(group, wall_ms)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let twin = match disk {
            Disk::Copied => model.clone(),
            Disk::Empty => model.anew(),
        };
        Some(Arc::new(Redis(Arc::new(Mutex::new(twin)))))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
