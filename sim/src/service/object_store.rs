//! An object store with what a lease needs: conditional reads, replacements and deletions of objects.
//!
//! Reference: Amazon S3's API (PutObject, GetObject, DeleteObject; "Conditional writes"): `If-None-Match: *` and
//! `If-Match` on PUT, 412 PreconditionFailed if they do not hold, 404 NoSuchKey if the object to replace does not
//! exist. A write is durable and visible to all reads once acknowledged. The entity tag is a digest of the content, as
//! in S3.
//!
//! Not modelled: signatures, buckets as entities, multipart uploads, versions, 409 ConditionalRequestConflict (writes
//! are sequential).

use super::{
    Disk, Dropped, Model, Serving, State,
    grants::{self, Holder},
    http::{self, Answer, text, with_header},
};
use crate::world::env::SimEnv;
use hyper::{
    HeaderMap, Method, Request, StatusCode,
    body::Bytes,
    header::{IF_MATCH, IF_NONE_MATCH},
};
use protocols::{election::object_lease::key_of, history::GrantEnd, service::object_store::BUCKET};
use protocols_clients::env::Env;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Contents by path.
#[derive(Default)]
pub struct ObjectStore(Arc<Mutex<BTreeMap<String, Bytes>>>);

fn tag(content: &Bytes) -> String {
    format!("\"{:032x}\"", xxhash_rust::xxh3::xxh3_128(content))
}

/// The holder of a group's leadership, which is the last name written.
fn holder(objects: &BTreeMap<String, Bytes>, group: u16) -> Option<Holder> {
    let content: Value = serde_json::from_slice(objects.get(&path_of(group))?).ok()?;
    let (name, _) = content["holder"].as_str()?.split_once('/')?;
    Some(Holder { name: name.to_owned(), token: content["token"].as_u64()?, until: None })
}

fn path_of(group: u16) -> String {
    format!("/{BUCKET}/{}", key_of(group))
}

impl ObjectStore {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        let objects = self.0.clone();
        http::serve(env, port, move |request| {
            let store = ObjectStore(objects.clone());
            async move { store.answer(&request) }
        })
        .await
    }

    fn answer(&self, request: &Request<Bytes>) -> Answer {
        let path = request.uri().path();
        let mut objects = self.objects();
        let existing = objects.get(path).cloned();
        match *request.method() {
            Method::GET => match existing {
                Some(content) => tagged(&content, content.clone()),
                None => text(StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>"),
            },
            Method::PUT => match refuses(request.headers(), existing.as_ref()) {
                Some(refusal) => refusal,
                None => {
                    objects.insert(path.to_owned(), request.body().clone());
                    told(&objects, GrantEnd::Taken);
                    tagged(request.body(), Bytes::new())
                }
            },
            Method::DELETE => {
                objects.remove(path);
                told(&objects, GrantEnd::Lost);
                http::empty(StatusCode::NO_CONTENT)
            }
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "<Error><Code>MethodNotAllowed</Code></Error>"),
        }
    }
}

/// Reports the leaders to the world; `why` says how another's leadership ended.
fn told(objects: &BTreeMap<String, Bytes>, why: GrantEnd) {
    for group in 0..grants::groups() {
        let holder = holder(objects, group);
        let why = if holder.is_none() && why == GrantEnd::Taken { GrantEnd::Released } else { why };
        grants::tell_of(group, holder, why);
    }
}

fn tagged(content: &Bytes, body: Bytes) -> Answer {
    with_header(with_header(text(StatusCode::OK, body), "etag", &tag(content)), "content-type", "application/json")
}

/// The refusal of a write whose condition does not hold.
fn refuses(headers: &HeaderMap, existing: Option<&Bytes>) -> Option<Answer> {
    let failed = || text(StatusCode::PRECONDITION_FAILED, "<Error><Code>PreconditionFailed</Code></Error>");
    if let Some(wanted) = headers.get(IF_MATCH) {
        return match existing {
            None => Some(text(StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>")),
            Some(content) if wanted.as_bytes() != tag(content).as_bytes() => Some(failed()),
            Some(_) => None,
        };
    }
    match headers.get(IF_NONE_MATCH) {
        Some(any) if any != "*" => {
            Some(text(StatusCode::NOT_IMPLEMENTED, "<Error><Code>NotImplemented</Code></Error>"))
        }
        Some(_) if existing.is_some() => Some(failed()),
        _ => None,
    }
}

impl Model for ObjectStore {
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut objects = self.objects();
        if what == Dropped::Key && holder(&objects, group).is_some_and(|holder| holder.name == candidate) {
            objects.remove(&path_of(group));
        }
        holder(&objects, group)
    }

    fn holder(&self, group: u16, _wall_ms: u64) -> Option<Holder> {
        holder(&self.objects(), group)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let objects = match disk {
            Disk::Copied => self.objects().clone(),
            Disk::Empty => BTreeMap::new(),
        };
        Some(Arc::new(ObjectStore(Arc::new(Mutex::new(objects)))))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
