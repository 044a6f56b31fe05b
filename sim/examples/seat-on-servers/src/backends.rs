//! The seat's backends, by their names.

use crate::{Error, raft, service::Service};
use fencepost_seat::{
    Backend, Consul, Etcd, Fenced, Fencing, Kubernetes, Lead, Postgres, PostgresLock, Redis, Redlock, Unfenced,
    Zookeeper,
};
use std::{
    net::SocketAddr,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// Where Leases are.
pub const NAMESPACE: &str = "default";

/// A leadership's place in the order of leaderships.
pub trait Ordered: Fencing + Sized {
    fn number(lead: &Lead<Self>) -> Result<u64, Error>;
    /// The leadership, if it can pass a fence.
    fn fenced(lead: &Lead<Self>) -> Option<&Lead<Fenced>>;
}

impl Ordered for Fenced {
    fn number(lead: &Lead<Self>) -> Result<u64, Error> {
        Ok(lead.token())
    }

    fn fenced(lead: &Lead<Self>) -> Option<&Lead<Fenced>> {
        Some(lead)
    }
}

/// By when it began on the clock that all processes here share, nanoseconds. No resource could rely on it.
impl Ordered for Unfenced {
    fn number(_: &Lead<Self>) -> Result<u64, Error> {
        Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos().try_into()?)
    }

    fn fenced(_: &Lead<Self>) -> Option<&Lead<Fenced>> {
        None
    }
}

/// What is done on a backend.
pub trait Act {
    async fn on<B: Backend<Fencing: Ordered>>(self, backend: B) -> Result<(), Error>;
}

/// Acts on the service at these addresses; with Raft, as the member `mPLACE` with its things in this folder.
pub async fn act(service: Service, at: &[SocketAddr], member: (&str, &Path), act: impl Act) -> Result<(), Error> {
    let first = *at.first().ok_or("a service has an address")?;
    let (http, database) = (format!("http://{first}"), format!("postgres://store@{first}/postgres"));
    match service {
        Service::Consul => act.on(Consul::connect(&http)?).await,
        Service::Etcd => act.on(Etcd::connect([http])?).await,
        Service::Kubernetes => {
            let client = kube::Client::try_from(kube::Config::new(http.parse()?))?;
            act.on(Kubernetes::new(client, NAMESPACE)).await
        }
        Service::Postgres => act.on(Postgres::connect(&database)?).await,
        Service::PostgresLock => act.on(PostgresLock::connect(&database)?).await,
        Service::Raft => act.on(raft::member(at, member)?).await,
        Service::Redis => act.on(Redis::connect(&format!("redis://{first}"))?).await,
        Service::Redlock => act.on(Redlock::connect(at.iter().map(|at| format!("redis://{at}")))?).await,
        Service::Zookeeper => act.on(Zookeeper::connect(&first.to_string())?).await,
    }
}
