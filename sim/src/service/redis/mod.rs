//! One Redis server, version 7.0, as far as elections use it: a pure [`model`] behind the real wire protocol ([`wire`]).
//!
//! What it answers was compared with Redis 7.0.15 itself, errors included. It is configured `appendonly yes` with
//! `appendfsync always`, the one setting under which Redis keeps what it acknowledged over a restart; the script cache and
//! the connections are lost with the process, as they are there. No replication, no persistence errors, no memory limit.

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

/// Redis, with every write synced.
#[derive(Default)]
pub struct Redis(Arc<Mutex<model::Model>>);

impl Redis {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket is gone.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        // What was never on disk is gone when the process comes back.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).restart();
        wire::serve(env, port, self.0.clone()).await
    }
}

/// Servers that know nothing of each other, and that were never used.
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
