//! Which client serves which service.

pub use crate::client::{Client, Deliver, Running};
use crate::{env::Env, site::Site};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    service::Service,
};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The known clients.
pub struct Clients<E>(Vec<Client<E>>);

// `derive` would demand the same of `E`, although no `E` is stored.
impl<E> Clone for Clients<E> {
    fn clone(&self) -> Self {
        Clients(self.0.clone())
    }
}

impl<E: Env> Clients<E> {
    /// The clients for the services of our own protocols.
    pub fn ours() -> Self {
        Clients(Vec::from([
            // One line per service.
            #[cfg(feature = "redis")]
            crate::redis::client(),
            #[cfg(feature = "redis")]
            crate::redis_servers::client(),
            #[cfg(feature = "redis")]
            crate::redis_sentinel::client(),
            #[cfg(feature = "etcd")]
            crate::etcd::client(),
            #[cfg(feature = "http")]
            crate::consul::client(),
            #[cfg(feature = "http")]
            crate::kubernetes::client(),
            #[cfg(feature = "http")]
            crate::object_store::client(),
            #[cfg(feature = "raft")]
            crate::raft::client::client(),
            #[cfg(feature = "zookeeper")]
            crate::zookeeper::client(),
            #[cfg(feature = "postgres")]
            crate::postgres::rows(),
            #[cfg(feature = "postgres")]
            crate::postgres::check_ins(),
            #[cfg(feature = "postgres")]
            crate::postgres::sessions(),
            #[cfg(feature = "postgres")]
            crate::postgres::pooled(),
        ]))
    }

    /// Adds a client. If two serve the same service, the first wins.
    pub fn with(mut self, client: Client<E>) -> Self {
        self.0.push(client);
        self
    }

    /// Whether there is a client for the service of that name.
    pub fn has(&self, service: &str) -> bool {
        self.0.iter().any(|client| client.service == service)
    }

    /// Runs the client of `service` for one elector until `outputs` closes: carries out its requests and hands every
    /// answer to `deliver`. Does nothing if there is no client.
    pub async fn run(
        &self,
        env: E,
        service: &Service,
        site: Site,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        if let Some(client) = self.0.iter().find(|client| client.service == service.name) {
            (client.run)(env, site, outputs, Arc::new(deliver)).await;
        }
    }
}
