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
    history::Kind,
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
}

struct Inner {
    ledgers: Ledgers,
    compares: bool,
    written: u64,
}

impl Store {
    /// An empty store, in which a token's first write fences off lower ones.
    pub fn new(fencing: Fencing) -> Store {
        let mut checks = fencing.checks();
        checks.rules.seal = false;
        let inner = Inner { ledgers: vec![AnyLedger::new(checks)], compares: checks.token, written: 0 };
        Store { inner: Arc::new(Mutex::new(inner)) }
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
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match *request.method() {
            Method::GET => http::text(StatusCode::OK, format!("{}", inner.ledgers[0].seq())),
            Method::PUT | Method::POST => match inner.token(request) {
                Ok(token) => inner.write(from, token),
                Err(why) => http::text(StatusCode::BAD_REQUEST, why),
            },
            _ => http::text(StatusCode::METHOD_NOT_ALLOWED, "GET and PUT only"),
        }
    }
}

impl Inner {
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

    fn write(&mut self, (node, conn): (NodeId, u32), token: u64) -> Answer {
        self.written += 1;
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
            number: self.written,
            payload: None,
        };
        let Some((mut kind, message)) = store::answer(&mut self.ledgers, node, Message::Write(write)) else {
            return http::text(StatusCode::NOT_FOUND, "there is no such resource");
        };
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
        match message {
            Message::Written { verdict: WriteVerdict::Fenced { highest }, .. } => {
                http::text(StatusCode::CONFLICT, format!("token {token} is outdated: the highest is {highest}"))
            }
            Message::Written { seq, verdict: WriteVerdict::Ok, .. } => http::text(StatusCode::OK, format!("{seq}")),
            _ => http::text(StatusCode::CONFLICT, "not the next in order"),
        }
    }
}
