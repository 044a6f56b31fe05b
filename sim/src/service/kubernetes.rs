//! A Kubernetes API server as elections see it: Lease objects only.
//!
//! [`model`] is pure. [`wire`] serves it as JSON over [`http`](super::http).
//!
//! Compared with the API server of Kubernetes 1.20.2 on etcd 3.4. The process has no state of its own: what it has
//! acknowledged is in etcd and survives a restart; watches do not.
//!
//! Not modelled: TLS and authentication, other kinds of objects, protobuf and YAML, JSON patches, managedFields (fields
//! have their managers, but are not shown with them), finalizers and owners, labels and annotations, dry runs, paging,
//! bookmarks. Requests for these are refused.

pub mod model;
mod owners;
mod patch;
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

/// An API server that can also be changed from outside.
#[derive(Default)]
pub struct Kubernetes {
    model: Arc<Mutex<model::Model>>,
    changed: Arc<Notify>,
}

impl Kubernetes {
    /// Serves on any [`Env`] until the process ends.
    ///
    /// # Errors
    /// The port is taken, or the socket closed.
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
