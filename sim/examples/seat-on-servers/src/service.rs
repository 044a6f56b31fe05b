//! The services that seats stand on here.

use std::{str::FromStr, time::Duration};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    Consul,
    Etcd,
    Kubernetes,
    Postgres,
    /// None: the members elect one of them.
    Raft,
    Redis,
    Zookeeper,
    PostgresLock,
    Redlock,
}

impl Service {
    pub const ALL: [Service; 9] = [
        Service::Consul,
        Service::Etcd,
        Service::Kubernetes,
        Service::Postgres,
        Service::Raft,
        Service::Redis,
        Service::Zookeeper,
        Service::PostgresLock,
        Service::Redlock,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Service::Consul => "Consul",
            Service::Etcd => "etcd",
            Service::Kubernetes => "Kubernetes",
            Service::Postgres => "PostgreSQL",
            Service::Raft => "Raft",
            Service::Redis => "Redis",
            Service::Zookeeper => "ZooKeeper",
            Service::PostgresLock => "PostgresLock",
            Service::Redlock => "Redlock",
        }
    }

    /// Whether its leaders have tokens, so that a fence can refuse former ones.
    pub fn has_tokens(self) -> bool {
        !matches!(self, Service::PostgresLock | Service::Redlock)
    }

    /// Two seconds, or the shortest lease that it grants: Consul's shortest TTL, and two of ZooKeeper's ticks.
    pub fn lease(self) -> Duration {
        Duration::from_secs(match self {
            Service::Consul => 10,
            Service::Zookeeper => 4,
            _ => 2,
        })
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Service::ALL.into_iter().find(|service| service.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("`{name}` is no service: use {}", Service::ALL.map(Service::name).join(", ")))
    }
}
