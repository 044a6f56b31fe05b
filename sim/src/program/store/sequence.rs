//! The fenced store as programs reach it by HTTP: `PUT /sequence` with a `Fencing-Token` appends, and `GET /sequence` says how
//! far it is. A token that is lower than one that the store has accepted is refused with 409.

use super::written::Written;
use crate::{
    service::http::{self, Answer},
    world::env::{SimEnv, SimStream},
};
use hyper::{Method, Request, StatusCode, body::Bytes};
use protocols::{
    fence::checks::Fencing,
    message::{Message, WriteVerdict},
    types::NodeId,
};
use std::sync::{Arc, Mutex, PoisonError};

const PORT: u16 = 80;
const PATH: &str = "/sequence";
const TOKEN: &str = "fencing-token";

/// What is on the store's disk.
#[derive(Clone)]
pub struct Sequence {
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
