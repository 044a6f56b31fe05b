//! Serves the model through Consul's HTTP API.
//!
//! Reference: hashicorp/consul 1.8.7, `agent/http_register.go`, `agent/http.go: wrap, parseWait, setMeta`,
//! `agent/session_endpoint.go`, `agent/kvs_endpoint.go`, `agent/consul/rpc.go: blockingQuery`.
//!
//! A blocking request is answered when its key's index passes the one that it names, or after its time plus up to a
//! sixteenth, so that clients that began together do not come back together.

use super::{
    cluster::agreement::Agreement,
    command::Command,
    model::{Behavior, Model, NODE, Pair, Refusal, Session},
    pieces::{duration, uuid},
    target::{Query, Wanted, decoded},
};
use crate::{
    service::{
        grants,
        http::{self, Answer, empty, text, with_header},
    },
    world::env::SimEnv,
};
use data_encoding::BASE64;
use hyper::{Method, Request, StatusCode, body::Bytes};
use protocols::{history::GrantEnd, types::SECOND};
use protocols_clients::env::Env;
use serde_json::{Value, json};
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::Notify;

/// The default time of a blocking request, in nanoseconds (`default_query_time`).
const WAIT: u64 = 300 * SECOND;
/// The longest time of a blocking request, in nanoseconds (`max_query_time`).
const WAIT_MAX: u64 = 600 * SECOND;
/// Up to this fraction of the time is added (`agent/consul/rpc.go: jitterFraction`).
const JITTER_PART: u64 = 16;
/// The longest value, in bytes (`kv_max_value_size`).
const VALUE_MAX: usize = 512 * 1024;

/// Serves `model` on `port` until the process ends or the future is dropped. Code that changes the model from outside
/// notifies `changed`.
///
/// # Errors
/// The port cannot be listened on, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, model: Arc<Mutex<Model>>, changed: Arc<Notify>) -> io::Result<()> {
    let server = Server { env: env.clone(), model, changed, agreement: None };
    server.model().promote(env.now().mono);
    let _expiry = env.spawn(server.clone().expiry());
    http::serve(env, port, move |request| server.clone().answer(request)).await
}

#[derive(Clone)]
pub(super) struct Server<E> {
    env: E,
    model: Arc<Mutex<Model>>,
    changed: Arc<Notify>,
    /// With several servers, their consensus, which owns this server.
    agreement: Option<Weak<Agreement>>,
}

/// The front of one of several servers.
pub(super) fn member(env: SimEnv, agreement: Arc<Agreement>) -> Server<SimEnv> {
    let (model, changed) = (agreement.model.clone(), agreement.changed.clone());
    let server = Server { env, model, changed, agreement: Some(Arc::downgrade(&agreement)) };
    let here = server.clone();
    agreement.answers_by(Box::new(move |request| {
        let here = here.clone();
        Box::pin(async move { here.answer_here(request).await })
    }));
    server
}

impl Server<SimEnv> {
    /// Serves clients of one of several servers until the process ends.
    ///
    /// # Errors
    /// The port cannot be listened on, or the socket closed.
    pub(super) async fn serve(self, port: u16) -> io::Result<()> {
        http::serve(self.env, port, move |request| self.clone().passed_on(request)).await
    }

    async fn passed_on(self, request: Request<Bytes>) -> Answer {
        let Some(agreement) = self.agreement.as_ref().and_then(Weak::upgrade) else {
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let query = Query::of(request.uri().query());
        // The leader may not know whose request is passed on to it.
        query.get("acquire").inspect(|session| grants::contends(session));
        let stale = request.method() == Method::GET && query.has("stale");
        agreement.route(request, stale).await
    }
}

/// An error, as an answer.
type Refused = Box<Answer>;

/// In Consul, the store's refusals are server errors.
fn internal(why: Refusal) -> Refused {
    Box::new(text(StatusCode::INTERNAL_SERVER_ERROR, why))
}

fn bad(why: impl Into<Bytes>) -> Refused {
    Box::new(text(StatusCode::BAD_REQUEST, why))
}

fn not_modelled(what: &str) -> Refused {
    crate::service::grants::tell_refused("Consul", &format!("{what} is not modelled"));
    Box::new(text(StatusCode::NOT_IMPLEMENTED, format!("{what} is not modelled")))
}

impl<E: Env> Server<E> {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a command, directly or through the log.
    async fn write(&self, why: GrantEnd, command: Command) -> Result<bool, Refusal> {
        match self.agreement.as_ref().map(Weak::upgrade) {
            None => self.change(why, |model, now| command.apply(model, now)),
            Some(Some(agreement)) => agreement.write(why, command).await,
            Some(None) => Err("node is not the leader".to_owned()),
        }
    }

