//! Coordination services for the simulation: pure models, each served over its real wire protocol.

pub mod etcd;
pub mod grants;
pub mod redis;

use crate::world::env::SimEnv;
use grants::Holder;
use protocols::{
    bug::Bugs,
    service::{Service, etcd as etcd_service, redis as redis_service, redis_servers},
};
use std::{future::Future, io, pin::Pin, sync::Arc};

/// What a service is made to drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// A lease, and every key on it.
    Lease,
    /// A key.
    Key,
    /// The counter that tokens are drawn from, whoever leads.
    Counter,
}

/// What serves until the process ends, or the port or the socket is not to be had.
pub type Serving = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The model of one member of a service: its state, and how that is served. It outlives the process that serves it: services
/// make durable what they acknowledge.
pub trait Model: Send + Sync {
    /// Does the member that has this state lead the others?
    fn leads(&self) -> bool {
        false
    }

    /// Drops what makes the candidate of that name leader, or next in the queue. Who watches it is told, as after any
    /// deletion; the candidate itself is not.
    /// Gives back who holds leadership then, when the server's wall clock shows so many milliseconds.
    fn drop_leadership(&self, candidate: &str, what: Dropped, wall_ms: u64) -> Option<Holder>;

    /// A process of the service starts, and serves this.
    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving;
}

/// The state of a fleet's service.
pub type State = Arc<dyn Model>;

/// A service that there is a model of.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The service's name.
    pub service: &'static str,
    /// So many members, none of which was ever used: with states of their own, or one that they share.
    pub members: fn(usize, &Bugs) -> Vec<State>,
}

/// The services of our own protocols that there is a model of.
pub const MODELS: [Entry; 3] = [
    Entry { service: redis_service::SERVICE.name, members: redis::members },
    Entry { service: redis_servers::SERVICE.name, members: redis::members },
    Entry { service: etcd_service::SERVICE.name, members: |count, _| alone(count, || Arc::new(etcd::Etcd::default())) },
];

/// So many members, each with a state of its own.
pub fn alone(count: usize, new: impl Fn() -> State) -> Vec<State> {
    (0..count).map(|_| new()).collect()
}

/// A service of so many members, none of which was ever used; none where there is no model of it among these.
pub fn of_members(models: &[Entry], service: &Service, count: usize, bugs: &Bugs) -> Vec<State> {
    models
        .iter()
        .find(|entry| entry.service == service.name)
        .map_or_else(Vec::new, |entry| (entry.members)(count, bugs))
}

/// Serves `state` until the process ends.
///
/// # Panics
/// The service cannot be served. Nobody else listens on the port of a process of its own; without its service a world shows
/// nothing.
pub async fn serve(state: State, env: SimEnv, port: u16) {
    if let Err(error) = state.serve(env, port).await {
        panic!("the service cannot be served: {error}");
    }
}
