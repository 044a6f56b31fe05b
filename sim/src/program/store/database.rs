//! A PostgreSQL database as the resource. Each row of one table that a process inserts or changes is a write of that process,
//! under the token that the row has. The database compares nothing itself: that is for the process's statements to do.

use super::written::Written;
use crate::{
    service::postgres::{
        model::{Audited, Effect, Model},
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
        // With the process and the token of the last write that could be told.
        let written = Mutex::new((Written::new(Fencing::Off), None));
        let tokened = self.tokened;
        let witness = move |client: (NodeId, u32), effect: Effect| {
            let (written, last) = &mut *written.lock().unwrap_or_else(PoisonError::into_inner);
            let own = (client.0, effect.token);
            // Among rows with tokens, one without says nothing of the order. Neither does one whose token stayed, unless this
            // process has just written under it: it may be a former leader that changed its successor's row.
            let unclear = effect.token == 0 || (effect.kept && *last != Some(own));
            if tokened && unclear && with(|world| world.does_not_tell(client)) {
                return;
            }
            *last = Some(own);
            written.write(client, effect.token);
        };
        Arc::new(Server::witnessed(self.model.clone(), Box::new(witness)))
    }
}

pub(super) async fn serve(server: Arc<Server>, env: SimEnv) {
    // It ends when its machine does.
    let _: std::io::Result<()> = wire::serve(env, PORT, server, |stream: &SimStream| Some(stream.client())).await;
}
