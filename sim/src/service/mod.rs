//! Coordination services for the simulation: pure models, each served over its real wire protocol.

pub mod etcd;
pub mod grants;
pub mod redis;

use grants::Holder;
use protocols::{bug::Bugs, client::Service, election::redis_common::FORGOTTEN_ON_RESTART, env::Env};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

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

/// A service's state. It outlives the process that serves it: both services make durable what they acknowledge.
#[derive(Clone)]
pub enum State {
    /// Redis, with every write synced.
    Redis(Arc<Mutex<redis::model::Model>>),
    /// etcd, and what tells it that it was changed from outside.
    Etcd(Arc<Mutex<etcd::model::Model>>, Arc<Notify>),
    /// None.
    Nothing,
}

impl State {
    /// A service that was never used.
    pub fn new(service: Service) -> Self {
        match service {
            Service::Redis | Service::RedisServers => State::Redis(Arc::default()),
            Service::Etcd => State::Etcd(Arc::default(), Arc::default()),
            Service::Peers | Service::Power | Service::Raft => State::Nothing,
        }
    }

    /// A service of so many members, none of which was ever used: each with a state of its own.
    pub fn of_members(service: Service, count: usize, bugs: &Bugs) -> Vec<State> {
        let forgets = bugs.has(&FORGOTTEN_ON_RESTART);
        (0..count).map(|_| State::new(service).forgetting(forgets)).collect()
    }

    fn forgetting(self, forgets: bool) -> State {
        if let State::Redis(model) = &self {
            model.lock().unwrap_or_else(PoisonError::into_inner).forgets = forgets;
        }
        self
    }

    /// Does the member that has this state lead the others?
    pub fn leads(&self) -> bool {
        matches!(self, State::Etcd(..))
    }

    /// Drops what makes the candidate of that name leader, or next in the queue. Who watches it is told, as after any
    /// deletion; the candidate itself is not.
    /// Gives back who holds leadership then, when the server's wall clock shows so many milliseconds.
    pub fn drop_leadership(&self, candidate: &str, what: Dropped, wall_ms: u64) -> Option<Holder> {
        match self {
            State::Redis(model) => {
                let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
                match what {
                    Dropped::Counter => model.drop_counter(),
                    Dropped::Lease | Dropped::Key => model.drop_key_of(candidate),
                }
                model.holder(wall_ms)
            }
            State::Etcd(model, changed) => {
                let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
                model.drop_leadership_of(candidate, what);
                changed.notify_one();
                model.holder()
            }
            State::Nothing => None,
        }
    }

    /// Serves until the process ends.
    pub async fn serve<E: Env>(self, env: E, port: u16) {
        let served = match self {
            State::Redis(model) => {
                // What was never on disk is gone when the process comes back.
                model.lock().unwrap_or_else(PoisonError::into_inner).restart();
                redis::wire::serve(env, port, model).await
            }
            State::Etcd(model, changed) => etcd::wire::serve_changing(env, port, model, changed).await,
            State::Nothing => Ok(()),
        };
        // Nobody else listens on the port of a process of its own; without its service a world shows nothing.
        if let Err(error) = served {
            panic!("the service cannot be served: {error}");
        }
    }
}
