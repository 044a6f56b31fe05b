//! Redis 7.0 behind Sentinel: a primary and its replicas ([`server`], [`serve`]), and the sentinels that watch them
//! ([`sentinel`], [`watch`]), all speaking the real wire protocol, also among themselves.
//!
//! A primary that restarts without its keys before anybody misses it stays the primary, and its replicas then copy its
//! empty state: hence a primary without persistence must not be restarted automatically (redis.io, "Redis replication",
//! on safety when persistence is turned off). With a new disk, a server has its original configuration, and sentinels
//! reconfigure it.
//!
//! The timers that `sentinel.conf` leaves to the user scale with the lease, in proportion to the defaults for a lease
//! of 15 s: `down-after-milliseconds` (30 s) is two leases, and `failover-timeout` (180 s) twelve. Other timers are the
//! reference's.

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

/// `down-after-milliseconds` in leases.
const DOWN_AFTER_LEASES: i64 = 2;
/// `failover-timeout` in leases.
const FAILOVER_TIMEOUT_LEASES: i64 = 12;

/// The name and port of a member's process.
fn address(process: &str, place: usize, count: usize, port: u16) -> Address {
    let host = if count == 1 { process.to_owned() } else { format!("{process}-{}", place + 1) };
    Address { host, port }
}

/// The server at `place` of `count`.
fn server_at(place: usize, count: usize) -> Address {
    let service = &redis_sentinel::REPLICATED;
    address(service.process.unwrap_or_default(), place, count, service.port)
}

/// Unused servers; the first is the primary.
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

/// Sentinels that were never started. They get their configuration when they start.
pub(super) fn sentinels(count: usize) -> Vec<State> {
    (0..count).map(|place| -> State { Arc::new(Watching { place, count, sentinel: Mutex::default() }) }).collect()
}

struct Replicated {
    shared: Shared,
    /// The primary in its original configuration.
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

/// A sentinel, once started.
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
