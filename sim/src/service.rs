//! Models of coordination services for the simulation: pure, each served over its real wire protocol.

pub mod cluster;
pub mod consul;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod grants;
pub mod http;
pub mod kubernetes;
pub mod object_store;
pub mod postgres;
pub mod redis;
pub mod redis_sentinel;
pub mod zookeeper;

use crate::world::env::SimEnv;
pub use crate::world::model::{Disk, Dropped, Model, Serving, State};
use postgres::model::Watched;
use protocols::{
    bug::Bugs,
    service::{
        Service, consul as consul_service, kubernetes as kubernetes_service, object_store as object_service,
        postgres as postgres_service, redis as redis_service, redis_sentinel as sentinel_service, redis_servers,
        zookeeper as zookeeper_service,
    },
};
use std::sync::Arc;

/// A service with a model.
#[derive(Clone, Copy)]
pub struct Entry {
    pub service: &'static str,
    /// Creates a number of unused members, with separate states or a shared one.
    pub members: fn(usize, &Bugs) -> Vec<State>,
}

protocols::registry! {
    /// The modelled services of our own protocols.
    pub const MODELS: [Entry] = [
        Entry { service: redis_service::SERVICE.name, members: redis::members },
        Entry { service: redis_servers::SERVICE.name, members: redis::members },
        Entry { service: sentinel_service::REPLICATED.name, members: redis_sentinel::servers },
        Entry { service: sentinel_service::SERVICE.name, members: |count, _| redis_sentinel::sentinels(count) },
        Entry { service: postgres_service::SERVICE.name, members: |count, _| postgres::members(count, Watched::Lock) },
        Entry { service: postgres_service::CHECK_INS.name, members: |count, _| postgres::members(count, Watched::CheckIn) },
        Entry { service: postgres_service::SESSIONS.name, members: |count, _| postgres::members(count, Watched::Session) },
        Entry { service: postgres_service::POOLED.name, members: |count, _| postgres::members(count, Watched::Pool) },
        Entry { service: zookeeper_service::SERVICE.name, members: |count, _| zookeeper::members(count) },
        Entry { service: consul_service::SERVICE.name, members: |count, _| consul::members(count) },
        Entry {
            service: object_service::SERVICE.name,
            members: |count, _| alone(count, || Arc::new(object_store::ObjectStore::default())),
        },
        Entry {
            service: kubernetes_service::SERVICE.name,
            members: |count, _| alone(count, || Arc::new(kubernetes::Kubernetes::default())),
        },
    ];
}

/// The same, and the models that a feature adds.
pub fn ours() -> Vec<Entry> {
    let optional = [
        #[cfg(feature = "etcd")]
        Entry { service: protocols::service::etcd::SERVICE.name, members: etcd::members },
    ];
    MODELS.into_iter().chain(optional).collect()
}

/// `count` members with separate states.
pub fn alone(count: usize, new: impl Fn() -> State) -> Vec<State> {
    (0..count).map(|_| new()).collect()
}

/// `count` unused members of a service; none if no model is known.
pub fn of_members(models: &[Entry], service: &Service, count: usize, bugs: &Bugs) -> Vec<State> {
    models
        .iter()
        .find(|entry| entry.service == service.name)
        .map_or_else(Vec::new, |entry| (entry.members)(count, bugs))
}

/// Serves `state` until the process ends.
///
/// # Panics
/// The service cannot be served: no other listener uses the port of its process, and without its service the simulation
/// shows nothing.
pub async fn serve(state: State, env: SimEnv, port: u16) {
    if let Err(error) = state.serve(env, port).await {
        panic!("the service cannot be served: {error}");
    }
}
