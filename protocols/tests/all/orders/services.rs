//! Coordination services, each as little as its requests need: all of it happens at once, and nothing is lost unless the
//! search says so. A lease or session ends when the search says so, no earlier than it may.

mod check_ins;
mod consul;
mod etcd;
mod redis;
mod rows;
mod sessions;
mod zookeeper;

use check_ins::CheckIns;
use consul::Consul;
use etcd::Etcd;
use protocols::{
    election::Protocol,
    elector::ServiceInput,
    error::Failure,
    payload::{Opaque, Payload},
    service,
    types::NodeId,
};
pub use redis::Servers;
use redis::{Redis, Replicated};
use rows::{Kubernetes, Objects, Rows};
use sessions::Sessions;
use zookeeper::ZooKeeper;

/// A candidate's process, in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Process {
    pub node: NodeId,
    pub life: u32,
}

/// What a process hears of the service.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Told {
    pub to: Process,
    pub input: ServiceInput,
}

/// What the service may end, and when at the earliest: a lease, a session, a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub at: u64,
    pub of: Process,
    pub which: u64,
}

pub type Answer = Result<Opaque, Failure>;
/// Who leads by the service's state, and the token; 0 if there is none.
pub type Grant = (String, u64);

pub trait Serves {
    fn grant(&self, now: u64) -> Option<Grant>;

    /// Carries out a request.
    fn take(&mut self, now: u64, by: Process, number: u64, request: &Opaque) -> Answer;

    /// Whether it can be carried out now, rather than wait for something.
    fn is_ready(&self, _by: Process, _request: &Opaque) -> bool {
        true
    }

    /// Whether a stream counts from when it is opened, rather than from when the service hears of it.
    fn opens_at_once(&self, _request: &Opaque) -> bool {
        true
    }

    fn open(&mut self, _now: u64, _by: Process, _stream: u64, _request: &Opaque) {
        unreachable!("nobody here opens a stream")
    }

    fn push(&mut self, _now: u64, _by: Process, _stream: u64) {}

    fn close(&mut self, _by: Process, _stream: u64) {}

    fn ends(&self) -> Vec<End> {
        Vec::new()
    }

    fn end(&mut self, _now: u64, _which: u64) {}

    /// What its streams have told since the last time.
    fn told(&mut self) -> Vec<Told> {
        Vec::new()
    }

    /// A process's connection breaks, and another one is made.
    fn breaks(&mut self, _by: Process) {}

    /// A fault of its own: the leader's key is deleted, a server forgets, a replica without the last write takes over.
    fn fails(&mut self) {}
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Little {
    Redis(Redis),
    Replicated(Replicated),
    Servers(Servers),
    Kubernetes(Kubernetes),
    Objects(Objects),
    Rows(Rows),
    CheckIns(CheckIns),
    Sessions(Sessions),
    Etcd(Etcd),
    Consul(Consul),
    ZooKeeper(ZooKeeper),
}

impl Little {
    /// `None` for one that is not here.
    pub fn of(protocol: &Protocol) -> Option<Little> {
        let ttl = protocol.default_timings().lease_ttl;
        match protocol.service.name {
            "redis" => Some(Little::Redis(Redis::default())),
            "redis-sentinel" => Some(Little::Replicated(Replicated::default())),
            "redis-servers" => Some(Little::Servers(Servers::default())),
            "kubernetes" => Some(Little::Kubernetes(Kubernetes::default())),
            "object-store" => Some(Little::Objects(Objects::default())),
            "postgres" => Some(Little::Rows(Rows::default())),
            "postgres-check-ins" => Some(Little::CheckIns(CheckIns::default())),
            "postgres-sessions" => Some(Little::Sessions(Sessions::new(ttl, false))),
            "postgres-pooled" => Some(Little::Sessions(Sessions::new(ttl, true))),
            "etcd" => Some(Little::Etcd(Etcd::default())),
            "consul" => Some(Little::Consul(Consul::default())),
            "zookeeper" => Some(Little::ZooKeeper(ZooKeeper::default())),
            _ => None,
        }
    }

    pub fn serves(&mut self) -> &mut dyn Serves {
        match self {
            Little::Redis(service) => service,
            Little::Replicated(service) => service,
            Little::Servers(service) => service,
            Little::Kubernetes(service) => service,
            Little::Objects(service) => service,
            Little::Rows(service) => service,
            Little::CheckIns(service) => service,
            Little::Sessions(service) => service,
            Little::Etcd(service) => service,
            Little::Consul(service) => service,
            Little::ZooKeeper(service) => service,
        }
    }

    pub fn served(&self) -> &dyn Serves {
        match self {
            Little::Redis(service) => service,
            Little::Replicated(service) => service,
            Little::Servers(service) => service,
            Little::Kubernetes(service) => service,
            Little::Objects(service) => service,
            Little::Rows(service) => service,
            Little::CheckIns(service) => service,
            Little::Sessions(service) => service,
            Little::Etcd(service) => service,
            Little::Consul(service) => service,
            Little::ZooKeeper(service) => service,
        }
    }

    /// Whether a process has one connection, on which requests and everything that it hears keep their order.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Little::ZooKeeper(_))
    }
}

/// Requests to one server wait for each other, if they are not concurrent.
pub fn server_of(request: &Opaque) -> usize {
    request.get::<service::redis_servers::Request>().map_or(0, |request| request.member)
}

fn typed<P: Payload>(request: &Opaque) -> P {
    P::restore(request.clone()).expect("a request to this service")
}

/// The candidate in a lock's value, `name/nonce/attempt`.
fn named(value: &str) -> Option<&str> {
    value.split(['/', '_']).next().filter(|name| !name.is_empty())
}

fn refused(why: &str) -> Answer {
    Err(Failure::Rejected(why.to_owned()))
}
