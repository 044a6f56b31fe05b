//! The resource that programs write to.

mod database;
mod own;
mod sequence;
mod written;

pub use database::{Database, NoSchema};
pub(crate) use own::FOLDER;
pub use own::Own;

use crate::{service::postgres::server::Server, world::env::SimEnv};
use protocols::{fence::checks::Fencing, types::NodeId};
use sequence::Sequence;
use std::{pin::Pin, sync::Arc};

/// What is on the store's disk, and how it is reached.
#[derive(Clone)]
pub enum Store {
    Sequence(Sequence),
    Database(Arc<Server>),
    /// A program of the user's own.
    Own(Arc<Begin>),
}

/// Runs a process of the store to its end.
pub type Begin = dyn Fn(NodeId) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

impl Store {
    /// An empty sequence, or this database.
    pub fn new(fencing: Fencing, database: Option<&Database>) -> Store {
        match database {
            None => Store::Sequence(Sequence::new(fencing)),
            Some(database) => Store::Database(database.server()),
        }
    }

    /// Serves until the process ends.
    pub async fn serve(self, env: SimEnv) {
        match self {
            Store::Sequence(sequence) => sequence.serve(env).await,
            Store::Database(server) => database::serve(server, env).await,
            Store::Own(begin) => begin(env.node).await,
        }
    }
}
