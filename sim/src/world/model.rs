//! What the world knows of a coordination service: that its members have states, which outlive their processes, and how an
//! operator reaches into them.

use super::with;
use super::{Holder, World, env::SimEnv};
use protocols::types::{MILLISECOND, NodeId};
use scenarios::{streams, topology::Topology};
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

/// What a member's twin begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disk {
    /// Nothing: it was never used.
    Empty,
    /// All that is on this one's.
    Copied,
}

/// What serves until the process ends, or until the port cannot be bound or the socket fails.
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

    /// Who holds a group's leadership when the server's wall clock shows so many milliseconds, where one member's state says so.
    fn holder(&self, _group: u16, _wall_ms: u64) -> Option<Holder> {
        None
    }

    /// Another member like it, with what this one has on disk, or with nothing; none where that is in files.
    fn twin(&self, _disk: Disk) -> Option<State> {
        None
    }

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

    /// The names of the members of the service that this process is one of, and which of them was elected before anything
    /// began, where they elect; nobody was, when this one has another disk.
    pub fn members_like(&self, node: NodeId) -> (Vec<String>, Option<usize>) {
        let services = self.topology.services().iter();
        let members: Vec<NodeId> =
            services.map(|service| service.nodes().collect::<Vec<_>>()).find(|m| m.contains(&node)).unwrap_or_default();
        let mut random = streams::stream(self.faults.plan.seed, streams::FOUNDER);
        let founder = streams::between(&mut random, 0, (members.len() as u64).saturating_sub(1));
        let founder = (!self.processes[node.index()].disk.is_replaced()).then_some(founder as usize);
        (members.into_iter().map(|member| self.topology.name(member).to_owned()).collect(), founder)
    }

    /// How long what a primary acknowledges takes to its replicas, beside the way there, milliseconds.
    pub fn replica_lag_ms(&self) -> i64 {
        let lag_ms = self.faults.plan.timings.replica_lag_ms.unwrap_or(0);
        i64::try_from(lag_ms).unwrap_or(i64::MAX)
    }

    /// How long a lease lasts that nobody renews, milliseconds.
    pub fn lease_ms(&self) -> i64 {
        (self.faults.plan.timings.resolved().lease_ttl / MILLISECOND) as i64
    }
}

/// A process ends by itself, since it cannot go on; its supervisor starts it again. Nothing comes after this.
pub async fn crash_here(node: NodeId) -> io::Result<()> {
    with(|world| world.crash(node));
    std::future::pending().await
}
