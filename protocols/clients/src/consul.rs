//! Consul over its HTTP API.
//!
//! Its Go client (hashicorp/consul, `api/api.go: DefaultConfig, NewHttpClient`, with hashicorp/go-cleanhttp,
//! `cleanhttp.go: DefaultPooledTransport`) sets no timeout on requests.

mod agent;
mod shared;

use crate::{
    client,
    env::Env,
    http::{Answer, Ask, encoded},
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use agent::{Agent, Waits};
use data_encoding::BASE64;
use hyper::Method;
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    service::consul::{Api, Item, LOCK_FLAGS, Pair, Reads, Reply, Request, SERVICE, Watch},
};
use serde::Deserialize;
use serde_json::json;
pub use shared::Connections;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.service, outputs, move |input| deliver(input))),
    }
}

/// Carries out the requests that come from `outputs` and hands every answer to `deliver`, until `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let way = Way::Own(Arc::new(Agent::new(&env, endpoints)));
    Queue::new(env.clone(), &SERVICE, deliver).run(Consul { env, way, token: None }, outputs).await;
}

/// The same over connections that other electors use, too, and with an ACL token if there is one.
pub async fn run_on<E: Env>(
    env: E,
    connections: Connections<E>,
    token: Option<Arc<str>>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let way = Way::Shared(connections);
    Queue::new(env.clone(), &SERVICE, deliver).run(Consul { env, way, token }, outputs).await;
}

struct Consul<E: Env> {
    env: E,
    way: Way<E>,
    token: Option<Arc<str>>,
}

/// How requests get to Consul.
#[derive(Clone)]
enum Way<E: Env> {
    Own(Arc<Agent<E>>),
    Shared(Connections<E>),
}

/// With the ACL token, if there is one.
fn signed(ask: Ask, token: Option<&str>) -> Ask {
    match token {
        Some(token) => ask.with("x-consul-token", token),
        None => ask,
    }
}

impl<E: Env> Backend for Consul<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, way, token) = (self.env.clone(), self.way.clone(), self.token.clone());
        Box::pin(async move {
            let attempt = async {
                let ask = signed(ask(&request), token.as_deref());
                let answer = match &way {
                    Way::Own(agent) => agent.ask(ask, Waits::No).await?,
                    Way::Shared(connections) => connections.ask(ask).await?,
                };
                understand(&request, &answer)
            };
            within(&env, timeout, attempt).await
        })
    }

    fn stream(&self, watch: Watch, stream: Stream<Api>) -> Option<Boxed<Failure>> {
        let (way, token) = (self.way.clone(), self.token.clone());
        let (_pushes, give) = stream.split();
        Some(Box::pin(async move {
            let (mut index, mut leave) = (0, None);
            let ask = |index| signed(wait(&watch, index), token.as_deref());
            loop {
                let answer = match &way {
                    Way::Own(agent) => agent.ask(ask(index), Waits::ForChange).await,
                    Way::Shared(connections) => connections.watch(&mut leave, index, ask).await,
                };
                match answer.and_then(|answer| found(&answer)) {
                    Ok((pair, now)) => {
                        // A lower index means that the server lost its state: the known index is worthless.
                        index = if now < index { 0 } else { now };
                        give(Item(pair));
                    }
                    Err(failure) => return failure,
                }
            }
        }))
    }
}

fn kv(key: &str, query: &[String]) -> String {
    let query = query.join("&");
    format!("/v1/kv/{}{}{query}", encoded(key), if query.is_empty() { "" } else { "?" })
}

/// The query parameter for a read's consistency mode.
fn mode(reads: Reads) -> Option<String> {
    match reads {
        Reads::Default => None,
        Reads::Consistent => Some("consistent=".to_owned()),
        Reads::Stale => Some("stale=".to_owned()),
    }
}

