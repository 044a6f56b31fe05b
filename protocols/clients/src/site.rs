//! What a client is told of its service and of the process that it works for.

use protocols::{bug::Bugs, election::Timings, types::NodeId};

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
    /// The bugs that are switched on; none where it works for a real process.
    pub bugs: Bugs,
}

impl Site {
    /// Where a service of one member listens.
    pub(crate) fn only(&self) -> Endpoint {
        self.service.first().cloned().unwrap_or(Endpoint { host: String::new(), port: 0 })
    }
}
