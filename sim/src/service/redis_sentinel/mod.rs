//! Redis behind Sentinel, version 7.0: servers of which one is the primary and the others replicate it ([`server`],
//! [`serve`]), and the sentinels that watch them ([`sentinel`], [`watch`]); all behind the real wire protocol, between
//! themselves too.
//!
//! A primary that comes back without its keys before anybody misses it is the primary still, and its replicas become exact copies
//! of what it has: that is why a primary without persistence must not be started again by itself (redis.io, "Redis
//! replication", on safety when persistence is turned off). Where the disk is another one, the server is configured as it was in
//! the beginning, and sentinels make it what it is to be.
//!
//! The timers that `sentinel.conf` leaves to its user stretch with the lease, as their defaults are to a lease of 15 s:
//! `down-after-milliseconds` (30 s) is two leases, and `failover-timeout` (180 s) twelve. The others are the reference's
//! own.

mod replica;
mod replication;
pub mod sentinel;
pub mod serve;
pub mod server;
pub mod watch;

pub use replica::Address;

use super::{Disk, Dropped, Model, Serving, State, grants::Holder};
use crate::world::{self, env::SimEnv};
use protocols::{bug::Bugs, election::redis_common::FORGOTTEN_ON_RESTART, service::redis_sentinel};
use protocols_clients::env::Env;
use sentinel::{Config, Sentinel};
use serve::Shared;
use server::Server;
use std::sync::{Arc, Mutex};

/// `down-after-milliseconds` is so many leases.
const DOWN_AFTER_LEASES: i64 = 2;
/// `failover-timeout` is so many.
const FAILOVER_TIMEOUT_LEASES: i64 = 12;

/// What a member of the world is called, and where it listens; the port is its service's.
fn address(process: &str, place: usize, count: usize, port: u16) -> Address {
    let host = if count == 1 { process.to_owned() } else { format!("{process}-{}", place + 1) };
    Address { host, port }
}

/// The server of that place, of so many.
fn server_at(place: usize, count: usize) -> Address {
    let service = &redis_sentinel::REPLICATED;
    address(service.process.unwrap_or_default(), place, count, service.port)
}

/// Servers that were never used; the first is the primary.
pub(super) fn servers(count: usize, bugs: &Bugs) -> Vec<State> {
    let forgets = bugs.has(&FORGOTTEN_ON_RESTART);
    let server = |place: usize| -> State {
        let configured = (place > 0).then(|| server_at(0, count));
        let mut server = Server::new(server_at(place, count), configured.clone(), place as u64 + 1);
        server.model.forgets = forgets;
        Arc::new(Replicated { shared: Shared::new(server), configured })
    };
    (0..count).map(server).collect()
}

/// Sentinels that were never started. They find out who there is, and their configuration when they are started.
pub(super) fn sentinels(count: usize) -> Vec<State> {
    (0..count).map(|place| -> State { Arc::new(Watching { place, count, sentinel: Mutex::default() }) }).collect()
}

/// A server.
struct Replicated {
    shared: Shared,
    /// Whom it follows before it was ever used.
    configured: Option<Address>,
}

impl Model for Replicated {
    fn leads(&self) -> bool {
        self.shared.lock().is_primary()
    }

    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) -> Option<Holder> {
        let model = &mut self.shared.lock().model;
        match what {
            Dropped::Counter => model.drop_counter(group),
            Dropped::Lease | Dropped::Key => model.drop_key_of(candidate, group),
        }
        model.holder(group, wall_ms)
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let server = self.shared.lock().twin(disk, self.configured.clone());
        Some(Arc::new(Replicated { shared: Shared::new(server), configured: self.configured.clone() }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        let lag_ms = world::with(|world| world.replica_lag_ms());
        self.shared.lock().lag_ms = lag_ms;
        self.shared.starts_as(env.node);
        Box::pin(async move { self.shared.serve(env, port).await })
    }
}

/// A sentinel, once it was started.
struct Watching {
    place: usize,
    count: usize,
    sentinel: Mutex<Option<Arc<Mutex<Sentinel>>>>,
}

impl Watching {
    fn started(&self, env: &SimEnv, port: u16) -> Arc<Mutex<Sentinel>> {
        let mut known = self.sentinel.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get_or_insert_with(|| Arc::new(Mutex::new(self.configured(env, port)))).clone()
    }

    fn configured(&self, env: &SimEnv, port: u16) -> Sentinel {
        let service = &redis_sentinel::REPLICATED;
        let process = service.process.unwrap_or_default();
        let (lease_ms, servers) = world::with(|world| {
            let topology = world.topology();
            let servers = topology.services().iter().find(|service| service.name == process);
            (world.lease_ms(), servers.map_or(1, |service| service.nodes().len()))
        });
        let quorum = self.count / 2 + 1;
        let config = Config {
            down_after_ms: DOWN_AFTER_LEASES * lease_ms,
            failover_timeout_ms: FAILOVER_TIMEOUT_LEASES * lease_ms,
            ..Config::of(server_at(0, servers), quorum)
        };
        let own = address(redis_sentinel::SERVICE.process.unwrap_or_default(), self.place, self.count, port);
        let id = format!("{:016x}{:016x}{:08x}", env.random(), env.random(), env.random() as u32);
        Sentinel::new(config, own, id, env.random())
    }
}

impl Model for Watching {
    fn drop_leadership(&self, _: &str, _: u16, _: Dropped, _: u64) -> Option<Holder> {
        None
    }

    fn twin(&self, disk: Disk) -> Option<State> {
        let known = self.sentinel.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let copied = known.as_ref().filter(|_| disk == Disk::Copied);
        let copied = copied.map(|sentinel| sentinel.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone());
        let sentinel = Mutex::new(copied.map(|sentinel| Arc::new(Mutex::new(sentinel))));
        Some(Arc::new(Watching { place: self.place, count: self.count, sentinel }))
    }

    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving {
        Box::pin(async move { watch::serve(self.started(&env, port), env, port).await })
    }
}
