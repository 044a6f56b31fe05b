//! Kubernetes' Lease objects over the API server's REST interface, requested as client-go's typed client does.
//!
//! Over TLS, client-go keeps a single HTTP/2 connection. Here each concurrent request has its own HTTP/1.1 connection;
//! an election has one request at a time.

use crate::{
    client,
    env::Env,
    http::{Answer, Ask, Http, encoded},
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use hyper::{Method, header::ACCEPT};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    payload::Nothing,
    service::kubernetes::{Api, NAMESPACE, Record, Reply, Request, SERVICE, micro_time},
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
    let backend = Kubernetes { env: env.clone(), http: Http::new(env.clone(), endpoint) };
    Queue::new(env, &SERVICE, deliver).run(backend, outputs).await;
}

struct Kubernetes<E: Env> {
    env: E,
    http: Http<E>,
}

impl<E: Env> Backend for Kubernetes<E> {
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
#[serde(rename_all = "camelCase")]
struct Lease {
    api_version: String,
    kind: String,
    metadata: Meta,
    spec: Spec,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    resource_version: String,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<u32>,
    acquire_time: Option<String>,
    renew_time: Option<String>,
    lease_transitions: Option<u32>,
}

fn lease(name: &str, version: &str, record: &Record) -> Lease {
    Lease {
        api_version: "coordination.k8s.io/v1".to_owned(),
        kind: "Lease".to_owned(),
        metadata: Meta { name: name.to_owned(), namespace: NAMESPACE.to_owned(), resource_version: version.to_owned() },
        spec: Spec {
            holder_identity: Some(record.holder.clone()),
            lease_duration_seconds: Some(record.duration_s),
            acquire_time: Some(micro_time::written(record.acquired_us)),
            renew_time: Some(micro_time::written(record.renewed_us)),
            lease_transitions: Some(record.transitions),
        },
    }
}

fn ask(request: &Request) -> Ask {
    let all = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    let one = |name: &str| format!("{all}/{}", encoded(name));
    let ask = match request {
        Request::Get { name } => Ask::new(Method::GET, one(name)),
        Request::Create { name, record } => Ask::new(Method::POST, all).json(&lease(name, "", record)),
        Request::Update { name, version, record } => {
            Ask::new(Method::PUT, one(name)).json(&lease(name, version, record))
        }
    };
    ask.with(ACCEPT.as_str(), "application/json")
}

fn understand(request: &Request, answer: &Answer) -> Result<Reply, Failure> {
    match (request, answer.status) {
        (_, 200 | 201) => {
            let Lease { metadata, spec, .. } = answer.json()?;
            Ok(Reply::Lease { record: record(spec), version: metadata.resource_version })
        }
        (Request::Get { .. } | Request::Update { .. }, 404) => Ok(Reply::NotFound),
        (Request::Create { .. } | Request::Update { .. }, 409) => Ok(Reply::Conflict),
        _ => Err(answer.refusal()),
    }
}

/// `LeaseSpecToLeaderElectionRecord`: missing fields become empty ones.
fn record(spec: Spec) -> Record {
    let time = |text: Option<String>| text.as_deref().and_then(micro_time::read).unwrap_or(0);
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        duration_s: spec.lease_duration_seconds.unwrap_or(0),
        acquired_us: time(spec.acquire_time),
        renewed_us: time(spec.renew_time),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}
