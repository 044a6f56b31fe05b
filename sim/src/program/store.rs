//! The resource that programs write to.

use crate::{
    program::said::Accepts,
    service::{
        http::{self, Answer},
        postgres::{
            model::{Audited, Effect, Model},
            server::Server,
            wire,
        },
    },
    world::{
        env::{SimEnv, SimStream},
        with,
    },
};
use fencepost_process::Main;
use hyper::{Method, Request, StatusCode, body::Bytes};
use protocols::{
    fence::{
        ablated::AnyLedger,
        checks::Fencing,
        ledger::Fence,
        store::{self, Ledgers},
    },
    history::Kind,
    message::{Message, Write, WriteVerdict},
    types::{NodeId, Operation, Resource},
};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};
use thiserror::Error;

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
            Store::Database(server) => serve_database(server, env).await,
            Store::Own(begin) => begin(env.node).await,
        }
    }
}

// A resource that is a program of the user's own. It runs at the store's place, and its lines say what it has accepted.

/// The environment variable that names the folder for its state, as systemd calls it, and that folder on its disk.
pub(crate) const FOLDER: (&str, &str) = ("STATE_DIRECTORY", "/var/lib/store");

/// A program that is the resource, and the lines by which it says what it has accepted.
#[derive(Clone, Debug)]
pub struct Own {
    pub(crate) main: Main,
    pub(crate) accepts: Vec<Accepts>,
}

impl Own {
    /// The program that runs `main`, and says by a line with one of these parts that it has accepted a write.
    pub fn new(main: Main, accepts: Vec<Accepts>) -> Own {
        Own { main, accepts }
    }
}

// A PostgreSQL database as the resource. Each row of one table that a process inserts or changes is a write of that process,
// under the token that the row has. The database compares nothing itself: that is for the process's statements to do.

const DATABASE_PORT: u16 = 5432;

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
    fn server(&self) -> Arc<Server> {
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

async fn serve_database(server: Arc<Server>, env: SimEnv) {
    // It ends when its machine does.
    let _: std::io::Result<()> =
        wire::serve(env, DATABASE_PORT, server, |stream: &SimStream| Some(stream.client())).await;
}

// The fenced store as programs reach it by HTTP: `PUT /sequence` with a `Fencing-Token` appends, and `GET /sequence` says how
// far it is. A token that is lower than one that the store has accepted is refused with 409.

const PORT: u16 = 80;
const PATH: &str = "/sequence";
const TOKEN: &str = "fencing-token";

/// What is on the store's disk.
#[derive(Clone)]
pub(crate) struct Sequence {
    written: Arc<Mutex<Written>>,
    compares: bool,
}

impl Sequence {
    /// An empty store, in which a token's first write fences off lower ones.
    pub fn new(fencing: Fencing) -> Sequence {
        let written = Arc::new(Mutex::new(Written::new(fencing)));
        Sequence { written, compares: fencing.checks().token }
    }

    /// Serves until the process ends.
    pub async fn serve(self, env: SimEnv) {
        let answer = move |from: (NodeId, u32), request: Request<Bytes>| {
            let store = self.clone();
            async move { store.answer(from, &request) }
        };
        // It ends when its machine does.
        let _: std::io::Result<()> = http::serve_to(env, PORT, SimStream::client, answer).await;
    }

    fn answer(&self, from: (NodeId, u32), request: &Request<Bytes>) -> Answer {
        if request.uri().path() != PATH {
            return http::text(StatusCode::NOT_FOUND, format!("this store has {PATH} only"));
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match *request.method() {
            Method::GET => http::text(StatusCode::OK, format!("{}", written.seq())),
            Method::PUT | Method::POST => match self.token(request) {
                Ok(token) => write(&mut written, from, token),
                Err(why) => http::text(StatusCode::BAD_REQUEST, why),
            },
            _ => http::text(StatusCode::METHOD_NOT_ALLOWED, "GET and PUT only"),
        }
    }

    fn token(&self, request: &Request<Bytes>) -> Result<u64, String> {
        match request.headers().get(TOKEN) {
            None if self.compares => Err(format!("a write needs a {TOKEN}: this store compares tokens")),
            None => Ok(0),
            Some(token) => {
                let number = token.to_str().ok().and_then(|token| token.trim().parse().ok());
                number.ok_or_else(|| format!("{TOKEN} must be a whole number, not {token:?}"))
            }
        }
    }
}

fn write(written: &mut Written, from: (NodeId, u32), token: u64) -> Answer {
    match written.write(from, token) {
        Some(Message::Written { verdict: WriteVerdict::Fenced { highest }, .. }) => {
            http::text(StatusCode::CONFLICT, format!("token {token} is outdated: the highest is {highest}"))
        }
        Some(Message::Written { seq, verdict: WriteVerdict::Ok, .. }) => http::text(StatusCode::OK, format!("{seq}")),
        _ => http::text(StatusCode::CONFLICT, "not the next in order"),
    }
}

// What programs have written, and who is known to have written it.

const SEQUENCE: Resource = Resource(0);

/// What was written, and who is known to have written it.
struct Written {
    ledgers: Ledgers,
    count: u64,
}

impl Written {
    fn new(fencing: Fencing) -> Written {
        let mut checks = fencing.checks();
        checks.rules.seal = false;
        Written { ledgers: vec![AnyLedger::new(checks)], count: 0 }
    }

    fn seq(&self) -> u64 {
        self.ledgers[0].seq()
    }

    /// A write of this process on this connection: the ledger's answer, of which the judge is told.
    fn write(&mut self, (node, conn): (NodeId, u32), token: u64) -> Option<Message> {
        self.count += 1;
        let of = with(|world| world.leadership_of(node, conn, token));
        let ledger = &self.ledgers[0];
        let write = Write {
            resource: SEQUENCE,
            operation: Operation::Record,
            generation: of.generation,
            token,
            seq: ledger.seq() + 1,
            read_version: ledger.version(),
            client: node,
            number: self.count,
            payload: None,
        };
        let (mut kind, message) = store::answer(&mut self.ledgers, node, Message::Write(write))?;
        // The store goes by the token that it is shown, the judge by who is known to have shown it.
        if let Kind::Apply { write, .. } = &mut kind {
            write.token = of.token;
        }
        let accepted = matches!(message, Message::Written { verdict: WriteVerdict::Ok, .. });
        with(|world| {
            if world.is_told(node, conn) {
                world.record(Kind::Issue { node, write: Write { token: of.token, ..write } });
            }
            world.record(kind);
            if accepted {
                world.took_effect(of);
            }
        });
        Some(message)
    }
}
