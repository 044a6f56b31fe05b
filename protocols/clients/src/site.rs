//! What a client needs to know of its service and its process.

use protocols::{bug::Bugs, election::Timings, types::NodeId};

/// A network address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// A host name, or a node's name in the simulation.
    pub host: String,
    pub port: u16,
}

/// A user of a service, and the password.
#[derive(Clone)]
pub struct Login {
    pub user: String,
    pub password: String,
}

/// What a client needs to know of its service and its process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The addresses of the service's members, in order; empty if the service is not a process of its own.
    pub service: Vec<Endpoint>,
    pub node: NodeId,
    /// The candidates' addresses, indexed by [`NodeId`].
    pub peers: Vec<Endpoint>,
    /// The port on which this candidate serves its peers.
    pub port: u16,
    /// The initial members among the candidates.
    pub founders: Vec<NodeId>,
    pub timings: Timings,
    /// The bugs that are switched on; none in a real process.
    pub bugs: Bugs,
}

impl Site {
    /// The address of a service with one member.
    #[cfg(any(feature = "http", feature = "postgres", feature = "redis"))]
    pub(crate) fn only(&self) -> Endpoint {
        self.service.first().cloned().unwrap_or(Endpoint { host: String::new(), port: 0 })
    }
}
