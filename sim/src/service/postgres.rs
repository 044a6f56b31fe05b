//! One PostgreSQL 15 server as elections use it: a pure [`model`] behind the real wire protocol ([`wire`]).
//!
//! It is not a general database: it supports tables with a single-column key, the statements that elections and small
//! services use on them, one table at a time, "read committed" transactions, row locks, advisory locks, and the lifecycle of sessions. Anything else is
//! refused with SQLSTATE `0A000`. Its answers were compared with PostgreSQL 15. Committed data survives the process
//! (`synchronous_commit` is on); sessions and their locks do not. There is no authentication, and no limit of
//! connections.

mod analyse;
mod answers;
mod backend;
mod error;
mod evaluate;
mod extended;
mod messages;
pub mod model;
mod pool;
mod portal;
pub(crate) mod server;
mod settings;
mod shape;
mod sql;
mod value;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use model::Watched;
use protocols::types::MILLISECOND;
use protocols_clients::env::Env;
use server::Server;
use std::{io, sync::Arc};

/// A PostgreSQL server with every commit on disk.
pub struct Postgres {
    server: Arc<Server>,
    /// Whether clients reach it only through a pool in transaction mode.
    pooled: bool,
}

impl Postgres {
    /// A server with the elections' tables; `watched` says what leadership is.
    pub fn new(watched: Watched) -> Postgres {
        let server = Arc::new(Server::new(model::Model::with_schema(watched)));
        Postgres { server, pooled: watched == Watched::Pool }
    }

    pub fn empty() -> Postgres {
        Postgres { server: Arc::new(Server::new(model::Model::default())), pooled: false }
    }

    /// Whether a session is queued for a lock.
    pub fn is_waiting(&self, pid: i32) -> bool {
        self.server.model().is_waiting(pid)
    }

    pub fn has_session(&self, pid: i32) -> bool {
        self.server.model().has_session(pid)
    }

    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        if self.pooled {
            return pool::serve(env, port, self.server.clone()).await;
        }
        wire::serve(env, port, self.server.clone(), |_| None).await
    }
}

/// Unused servers; `watched` says what leadership is.
pub(super) fn members(count: usize, watched: Watched) -> Vec<State> {
    super::alone(count, || -> State { Arc::new(Postgres::new(watched)) })
}

impl Model for Postgres {
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) -> Option<Holder> {
        let mut model = self.server.model();
        model.drop_leadership(candidate, group, what, wall_ms);
        let (woken, holder) = (model.take_woken(), model.holder(group, wall_ms * MILLISECOND));
        drop(model);
        self.server.wake(&woken);
        holder
    }

    fn holder(&self, group: u16, wall_ms: u64) -> Option<Holder> {
        self.server.model().holder(group, wall_ms * MILLISECOND)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let model = self.server.model();
        let mut data = match disk {
            Disk::Copied => model.clone(),
            Disk::Empty => model.anew(),
        };
        // No copy contains uncommitted data.
        data.restart();
        Some(Arc::new(Postgres { server: Arc::new(Server::new(data)), pooled: self.pooled }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