/// The next blocking query of a watch.
fn wait(watch: &Watch, index: u64) -> Ask {
    let mut query = Vec::new();
    query.extend(mode(watch.reads));
    if index > 0 {
        query.push(format!("index={index}"));
    }
    query.extend(watch.wait_ms.map(|ms| format!("wait={ms}ms")));
    Ask::new(Method::GET, kv(&watch.key, &query))
}

/// An election request as an HTTP request.
fn ask(request: &Request) -> Ask {
    let put = |target: String| Ask::new(Method::PUT, target);
    match request {
        Request::CreateSession { name, ttl_ms, lock_delay_ms } => {
            let mut body = json!({ "Name": name, "TTL": format!("{ttl_ms}ms") });
            if let Some(delay_ms) = lock_delay_ms {
                body["LockDelay"] = format!("{delay_ms}ms").into();
            }
            put("/v1/session/create".to_owned()).json(&body)
        }
        Request::RenewSession { session } => put(format!("/v1/session/renew/{}", encoded(session))),
        Request::DestroySession { session } => put(format!("/v1/session/destroy/{}", encoded(session))),
        Request::Acquire { key, value, session } => {
            put(kv(key, &[format!("acquire={}", encoded(session)), format!("flags={LOCK_FLAGS}")]))
                .sending(value.clone())
        }
        Request::Release { key, value, session } => {
            put(kv(key, &[format!("flags={LOCK_FLAGS}"), format!("release={}", encoded(session))]))
                .sending(value.clone())
        }
        Request::Get { key, reads } => Ask::new(Method::GET, kv(key, &Vec::from_iter(mode(*reads)))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Created {
    #[serde(rename = "ID")]
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    value: Option<String>,
    flags: u64,
    #[serde(default)]
    session: Option<String>,
    lock_index: u64,
    modify_index: u64,
}

/// An answer that does not fit its request leaves the outcome unknown.
fn understand(request: &Request, answer: &Answer) -> Result<Reply, Failure> {
    match (request, answer.status) {
        (Request::CreateSession { .. }, 200) => Ok(Reply::Session { id: answer.json::<Created>()?.id }),
        (Request::RenewSession { .. }, 200) => Ok(Reply::Renewed { alive: true }),
        (Request::RenewSession { .. }, 404) => Ok(Reply::Renewed { alive: false }),
        (Request::DestroySession { .. } | Request::Acquire { .. } | Request::Release { .. }, 200) => {
            Ok(Reply::Done(answer.json()?))
        }
        (Request::Get { .. }, 200 | 404) => Ok(Reply::Found(found(answer)?.0)),
        // Consul answers 500 whenever its store refuses a write; only the text tells that from a server without a
        // leader.
        (Request::Acquire { .. }, 500) if answer.text().starts_with("invalid session") => {
            Err(Failure::Rejected(answer.text()))
        }
        _ => Err(answer.refusal()),
    }
}

/// The key, if it exists, and the answer's index.
fn found(answer: &Answer) -> Result<(Option<Pair>, u64), Failure> {
    let pair = match answer.status {
        200 => first(answer)?,
        404 => None,
        _ => return Err(answer.refusal()),
    };
    let index = answer.header("x-consul-index").and_then(|index| index.parse().ok());
    Ok((pair, index.ok_or_else(|| Failure::Unknown("an answer without X-Consul-Index".into()))?))
}

fn first(answer: &Answer) -> Result<Option<Pair>, Failure> {
    let Some(entry) = answer.json::<Vec<Entry>>()?.into_iter().next() else { return Ok(None) };
    let bytes = BASE64.decode(entry.value.unwrap_or_default().as_bytes());
    let bytes = bytes.map_err(|why| Failure::Unknown(format!("a value that is not Base64: {why}")))?;
    Ok(Some(Pair {
        value: String::from_utf8_lossy(&bytes).into_owned(),
        flags: entry.flags,
        session: entry.session.filter(|session| !session.is_empty()),
        lock_index: entry.lock_index,
        modify_index: entry.modify_index,
    }))
}
