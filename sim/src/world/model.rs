//! What the world knows of a coordination service: that its members have states, which outlive their processes, and how an
//! operator reaches into them.

use super::{Holder, World, env::SimEnv};
use protocols::types::MILLISECOND;
use scenarios::topology::Topology;
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

    /// Drops what makes the candidate of that name leader of a group, or next in the queue. Who watches it is told, as after any
    /// deletion; the candidate itself is not.
    /// Gives back who holds leadership then, when the server's wall clock shows so many milliseconds.
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) -> Option<Holder>;

    /// A process of the service starts, and serves this.
    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving;
}

/// The state of a fleet's service.
pub type State = Arc<dyn Model>;

/// What a model may ask of the world that it is in, to be configured by.
impl World {
    /// Who is who.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How long a lease lasts that nobody renews, milliseconds.
    pub fn lease_ms(&self) -> i64 {
        (self.faults.plan.timings.resolved().lease_ttl / MILLISECOND) as i64
    }
}
