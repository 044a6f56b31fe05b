//! The fenced store as programs reach it: `PUT /sequence` with a `Fencing-Token` appends, and `GET /sequence` says how far it
//! is. A token that is lower than one that the store has accepted is refused with 409.

use crate::{
    service::http::{self, Answer},
    world::{
        env::{SimEnv, SimStream},
        with,
    },
};
use hyper::{Method, Request, StatusCode, body::Bytes};
use protocols::{
    fence::{
        ablated::AnyLedger,
        checks::Fencing,
        ledger::Fence,
        store::{self, Ledgers},
    },
    message::{Message, Write, WriteVerdict},
    types::{NodeId, Operation, Resource},
};
use std::sync::{Arc, Mutex, PoisonError};

pub const PORT: u16 = 80;
const PATH: &str = "/sequence";
const TOKEN: &str = "fencing-token";
const SEQUENCE: Resource = Resource(0);

/// What is on the store's disk.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Mutex<Inner>>,
    compares: bool,
}

struct Inner {
    ledgers: Ledgers,
    written: u64,
}

impl Store {
    /// An empty store, in which a token's first write fences off lower ones.
    pub fn new(fencing: Fencing) -> Store {
        let mut checks = fencing.checks();
        checks.rules.seal = false;
        let inner = Inner { ledgers: vec![AnyLedger::new(checks)], written: 0 };
        Store { inner: Arc::new(Mutex::new(inner)), compares: checks.token }
    }

    /// Serves until the process ends.
    pub async fn serve(self, env: SimEnv) {
        let answer = move |from: (NodeId, u32), request: Request<Bytes>| {
            let store = self.clone();
            async move { store.answer(from, &request) }
        };
        // It ends when its machine does.
        let _: std::io::Result<()> = http::serve_to(env, PORT, SimStream::other_end, answer).await;
    }

    fn answer(&self, from: (NodeId, u32), request: &Request<Bytes>) -> Answer {
        if request.uri().path() != PATH {
            return http::text(StatusCode::NOT_FOUND, format!("this store has {PATH} only"));
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match *request.method() {
            Method::GET => http::text(StatusCode::OK, format!("{}", inner.ledgers[0].seq())),
            Method::PUT | Method::POST => match self.token(request) {
                Ok(token) => inner.write(from, token),
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

impl Inner {
    fn write(&mut self, (node, starts): (NodeId, u32), token: u64) -> Answer {
        self.written += 1;
        let ledger = &self.ledgers[0];
        let write = Write {
            resource: SEQUENCE,
            operation: Operation::Record,
            generation: starts,
            token,
            seq: ledger.seq() + 1,
            read_version: ledger.version(),
            client: node,
            number: self.written,
            payload: None,
        };
        let Some((kind, message)) = store::answer(&mut self.ledgers, node, Message::Write(write)) else {
            return http::text(StatusCode::NOT_FOUND, "there is no such resource");
        };
        with(|world| world.record(kind));
        match message {
            Message::Written { verdict: WriteVerdict::Fenced { highest }, .. } => {
                http::text(StatusCode::CONFLICT, format!("token {token} is outdated: the highest is {highest}"))
            }
            Message::Written { seq, verdict: WriteVerdict::Ok, .. } => http::text(StatusCode::OK, format!("{seq}")),
            _ => http::text(StatusCode::CONFLICT, "not the next in order"),
        }
    }
}