    /// Changes the model at the present time, and notifies waiters; `why` says how a leadership that this ends has
    /// ended.
    fn change<T>(&self, why: GrantEnd, action: impl FnOnce(&mut Model, u64) -> T) -> T {
        let now = self.env.now().mono;
        let mut model = self.model();
        let index = model.index();
        let answer = action(&mut model, now);
        model.settle(now);
        if model.index() != index {
            grants::tell_each(why, |group| model.holder(group), |key| model.holder_of(key));
            self.changed.notify_waiters();
        }
        answer
    }

    /// Ends sessions when their time is up. Sessions made or renewed meanwhile end later than the existing ones.
    async fn expiry(self) {
        loop {
            let changed = self.changed.notified();
            let next = self.model().next_end();
            match next {
                None => changed.await,
                Some(at) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = self.env.sleep_until(at) => {}
                },
            }
            self.change(GrantEnd::Expired, |model, now| model.expire(now));
        }
    }

    async fn answer(self, request: Request<Bytes>) -> Answer {
        self.answer_here(request).await
    }

    /// Answers a request from this server's copy.
    pub(super) async fn answer_here(&self, request: Request<Bytes>) -> Answer {
        let path = request.uri().path().to_owned();
        let query = Query::of(request.uri().query());
        let answer = match path.strip_prefix("/v1/").and_then(|rest| rest.split_once('/')) {
            Some(("kv", key)) => self.key(key, &query, request).await,
            Some(("session", rest)) => self.session(rest, &query, &request).await,
            Some(("status", "leader")) => Ok(http::json(StatusCode::OK, &"127.0.0.1:8300")),
            Some((known @ ("agent" | "catalog" | "health" | "event" | "txn" | "query" | "acl"), _)) => {
                Err(not_modelled(&format!("/v1/{known}")))
            }
            _ => return empty(StatusCode::NOT_FOUND),
        };
        with_header(answer.unwrap_or_else(|refused| *refused), "vary", "Accept-Encoding")
    }

    async fn session(&self, rest: &str, query: &Query, request: &Request<Bytes>) -> Result<Answer, Refused> {
        let (verb, id) = rest.split_once('/').unwrap_or((rest, ""));
        let id = decoded(id).and_then(|id| String::from_utf8(id).ok()).unwrap_or_default();
        let allowed = match verb {
            "create" | "renew" | "destroy" => Method::PUT,
            "info" => Method::GET,
            "list" | "node" => return Err(not_modelled("a list of sessions")),
            _ => return Ok(empty(StatusCode::NOT_FOUND)),
        };
        if request.method() != allowed {
            return Err(Box::new(not_allowed(request.method(), allowed.as_str())));
        }
        if verb == "create" {
            return self.create(request.body()).await;
        }
        if verb != "destroy" && query.has("index") {
            return Err(not_modelled("waiting for a session"));
        }
        if id.is_empty() {
            return Err(bad("Missing session"));
        }
        match verb {
            "destroy" => {
                self.write(GrantEnd::Released, Command::Destroy(id)).await.map_err(internal)?;
                Ok(http::json(StatusCode::OK, &true))
            }
            "renew" => {
                let now = self.env.now().mono;
                let mut model = self.model();
                let found = model.session(&id, Some(now)).map_err(internal)?.map(|session| shown(&id, session));
                match found {
                    Some(session) => Ok(http::json(StatusCode::OK, &[session])),
                    None => Ok(text(StatusCode::NOT_FOUND, format!("Session id '{id}' not found"))),
                }
            }
            _ => {
                let mut model = self.model();
                let found = model.session(&id, None).map(|session| session.map(|session| shown(&id, session)));
                let answer = match found {
                    Ok(session) => http::json(StatusCode::OK, &Vec::from_iter(session)),
                    Err(why) => return Err(Box::new(with_index(*internal(why), 1, false))),
                };
                Ok(with_index(answer, model.sessions_index(), true))
            }
        }
    }

