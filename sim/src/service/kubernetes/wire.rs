//! Serves the model over the API server's REST interface for Leases, with chunked watches.

use super::{
    model::{Event, Key, Making, Meta, Model, shown, spec},
    owners::Operation,
    patch::Patch,
    status::Status,
};
use crate::service::{
    consul::target::{Query, decoded},
    grants,
    http::{self, Answer, Body},
};
use http_body_util::{Either, StreamBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Frame},
    header::{CONTENT_TYPE, USER_AGENT},
};
use protocols::{
    history::GrantEnd,
    types::{MICROSECOND, SECOND},
};
use protocols_clients::env::Env;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{
    Notify,
    mpsc::{UnboundedSender, unbounded_channel},
};
use tokio_stream::wrappers::UnboundedReceiverStream;

const NAMESPACES: &str = "/apis/coordination.k8s.io/v1/namespaces/";

/// Serves `model` on `port` until the process ends or the future is dropped. Code that changes the model from outside
/// notifies `changed`.
///
/// # Errors
/// The port cannot be listened on, or the socket closed.
pub async fn serve<E: Env>(env: E, port: u16, model: Arc<Mutex<Model>>, changed: Arc<Notify>) -> io::Result<()> {
    let server = Server { env: env.clone(), model, changed };
    http::serve(env, port, move |request| {
        let server = server.clone();
        async move { server.answer(&request) }
    })
    .await
}

#[derive(Clone)]
struct Server<E> {
    env: E,
    model: Arc<Mutex<Model>>,
    changed: Arc<Notify>,
}

/// A request's body.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Wanted {
    api_version: String,
    kind: String,
    metadata: Meta,
    spec: Option<Value>,
}

fn ok(value: &Value) -> Answer {
    http::json(StatusCode::OK, value)
}

impl<E: Env> Server<E> {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn making(&self) -> Making {
        Making { now_us: self.env.now().wall / MICROSECOND, random: [self.env.random(), self.env.random()] }
    }

    /// Changes the model, and notifies watches and the world.
    fn change<T>(&self, action: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = self.model();
        let version = model.version();
        let answer = action(&mut model);
        if model.version() != version {
            // Another name replaced the holder's, who had not released it.
            let why =
                |holder: &Option<grants::Holder>| if holder.is_some() { GrantEnd::Taken } else { GrantEnd::Released };
            match grants::leader_key() {
                Some(key) => {
                    let holder = model.holder_of(&key);
                    let why = why(&holder);
                    grants::tell(holder, why);
                }
                None => {
                    for group in 0..grants::groups() {
                        let holder = model.holder(group);
                        let why = why(&holder);
                        grants::tell_of(group, holder, why);
                    }
                }
            }
            self.changed.notify_waiters();
        }
        answer
    }

    fn answer(&self, request: &Request<Bytes>) -> Answer {
        let target = request.uri().path().strip_prefix(NAMESPACES).and_then(|rest| rest.split_once('/'));
        let text = |part: &str| String::from_utf8(decoded(part)?).ok();
        let unknown = || {
            crate::service::grants::tell_refused(
                "Kubernetes",
                &format!("it has leases only, and not {}", request.uri().path()),
            );
            http::text(StatusCode::NOT_FOUND, "404 page not found\n")
        };
        let Some((namespace, rest)) = target.and_then(|(namespace, rest)| Some((text(namespace)?, rest))) else {
            return unknown();
        };
        let name = match rest.split_once('/') {
            None if rest == "leases" => None,
            Some(("leases", name)) if !name.is_empty() && !name.contains('/') => text(name),
            _ => return unknown(),
        };
        let query = Query::of(request.uri().query());
        let answer = match name {
            None => self.all(namespace, &query, request),
            Some(name) => self.one((namespace, name), &query, request),
        };
        answer.unwrap_or_else(|status| {
            let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            http::json(code, &status.shown())
        })
    }

