//! The faults that strike a cluster.

use super::{super::number, client::Service};
use scenarios::fault::{Fault as Planned, PlannedFault, Trigger, Who};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The leading member is killed, and restarted.
    Kill,
    /// Its process is paused: for etcd and Consul longer than an election takes, but shorter than a lease; for
    /// ZooKeeper longer than a session, but shorter than an election takes to begin.
    Pause,
    /// Its process is paused for longer than both.
    Stall,
    /// The leading member is cut off from the others.
    CutOff,
    /// Two members are killed, and restarted.
    QuorumLoss,
}

impl Fault {
    pub const ALL: [Fault; 5] = [Fault::Kill, Fault::Pause, Fault::Stall, Fault::CutOff, Fault::QuorumLoss];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Kill => "leader killed",
            Fault::Pause => "leader paused",
            Fault::Stall => "leader paused for long",
            Fault::CutOff => "leader cut off from its peers",
            Fault::QuorumLoss => "two of three killed",
        }
    }

    /// How long it lasts, in milliseconds.
    pub fn lasts_ms(self, service: Service) -> u64 {
        match (service, self) {
            (Service::Etcd, Fault::Kill | Fault::QuorumLoss) => 8_000,
            // One and a half times a short lease.
            (Service::Etcd, Fault::Pause) => (ttl_s(service) * 1_500).min(5_000),
            (Service::Etcd, Fault::Stall) => 15_000,
            (Service::Etcd, Fault::CutOff) => 10_000,
            (Service::Zookeeper, Fault::Kill | Fault::QuorumLoss) => 8_000,
            // A silent leader is given up after 10 s, and its last ping came up to a second before.
            (Service::Zookeeper, Fault::Pause) => 8_500,
            (Service::Zookeeper, Fault::Stall) => 16_000,
            (Service::Zookeeper, Fault::CutOff) => 20_000,
            (Service::Consul, Fault::Kill | Fault::QuorumLoss) => 8_000,
            (Service::Consul, Fault::Pause) => 8_000,
            (Service::Consul, Fault::Stall) => 25_000,
            (Service::Consul, Fault::CutOff) => 12_000,
        }
    }

    /// Whether nothing can be written while it lasts.
    pub const fn is_without_service(self) -> bool {
        matches!(self, Fault::QuorumLoss)
    }

    /// The fault in a plan's terms, against the named members.
    pub fn planned(self, service: Service, at_ms: f64, members: &[&str]) -> Vec<PlannedFault> {
        let (for_ms, node) = (self.lasts_ms(service) as f64, Who::ServiceLeader);
        let kill = |node| Planned::Kill { node, restart_after_ms: Some(for_ms) };
        let faults = match self {
            Fault::Kill => vec![kill(node)],
            Fault::Pause | Fault::Stall => vec![Planned::Pause { node, for_ms }],
            Fault::CutOff => {
                let (from, to) = (vec![node], vec![Who::Service]);
                vec![Planned::Partition { from, to, one_way: false, for_ms: Some(for_ms) }]
            }
            Fault::QuorumLoss => members.iter().take(2).map(|name| kill(Who::Named((*name).to_owned()))).collect(),
        };
        faults.into_iter().map(|what| PlannedFault { when: Trigger::At { ms: at_ms }, what, group: 0 }).collect()
    }
}

/// The lease to request, in seconds.
pub fn ttl_s(service: Service) -> u64 {
    match service {
        Service::Etcd => number("FENCEPOST_CLUSTER_ETCD_LEASE", 12),
        Service::Zookeeper => 6,
        // The shortest possible; it lasts twice that.
        Service::Consul => 10,
    }
}

impl Fault {
    /// How long after the fault it is known whether a lease has survived, in milliseconds. Killed processes have to
    /// start first.
    pub const fn shows_ms(self) -> u64 {
        match self {
            Fault::QuorumLoss => 24_000,
            _ => 10_000,
        }
    }
}
