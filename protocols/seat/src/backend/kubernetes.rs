use super::{Backend, Counted, Deliver, Running, Service, lease, reach::fresh_env};
use crate::lead::Fenced;
use kube::{Client, Error};
use protocols::{
    election::{Protocol, k8s},
    elector::ServiceOutput,
    error::Failure,
    payload::Nothing,
    service::kubernetes::{Api, Record, Reply, Request, SERVICE, micro_time},
};
use protocols_clients::{
    env::tokio::TokioEnv,
    queue::{self, Boxed, Queue, Stream, within},
};
use serde_json::{Map, Value, json};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::mpsc::UnboundedReceiver;

/// Kubernetes: a Lease as client-go's leader election writes it, so programs of both kinds can stand for one; the token
/// is its `leaseTransitions` plus one. The seat's name is the Lease's.
///
/// A lease has whole seconds, and a waiting member polls, as client-go does. If somebody deletes the Lease, tokens
/// start again at 1, and fenced resources refuse leaders until they have caught up.
#[derive(Clone)]
pub struct Kubernetes {
    env: TokioEnv,
    client: Client,
    namespace: Arc<str>,
}

impl Kubernetes {
    /// The Leases of this namespace, by the program's own client: `Client::try_default()` knows a kubeconfig, and the
    /// service account of a pod, which needs the verbs `get`, `create` and `update` on `leases` of
    /// `coordination.k8s.io`.
    pub fn new(client: Client, namespace: &str) -> Self {
        Kubernetes { env: fresh_env(), client, namespace: namespace.into() }
    }
}

impl Backend for Kubernetes {
    type Fencing = Fenced;
}

impl Service for Kubernetes {
    fn protocol(&self) -> &'static Protocol {
        &k8s::PROTOCOL
    }

    fn env(&self) -> &TokioEnv {
        &self.env
    }

    fn refuses(&self, seat: &str) -> Option<&'static str> {
        let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_label = |label: &str| {
            let ends = [label.bytes().next(), label.bytes().next_back()];
            ends.iter().all(|end| end.is_some_and(small)) && label.bytes().all(|byte| small(byte) || byte == b'-')
        };
        let rule = "a Lease is called by small letters, digits, `-` and `.`, with a letter or digit at both ends of each part between dots";
        (!seat.split('.').all(is_label)).then_some(rule)
    }

    /// The core has client-go's.
    fn has_request_timeout(&self) -> bool {
        false
    }

    fn counted(&self) -> Option<Counted> {
        Some(lease::KUBERNETES)
    }

    fn run(&self, outputs: UnboundedReceiver<ServiceOutput>, deliver: Deliver) -> Running {
        let leases = Leases { of: self.clone(), last: Arc::default() };
        let env = self.env.clone();
        Box::pin(async move { Queue::new(env, &SERVICE, move |input| deliver(input)).run(leases, outputs).await })
    }
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Kubernetes").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// One elector's requests.
#[derive(Clone)]
struct Leases {
    of: Kubernetes,
    /// The object as last seen: an update keeps what others have put there, such as labels and annotations.
    last: Arc<Mutex<Value>>,
}

impl queue::Backend for Leases {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let leases = self.clone();
        Box::pin(async move { within(&leases.of.env, timeout, leases.carry_out(request)).await })
    }

    fn stream(&self, request: Nothing, _: Stream<Api>) -> Option<Boxed<Failure>> {
        match request {}
    }
}

impl Leases {
    async fn carry_out(&self, request: Request) -> Result<Reply, Failure> {
        let all = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.of.namespace);
        let (method, path, object) = match &request {
            Request::Get { name } => (http::Method::GET, format!("{all}/{name}"), None),
            Request::Create { name, record } => (http::Method::POST, all, Some(object(json!({}), name, "", record))),
            Request::Update { name, version, record } => {
                (http::Method::PUT, format!("{all}/{name}"), Some(object(self.last(), name, version, record)))
            }
        };
        let body = object.map_or_else(Vec::new, |object| object.to_string().into_bytes());
        let asked = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json")
            .body(body)
            .map_err(|error| Failure::Rejected(error.to_string()))?;
        match self.of.client.request::<Value>(asked).await {
            Ok(object) => {
                let reply = Reply::Lease { record: record(&object["spec"]), version: version(&object) };
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = object;
                Ok(reply)
            }
            Err(Error::Api(status)) => match (&request, status.code) {
                (Request::Get { .. } | Request::Update { .. }, 404) => Ok(Reply::NotFound),
                (Request::Create { .. } | Request::Update { .. }, 409) => Ok(Reply::Conflict),
                (_, 400..500) => Err(Failure::Rejected(format!("{}: {}", status.code, status.message))),
                _ => Err(Failure::Unknown(format!("{}: {}", status.code, status.message))),
            },
            Err(error) => Err(Failure::Unknown(error.to_string())),
        }
    }

    fn last(&self) -> Value {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

/// What is to be written, on top of what is known of the object.
fn object(last: Value, name: &str, known: &str, record: &Record) -> Value {
    let mut object = if version(&last) == known && last.is_object() { last } else { json!({}) };
    object["apiVersion"] = json!("coordination.k8s.io/v1");
    object["kind"] = json!("Lease");
    object["metadata"]["name"] = json!(name);
    if !known.is_empty() {
        object["metadata"]["resourceVersion"] = json!(known);
    }
    let spec = object.as_object_mut().map(|object| object.entry("spec").or_insert_with(|| json!({})));
    if let Some(Value::Object(spec)) = spec {
        write(spec, record);
    }
    object
}

/// `LeaderElectionRecordToLeaseSpec`.
fn write(spec: &mut Map<String, Value>, record: &Record) {
    let fields = [
        ("holderIdentity", json!(record.holder)),
        ("leaseDurationSeconds", json!(record.duration_s)),
        ("acquireTime", json!(micro_time::written(record.acquired_us))),
        ("renewTime", json!(micro_time::written(record.renewed_us))),
        ("leaseTransitions", json!(record.transitions)),
    ];
    for (name, value) in fields {
        spec.insert(name.to_owned(), value);
    }
}

/// `LeaseSpecToLeaderElectionRecord`: missing fields become empty ones.
fn record(spec: &Value) -> Record {
    let number = |name: &str| spec[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let time = |name: &str| spec[name].as_str().and_then(micro_time::read).unwrap_or(0);
    Record {
        holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
        duration_s: number("leaseDurationSeconds"),
        acquired_us: time("acquireTime"),
        renewed_us: time("renewTime"),
        transitions: number("leaseTransitions"),
    }
}
