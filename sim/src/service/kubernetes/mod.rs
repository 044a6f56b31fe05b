//! An API server of Kubernetes, as far as an election can tell: Lease objects, and nothing else.
//!
//! [`model`] is pure. [`wire`] serves it as JSON over HTTP, as [`http`](super::http) speaks it.
//!
//! Compared with transcripts of kube-apiserver 1.20.2 on etcd 3.4. The process has no state of its own: what it has
//! acknowledged is in etcd, and is there when it starts again; watches are gone.
//!
//! Not here: TLS and who is asking, other kinds of objects, protobuf and YAML, patches and server-side apply (so no
//! managedFields), finalizers and owners, labels and annotations, dry runs, paging, bookmarks. Whatever is asked of those is
//! refused.

pub mod model;
mod status;
pub mod wire;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::env::SimEnv;
use protocols_clients::env::Env;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// An API server, and what tells its watches that something has changed.
#[derive(Default)]
pub struct Kubernetes {
    model: Arc<Mutex<model::Model>>,
    changed: Arc<Notify>,
}

impl Kubernetes {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket is gone.
    pub async fn serve_on<E: Env>(&self, env: E, port: u16) -> io::Result<()> {
        wire::serve(env, port, self.model.clone(), self.changed.clone()).await
    }
}

impl Model for Kubernetes {
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, _wall_ms: u64) -> Option<Holder> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if what == Dropped::Key {
            model.drop_leadership_of(candidate, group);
            self.changed.notify_waiters();
        }
        model.holder(group)
    }

    fn holder(&self, group: u16, _wall_ms: u64) -> Option<Holder> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).holder(group)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let data = match disk {
            Disk::Copied => self.model.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Disk::Empty => model::Model::default(),
        };
        Some(Arc::new(Kubernetes { model: Arc::new(Mutex::new(data)), ..Kubernetes::default() }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { self.serve_on(env, port).await })
    }
}
