//! The world's view of a coordination service: its members have states that outlive their processes, and operators can
//! change them.

use super::with;
use super::{Holder, World, env::SimEnv};
use protocols::types::NodeId;
use scenarios::{streams, topology::Topology};
use std::{future::Future, io, pin::Pin, sync::Arc};

/// What a service is made to drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// A lease, with all its keys.
    Lease,
    Key,
    /// The counter that tokens are drawn from, whoever leads.
    Counter,
}

/// The initial disk of a member's twin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disk {
    Empty,
    /// A copy of this member's disk.
    Copied,
}

/// Serves until the process ends, or until the port cannot be bound or the socket fails.
pub type Serving = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// The model of one member of a service: its state, and how to serve it. It outlives its process, since services make
/// durable what they acknowledge.
pub trait Model: Send + Sync {
    /// Whether the member with this state leads the others.
    fn leads(&self) -> bool {
        false
    }

    /// Drops what makes a candidate a group's leader, or next in the queue, at wall time `wall_ms`. Watchers are
    /// notified as of any deletion; the candidate is not. Returns the resulting holder.
    fn drop_leadership(&self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) -> Option<Holder>;

    /// The holder of a group's leadership at wall time `wall_ms`, if a single member's state says so.
    fn holder(&self, _group: u16, _wall_ms: u64) -> Option<Holder> {
        None
    }

    /// A second member like this one, with a copy of its disk or an empty one; `None` if its state is in files.
    fn twin(&self, _disk: Disk) -> Option<State> {
        None
    }

    /// Serves this state in a starting process.
    fn serve(self: Arc<Self>, env: SimEnv, port: u16) -> Serving;
}

pub type State = Arc<dyn Model>;

/// What a model may ask the world for its configuration.
impl World {
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The names of the members like this process, and which of them was elected beforehand, if they elect; none if
    /// this process has a new disk.
    pub fn members_like(&self, node: NodeId) -> (Vec<String>, Option<usize>) {
        let services = self.topology.services().iter();
        let members: Vec<NodeId> =
            services.map(|service| service.nodes().collect::<Vec<_>>()).find(|m| m.contains(&node)).unwrap_or_default();
        let mut random = streams::stream(self.faults.plan.seed, streams::FOUNDER);
        let founder = streams::between(&mut random, 0, (members.len() as u64).saturating_sub(1));
        let founder = (!self.disks.folders[node.index()].is_replaced()).then_some(founder as usize);
        (members.into_iter().map(|member| self.topology.name(member).to_owned()).collect(), founder)
    }

    /// How long a primary delays acknowledged writes to its replicas, apart from the network, in milliseconds.
    pub fn replica_lag_ms(&self) -> i64 {
        let lag_ms = self.faults.plan.timings.replica_lag_ms.unwrap_or(0);
        i64::try_from(lag_ms).unwrap_or(i64::MAX)
    }

    /// How long a lease lasts without renewal, in milliseconds.
    pub fn lease_ms(&self) -> i64 {
        i64::try_from(self.faults.plan.timings.lease_ttl_ms).unwrap_or(i64::MAX)
    }
}

/// Ends the calling process, which its supervisor restarts. Never returns.
pub async fn crash_here(node: NodeId) -> io::Result<()> {
    with(|world| world.crash(node));
    std::future::pending().await
}