    async fn create(&self, body: &Bytes) -> Result<Answer, Refused> {
        let wanted = Wanted::read(body).map_err(|why| bad(format!("Request decode failed: {why}")))?;
        let behavior = match wanted.behavior.as_deref() {
            None | Some("" | "release") => Behavior::Release,
            Some("delete") => Behavior::Delete,
            Some(other) => return Err(internal(format!("Invalid Behavior setting '{other}'"))),
        };
        let id = uuid([self.env.random(), self.env.random()]);
        let session = Session {
            name: wanted.name.unwrap_or_default(),
            node: wanted.node.unwrap_or_else(|| NODE.to_owned()),
            lock_delay: wanted.lock_delay,
            behavior,
            ttl: wanted.ttl.unwrap_or_default(),
            checks: wanted.checks.unwrap_or_else(|| vec!["serfHealth".to_owned()]),
            create_index: 0,
            ends_at: None,
        };
        if session.node.is_empty() {
            return Err(internal("Must provide Node".to_owned()));
        }
        let create = Command::Create(id.clone(), Box::new(session));
        self.write(GrantEnd::Released, create).await.map_err(internal)?;
        Ok(http::json(StatusCode::OK, &json!({ "ID": id })))
    }

    async fn key(&self, key: &str, query: &Query, request: Request<Bytes>) -> Result<Answer, Refused> {
        let key = decoded(key).unwrap_or_default();
        let method = request.method().clone();
        if ![Method::GET, Method::PUT, Method::DELETE].contains(&method) {
            return Err(Box::new(not_allowed(&method, "GET,PUT,DELETE")));
        }
        if let Some(unknown) = ["keys", "recurse", "dc", "ns", "token"].into_iter().find(|name| query.has(name)) {
            return Err(not_modelled(&format!("`{unknown}` of a key")));
        }
        if method == Method::GET {
            return self.get(&key, query).await;
        }
        if key.is_empty() {
            return Err(bad("Missing key name"));
        }
        match method {
            Method::DELETE => {
                let cas = number(query, "cas")?;
                let gone = self.write(GrantEnd::Lost, Command::Delete(key, cas)).await.map_err(internal)?;
                Ok(http::json(StatusCode::OK, &(gone || cas.is_none())))
            }
            _ => self.put(key, query, request.into_body()).await,
        }
    }

    async fn put(&self, key: Vec<u8>, query: &Query, value: Bytes) -> Result<Answer, Refused> {
        if ["cas", "acquire", "release"].into_iter().filter(|flag| query.has(flag)).count() > 1 {
            return Err(bad(format!("Conflicting flags: {}\n", query.encode())));
        }
        let flags = number(query, "flags")?.unwrap_or(0);
        let cas = number(query, "cas")?;
        if value.len() > VALUE_MAX {
            return Err(not_modelled("a value of more than 512 KiB"));
        }
        let value = value.to_vec();
        let command = match (query.get("acquire"), query.get("release")) {
            (Some(session), _) => Command::Acquire(key, value, flags, session.to_owned()),
            (None, Some(session)) => Command::Release(key, value, flags, session.to_owned()),
            (None, None) => Command::Set(key, value, flags, cas),
        };
        let done = self.write(GrantEnd::Released, command).await;
        Ok(http::json(StatusCode::OK, &done.map_err(internal)?))
    }

