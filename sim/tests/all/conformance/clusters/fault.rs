//! What befalls a cluster, and for how long.

use super::{super::number, client::Service};
use scenarios::fault::{Fault as Planned, PlannedFault, Trigger, Who};

/// What befalls a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The member that leads dies, and is started again.
    Kill,
    /// Its process is stopped: with etcd and Consul for longer than an election takes, and for less time than a lease lasts; with
    /// ZooKeeper for longer than a session lasts, and for less time than an election takes to begin.
    Pause,
    /// For longer than both.
    Stall,
    /// Nothing passes between it and the other members.
    CutOff,
    /// Two members die, and are started again.
    QuorumLoss,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] = [Fault::Kill, Fault::Pause, Fault::Stall, Fault::CutOff, Fault::QuorumLoss];

    /// What it is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Kill => "leader killed",
            Fault::Pause => "leader paused",
            Fault::Stall => "leader paused for long",
            Fault::CutOff => "leader cut off from its peers",
            Fault::QuorumLoss => "two of three killed",
        }
    }

    /// How long it lasts, milliseconds.
    pub fn lasts_ms(self, service: Service) -> u64 {
        match (service, self) {
            (Service::Etcd, Fault::Kill | Fault::QuorumLoss) => 8_000,
            // Half as long again as a short lease.
            (Service::Etcd, Fault::Pause) => (ttl_s(service) * 1_500).min(5_000),
            (Service::Etcd, Fault::Stall) => 15_000,
            (Service::Etcd, Fault::CutOff) => 10_000,
            (Service::Zookeeper, Fault::Kill | Fault::QuorumLoss) => 8_000,
            // A leader that is silent is given up after 10 s, and its last ping was up to a second before.
            (Service::Zookeeper, Fault::Pause) => 8_500,
            (Service::Zookeeper, Fault::Stall) => 16_000,
            (Service::Zookeeper, Fault::CutOff) => 20_000,
            (Service::Consul, Fault::Kill | Fault::QuorumLoss) => 8_000,
            (Service::Consul, Fault::Pause) => 8_000,
            (Service::Consul, Fault::Stall) => 25_000,
            (Service::Consul, Fault::CutOff) => 12_000,
        }
    }

    /// Can nothing be written while it lasts?
    pub const fn is_without_service(self) -> bool {
        matches!(self, Fault::QuorumLoss)
    }

    /// As plans have it, against members of these names.
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

/// How long the lease is that is asked for, seconds.
pub fn ttl_s(service: Service) -> u64 {
    match service {
        Service::Etcd => number("FENCEPOST_CLUSTER_ETCD_LEASE", 12),
        Service::Zookeeper => 6,
        // The shortest that there is; it lasts for twice that.
        Service::Consul => 10,
    }
}

impl Fault {
    /// How long it takes after it until it shows whether a lease has survived it, milliseconds. Processes that were killed have
    /// to start.
    pub const fn shows_ms(self) -> u64 {
        match self {
            Fault::QuorumLoss => 24_000,
            _ => 10_000,
        }
    }
}
