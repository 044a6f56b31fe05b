//! The coordination services: what cores may ask of them, and the genuine client libraries that carry it out.
//!
//! One file a service. Request and reply types live beside the adapter and are shared by the service's protocols.

pub mod etcd;
pub mod raft;
pub mod redis;
pub mod redis_servers;

use crate::{
    election::Timings,
    elector::{ServiceInput, ServiceOutput},
    env::Env,
    types::NodeId,
};
use tokio::sync::mpsc::UnboundedReceiver;

/// A request to the service that the protocol uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// To Redis.
    Redis(redis::Request),
    /// To one of several Redis servers.
    RedisServers(redis_servers::Request),
    /// To etcd.
    Etcd(etcd::Request),
    /// To the Raft node in this process.
    Raft(raft::Request),
}

/// The answer to a [`Request`] of the same service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// From Redis.
    Redis(redis::Reply),
    /// From etcd.
    Etcd(etcd::Reply),
    /// From the Raft node in this process.
    Raft(raft::Reply),
}

/// A stream to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamRequest {
    /// On etcd.
    Etcd(etcd::StreamRequest),
    /// On the Raft node in this process.
    Raft(raft::StreamRequest),
}

/// What a stream brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// From etcd.
    Etcd(etcd::Item),
    /// From the Raft node in this process.
    Raft(raft::Item),
}

/// Which coordination service a protocol talks to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// One Redis server.
    Redis,
    /// Redis servers that know nothing of each other.
    RedisServers,
    /// etcd.
    Etcd,
    /// None: the candidates elect among themselves.
    Peers,
    /// None, but a fencing device, which candidates reach by datagrams like each other.
    Power,
    /// A Raft node in each candidate's own process.
    Raft,
}

/// How many members a service can have, and what they are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Members {
    /// The most that it can have. It has one unless a plan says otherwise.
    pub most: u16,
    /// Does one of them lead the others?
    pub led: bool,
    /// Does it take a majority of them? Otherwise one is enough.
    pub majority: bool,
}

impl Service {
    /// How many members it can have.
    pub const fn members(self) -> Members {
        match self {
            Service::RedisServers => Members { most: 9, led: false, majority: true },
            Service::Etcd => Members { most: 1, led: true, majority: true },
            _ => Members { most: 1, led: false, majority: false },
        }
    }

    /// Every service that is a process of its own.
    pub const PROCESSES: [Service; 3] = [Service::Redis, Service::Etcd, Service::Power];

    /// The name of its node in a simulated topology; `None` when it is no process of its own.
    pub const fn process(self) -> Option<&'static str> {
        match self {
            Service::Redis | Service::RedisServers => Some("redis"),
            Service::Etcd => Some("etcd"),
            Service::Power => Some("power"),
            Service::Peers | Service::Raft => None,
        }
    }

    /// The port that it, or each candidate's part of it, listens on by convention; 0 when it does not.
    pub const fn port(self) -> u16 {
        match self {
            Service::Redis | Service::RedisServers => 6379,
            Service::Etcd => 2379,
            Service::Peers | Service::Power => 0,
            Service::Raft => raft::PORT,
        }
    }
}

/// Where a service listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Host name, or a node's name in the simulation.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// What a client is told of the process that it works for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Where each member of the service listens, in their order; nowhere when it is no process of its own.
    pub service: Vec<Endpoint>,
    /// The candidate.
    pub node: NodeId,
    /// Where each candidate is reached, by [`NodeId`].
    pub peers: Vec<Endpoint>,
    /// The port on which this candidate answers its peers.
    pub port: u16,
    /// The candidates that are members from the beginning.
    pub founders: Vec<NodeId>,
    /// The protocol's timers.
    pub timings: Timings,
}

/// Runs the genuine client of `service` for one elector until `outputs` closes: carries out what comes from it and hands
/// every answer to `deliver`.
pub async fn run<E: Env>(
    env: E,
    service: Service,
    site: Site,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    match (service, site.service.first().cloned()) {
        (Service::Redis, Some(server)) => redis::run(env, server, outputs, deliver).await,
        (Service::Etcd, Some(member)) => etcd::run(env, member, outputs, deliver).await,
        (Service::RedisServers, _) => redis_servers::run(env, site.service, outputs, deliver).await,
        (Service::Raft, _) => raft::run(env, site, outputs, deliver).await,
        (Service::Redis | Service::Etcd | Service::Peers | Service::Power, _) => {}
    }
}