    async fn get(&self, key: &[u8], query: &Query) -> Result<Answer, Refused> {
        let wait = match query.get("wait").filter(|wait| !wait.is_empty()) {
            None => WAIT,
            Some(wait) => match duration(wait).map_err(|_| bad("Invalid wait time"))? {
                ..=0 => WAIT,
                wait => u64::try_from(wait).unwrap_or(WAIT_MAX).min(WAIT_MAX),
            },
        };
        let index = query.get("index").filter(|index| !index.is_empty()).map_or(Ok(0), str::parse::<u64>);
        let index = index.map_err(|_| bad("Invalid index"))?;
        if query.has("stale") && query.has("consistent") {
            return Err(bad("Cannot specify ?stale with ?consistent, conflicting semantics."));
        }
        if key.is_empty() {
            return Err(bad("Missing key name"));
        }
        if let Some(agreement) = self.agreement.as_ref().and_then(Weak::upgrade)
            && query.has("consistent")
        {
            agreement.verify().await.map_err(internal)?;
        }
        if index > 0 {
            let jitter = self.env.random() % (wait / JITTER_PART).max(1);
            self.env.timeout(wait + jitter, self.passes(key, index)).await;
        }
        let model = self.model();
        let (pair, index) = model.get(key);
        let answer = match pair {
            None => empty(StatusCode::NOT_FOUND),
            Some(pair) if query.has("raw") => raw(pair),
            Some(pair) => http::json(StatusCode::OK, &[pair_shown(key, pair)]),
        };
        Ok(with_index(answer, index, true))
    }

    /// Waits until the key's index exceeds `index`.
    async fn passes(&self, key: &[u8], index: u64) {
        loop {
            let changed = self.changed.notified();
            if self.model().get(key).1 > index {
                return;
            }
            changed.await;
        }
    }
}

fn with_index(answer: Answer, index: u64, known: bool) -> Answer {
    let answer = with_header(answer, "x-consul-index", &index.to_string());
    let answer = with_header(answer, "x-consul-knownleader", if known { "true" } else { "false" });
    with_header(answer, "x-consul-lastcontact", "0")
}

fn not_allowed(method: &Method, allowed: &str) -> Answer {
    let answer = text(StatusCode::METHOD_NOT_ALLOWED, format!("method {method} not allowed"));
    with_header(answer, "allow", &format!("OPTIONS,{allowed}"))
}

/// A number in a query, parsed as in Go.
fn number(query: &Query, name: &str) -> Result<Option<u64>, Refused> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    let value = if digits { text.parse().ok() } else { None };
    value.map(Some).ok_or_else(|| internal(format!("strconv.ParseUint: parsing {text:?}: {why}")))
}

fn raw(pair: &Pair) -> Answer {
    let answer = http::with_header(text(StatusCode::OK, pair.value.clone()), "content-type", "text/plain");
    let answer = with_header(answer, "x-content-type-options", "nosniff");
    with_header(answer, "content-security-policy", "sandbox")
}

fn pair_shown(key: &[u8], pair: &Pair) -> Value {
    let value = if pair.value.is_empty() { Value::Null } else { BASE64.encode(&pair.value).into() };
    let mut shown = json!({
        "LockIndex": pair.lock_index,
        "Key": String::from_utf8_lossy(key),
        "Flags": pair.flags,
        "Value": value,
        "CreateIndex": pair.create_index,
        "ModifyIndex": pair.modify_index,
    });
    if let Some(session) = &pair.session {
        shown["Session"] = session.as_str().into();
    }
    shown
}

fn shown(id: &str, session: &Session) -> Value {
    json!({
        "ID": id,
        "Name": session.name,
        "Node": session.node,
        "LockDelay": session.lock_delay,
        "Behavior": if session.behavior == Behavior::Delete { "delete" } else { "release" },
        "TTL": session.ttl,
        "NodeChecks": session.checks,
        "ServiceChecks": null,
        "CreateIndex": session.create_index,
        "ModifyIndex": session.create_index,
    })
}
