//! An object store, by the part of S3's REST interface that a lease needs. Requests are not signed.

use crate::{
    client,
    env::Env,
    http::{Answer, Ask, Http, encoded},
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use hyper::{
    Method,
    header::{IF_MATCH, IF_NONE_MATCH},
};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    service::object_store::{Api, BUCKET, Condition, Lease, Reply, Request, SERVICE},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedReceiver;

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.only(), outputs, move |input| deliver(input))),
    }
}

/// Carries out the requests that come from `outputs` and hands every answer to `deliver`, until `outputs` closes.
pub async fn run<E: Env>(
    env: E,
    endpoint: Endpoint,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let backend = Objects { env: env.clone(), http: Http::new(env.clone(), endpoint) };
    Queue::new(env, &SERVICE, deliver).run(backend, outputs).await;
}

struct Objects<E: Env> {
    env: E,
    http: Http<E>,
}

impl<E: Env> Backend for Objects<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, http) = (self.env.clone(), self.http.clone());
        Box::pin(async move {
            let attempt = async { understand(&request, &http.ask(ask(&request)).await?) };
            within(&env, timeout, attempt).await
        })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

#[derive(Serialize, Deserialize)]
struct Content {
    holder: String,
    token: u64,
    ttl_ms: u64,
    beat: u64,
}

fn ask(request: &Request) -> Ask {
    let path = |key: &str| format!("/{BUCKET}/{}", encoded(key));
    match request {
        Request::Get { key } => Ask::new(Method::GET, path(key)),
        Request::Put { key, lease, condition } => {
            let Lease { holder, token, ttl_ms, beat } = lease.clone();
            let put = Ask::new(Method::PUT, path(key)).json(&Content { holder, token, ttl_ms, beat });
            match condition {
                Condition::Absent => put.with(IF_NONE_MATCH.as_str(), "*"),
                Condition::Tag(tag) => put.with(IF_MATCH.as_str(), tag.clone()),
            }
        }
    }
}

fn understand(request: &Request, answer: &Answer) -> Result<Reply, Failure> {
    let tag = || {
        let tag = answer.header("etag").map(str::to_owned);
        tag.ok_or_else(|| Failure::Unknown("an answer without an entity tag".into()))
    };
    match (request, answer.status) {
        (Request::Get { .. }, 200) => {
            let Content { holder, token, ttl_ms, beat } = answer.json()?;
            Ok(Reply::Object(Lease { holder, token, ttl_ms, beat }, tag()?))
        }
        (Request::Get { .. }, 404) => Ok(Reply::Missing),
        (Request::Put { .. }, 200) => Ok(Reply::Stored(tag()?)),
        // 404: the object to replace does not exist; 409: a conflicting write is under way.
        (Request::Put { .. }, 404 | 409 | 412) => Ok(Reply::Refused),
        _ => Err(answer.refusal()),
    }
}
