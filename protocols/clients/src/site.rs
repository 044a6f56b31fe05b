//! What a client is told of its service and of the process that it works for.

use protocols::{election::Timings, types::NodeId};

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