    fn all(&self, namespace: String, query: &Query, request: &Request<Bytes>) -> Result<Answer, Status> {
        match *request.method() {
            Method::POST => {
                let (meta, spec) = wanted(request, &namespace, None)?;
                let (key, making) = ((namespace, meta.name.clone()), self.making());
                let lease =
                    self.change(|model| model.create(key.clone(), &meta, spec, &manager(query, request), making))?;
                Ok(http::json(StatusCode::CREATED, &shown(&key, &lease)))
            }
            Method::GET if matches!(query.get("watch"), Some("1" | "true")) => self.watch(namespace, query),
            Method::GET => {
                let (model, only) = (self.model(), only(query)?);
                let listed = model.list(&namespace).filter(|(key, _)| only.as_ref().is_none_or(|only| *only == key.1));
                let items: Vec<Value> = listed.map(|(key, lease)| bare(shown(key, lease))).collect();
                Ok(ok(&json!({
                    "kind": "LeaseList",
                    "apiVersion": "coordination.k8s.io/v1",
                    "metadata": { "resourceVersion": model.version().to_string() },
                    "items": items,
                })))
            }
            _ => Err(Status::not_allowed()),
        }
    }

    fn one(&self, key: Key, query: &Query, request: &Request<Bytes>) -> Result<Answer, Status> {
        match *request.method() {
            Method::GET => {
                let model = self.model();
                let lease = model.get(&key).ok_or_else(|| Status::not_found(&key.1))?;
                Ok(ok(&shown(&key, lease)))
            }
            Method::PUT => {
                let (meta, spec) = wanted(request, &key.0, Some(&key.1))?;
                let making = self.making();
                let manager = manager(query, request);
                let (made, lease) = self.change(|model| model.update(key.clone(), &meta, spec, &manager, making))?;
                Ok(http::json(if made { StatusCode::CREATED } else { StatusCode::OK }, &shown(&key, &lease)))
            }
            Method::PATCH => {
                let (patch, making) = (patch(query, request)?, self.making());
                let (made, lease) = self.change(|model| model.patch(key.clone(), &patch, making))?;
                Ok(http::json(if made { StatusCode::CREATED } else { StatusCode::OK }, &shown(&key, &lease)))
            }
            Method::DELETE if request.body().is_empty() => {
                let uid = self.change(|model| model.delete(&key))?;
                let details = json!({ "name": key.1, "group": "coordination.k8s.io", "kind": "leases", "uid": uid });
                let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
                Ok(ok(&with(status, "details", details)))
            }
            _ => Err(Status::not_allowed()),
        }
    }

    /// Streams everything after a version; without one, first everything that exists.
    fn watch(&self, namespace: String, query: &Query) -> Result<Answer, Status> {
        let number = |name: &str| match query.get(name) {
            None | Some("") => Ok(None),
            Some(text) => {
                text.parse::<u64>().map(Some).map_err(|_| Status::bad_request(format!("{name}: {text:?} is no number")))
            }
        };
        let only = only(query)?;
        let (from, timeout) = (number("resourceVersion")?, number("timeoutSeconds")?);
        let (sender, pieces) = unbounded_channel();
        let watched = Watched { namespace, only, sender };
        let next = {
            let model = self.model();
            if from.is_none_or(|from| from == 0) {
                for (key, lease) in model.list(&watched.namespace) {
                    watched.tell("ADDED", key, shown(key, lease));
                }
            }
            from.filter(|from| *from > 0).unwrap_or(model.version())
        };
        let server = self.clone();
        self.env.spawn_detached(async move {
            let telling = server.tell(watched, next);
            match timeout {
                Some(seconds) => drop(server.env.timeout(seconds.saturating_mul(SECOND), telling).await),
                None => telling.await,
            }
        });
        let body: Body = Either::Right(StreamBody::new(UnboundedReceiverStream::new(pieces)));
        let mut answer = Response::new(body);
        answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
        Ok(answer)
    }

    async fn tell(&self, watched: Watched, mut version: u64) {
        while !watched.sender.is_closed() {
            let changed = self.changed.notified();
            {
                let model = self.model();
                for Event { kind, key, lease, .. } in model.after(version) {
                    watched.tell(kind, key, shown(key, lease));
                }
                version = version.max(model.version());
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = watched.sender.closed() => {}
            }
        }
    }
}

