//! The coordination service, as the file says.

use super::raw::RawServer;
use std::{collections::BTreeMap, net::SocketAddr};

/// A kind of server that a drill starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Server {
    Consul,
    Etcd,
    /// Kubernetes' API server, for Leases.
    Kubernetes,
    Postgres,
    Redis,
    Zookeeper,
}

impl Server {
    const ALL: [Server; 6] =
        [Server::Consul, Server::Etcd, Server::Kubernetes, Server::Postgres, Server::Redis, Server::Zookeeper];

    /// Its name in the file, and in braces.
    pub const fn name(self) -> &'static str {
        match self {
            Server::Consul => "consul",
            Server::Etcd => "etcd",
            Server::Kubernetes => "kubernetes",
            Server::Postgres => "postgres",
            Server::Redis => "redis",
            Server::Zookeeper => "zookeeper",
        }
    }
}

/// The coordination service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    pub server: Server,
    /// Of a running one, which is never killed; otherwise one is started.
    pub address: Option<SocketAddr>,
    /// How many are started.
    pub members: u16,
}

impl Service {
    /// The names of its members in reports: the service's, with a number if there are several.
    pub fn names(&self) -> Vec<String> {
        let name = self.server.name();
        match self.members {
            1 => vec![name.to_owned()],
            members => (1..=members).map(|member| format!("{name}-{member}")).collect(),
        }
    }
}

/// What is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(pub String);

/// The address of a running server, if one is given.
pub fn address(text: Option<String>) -> Result<Option<SocketAddr>, Wrong> {
    text.map(|text| crate::director::resolve_address(&text)).transpose().map_err(|why| Wrong(why.to_string()))
}

/// Reads the service; `None` if there is none.
pub fn read(raw: BTreeMap<String, RawServer>) -> Result<Option<Service>, Wrong> {
    let mut all = raw.into_iter();
    let Some((name, given)) = all.next() else { return Ok(None) };
    if let Some((other, _)) = all.next() {
        return Err(Wrong(format!("`[service]` has `{name}` and `{other}`; a fleet elects by one")));
    }
    let server = Server::ALL.into_iter().find(|server| server.name() == name).ok_or_else(|| {
        Wrong(format!("there is no service `{name}`; there are {}", Server::ALL.map(Server::name).join(", ")))
    })?;
    let address = address(given.address)?;
    let members = given.members.unwrap_or(1);
    let why = match (server, members) {
        _ if given.members.is_some() && address.is_some() => {
            "`members` is for a service that the drill starts, and `address` is one that runs".to_owned()
        }
        (_, 1) => return Ok(Some(Service { server, address, members })),
        (Server::Kubernetes | Server::Postgres | Server::Redis, _) => {
            format!("`{name}` is started with one member; consul, etcd and zookeeper may have several")
        }
        (_, 3 | 5) => return Ok(Some(Service { server, address, members })),
        _ => format!("`members` is {members}: {name} has 1, 3 or 5, of which a majority elects"),
    };
    Err(Wrong(format!("`[service] {name}`: {why}")))
}
