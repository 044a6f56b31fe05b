//! A PostgreSQL database as the resource. Each row of one table that a process inserts or changes is a write of that process,
//! under the token that the row has. The database compares nothing itself: that is for the process's statements to do.

use super::written::Written;
use crate::{
    service::postgres::{
        model::{Audited, Model},
        server::Server,
        wire,
    },
    world::{
        env::{SimEnv, SimStream},
        with,
    },
};
use protocols::{fence::checks::Fencing, types::NodeId};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

const PORT: u16 = 5432;

/// The database that a program's leader protects, before anything has happened to it.
#[derive(Clone, Debug)]
pub struct Database {
    /// With the schema carried out.
    model: Model,
    /// Whether rows have tokens.
    tokened: bool,
}

/// The schema is not one for the simulated server.
#[derive(Clone, PartialEq, Eq, Error, Debug)]
#[error("the schema of the database cannot be carried out: {0}")]
pub struct NoSchema(String);

impl Database {
    /// A database in which every change of a row of `table` is a write, under the token that the row has in the column
    /// `token`. `schema` is carried out before the run.
    ///
    /// # Errors
    /// A statement of the schema is wrong or not supported.
    pub fn new(table: &str, token: Option<&str>, schema: &str) -> Result<Database, NoSchema> {
        let audited = Audited { table: table.to_owned(), token: token.map(str::to_owned) };
        let model = Model::audited(audited, schema).map_err(|why| NoSchema(why.message))?;
        Ok(Database { model, tokened: token.is_some() })
    }

    /// Serves until the process ends. What was committed survives that.
    pub(super) fn server(&self) -> Arc<Server> {
        let written = Mutex::new(Written::new(Fencing::Off));
        let tokened = self.tokened;
        let witness = move |client: (NodeId, u32), token: u64| {
            // Among rows with tokens, one without says nothing of the order.
            if tokened && token == 0 && with(|world| world.does_not_tell(client)) {
                return;
            }
            written.lock().unwrap_or_else(PoisonError::into_inner).write(client, token);
        };
        Arc::new(Server::witnessed(self.model.clone(), Box::new(witness)))
    }
}

pub(super) async fn serve(server: Arc<Server>, env: SimEnv) {
    // It ends when its machine does.
    let _: std::io::Result<()> = wire::serve(env, PORT, server, |stream: &SimStream| Some(stream.client())).await;
}
