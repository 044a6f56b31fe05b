//! The genuine client libraries that carry out what cores ask of coordination services, one file a service.

pub mod etcd;
pub mod raft;
pub mod redis;

use crate::{
    election::Timings,
    elector::{ServiceInput, ServiceOutput},
    env::Env,
    service::Service,
    types::NodeId,
};
use tokio::sync::mpsc::UnboundedReceiver;

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
    /// Where the service listens, if it is a process of its own.
    pub service: Endpoint,
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
    service: &Service,
    site: Site,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Clone + Send + Sync + 'static,
) {
    match service.name {
        "redis" => redis::run(env, site.service, outputs, deliver).await,
        "etcd" => etcd::run(env, site.service, outputs, deliver).await,
        "raft" => raft::run(env, site, outputs, deliver).await,
        _ => {}
    }
}