/// What a watch asked for, and its stream.
struct Watched {
    namespace: String,
    only: Option<String>,
    sender: UnboundedSender<Result<Frame<Bytes>, Infallible>>,
}

impl Watched {
    fn tell(&self, kind: &str, key: &Key, object: Value) {
        if key.0 == self.namespace && self.only.as_ref().is_none_or(|name| *name == key.1) {
            let line = format!("{}\n", json!({ "type": kind, "object": object }));
            // The streaming task notices when the client is gone.
            let _ = self.sender.send(Ok(Frame::data(Bytes::from(line))));
        }
    }
}

fn with(mut value: Value, name: &str, field: Value) -> Value {
    value[name] = field;
    value
}

/// An object in a list has neither kind nor version.
fn bare(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}

/// The name that a selector asks for.
fn only(query: &Query) -> Result<Option<String>, Status> {
    let Some(selector) = query.get("fieldSelector").filter(|selector| !selector.is_empty()) else { return Ok(None) };
    let name = selector.strip_prefix("metadata.name=");
    Ok(Some(name.ok_or_else(|| Status::bad_request("no other field selector is modelled"))?.to_owned()))
}

/// Who writes: as the request says, or the name of its program.
fn manager(query: &Query, request: &Request<Bytes>) -> String {
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("unknown");
    let program = agent.split('/').next().unwrap_or_default();
    query.get("fieldManager").filter(|name| !name.is_empty()).unwrap_or(program).to_owned()
}

fn patch(query: &Query, request: &Request<Bytes>) -> Result<Patch, Status> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let operation = match kind.split(';').next().map(str::trim) {
        Some("application/apply-patch+yaml") => Operation::Apply,
        Some("application/merge-patch+json" | "application/strategic-merge-patch+json") => Operation::Update,
        _ => return Err(Status::media_type()),
    };
    let named = query.get("fieldManager").filter(|name| !name.is_empty());
    let manager = match operation {
        Operation::Apply => named.map(str::to_owned),
        Operation::Update => Some(manager(query, request)),
    };
    let force = matches!(query.get("force"), Some("1" | "true"));
    // Of YAML, the part that is JSON.
    let body = serde_json::from_slice(request.body()).map_err(|why| Status::bad_request(why.to_string()))?;
    Ok(Patch { operation, manager, force, body })
}

/// Parses a body; a missing namespace or name is the path's.
fn wanted(request: &Request<Bytes>, namespace: &str, name: Option<&str>) -> Result<(Meta, super::model::Spec), Status> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Status::media_type());
    }
    let value: Value = serde_json::from_slice(request.body()).map_err(|why| {
        Status::bad_request(format!("the object provided is unrecognized (must be of type Lease): {why}"))
    })?;
    let wanted = Wanted::deserialize(&value)
        .map_err(|why| Status::bad_request(format!("Lease in version \"v1\" cannot be handled as a Lease: {why}")))?;
    let is = |text: &str, wanted: &str| text.is_empty() || text == wanted;
    if !is(&wanted.kind, "Lease") || !is(&wanted.api_version, "coordination.k8s.io/v1") {
        let message = format!(
            "{} in version {:?} cannot be handled as a Lease: no kind {:?} is registered",
            wanted.kind, wanted.api_version, wanted.kind
        );
        return Err(Status::bad_request(message));
    }
    let mut meta = wanted.metadata;
    if let Some(name) = name.filter(|name| *name != meta.name) {
        if !meta.name.is_empty() {
            let why = format!("the name of the object ({}) does not match the name on the URL ({name})", meta.name);
            return Err(Status::bad_request(why));
        }
        meta.name = name.to_owned();
    }
    if meta.namespace.is_empty() {
        meta.namespace = namespace.to_owned();
    }
    if meta.namespace != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    let spec = spec(wanted.spec.as_ref())
        .map_err(|why| Status::bad_request(format!("Lease in version \"v1\" cannot be handled as a Lease: {why}")))?;
    Ok((meta, spec))
}
