//! Which client carries out what is asked of which service.

pub use crate::client::{Client, Deliver, Running};
use crate::{
    consul, env::Env, etcd, kubernetes, object_store, postgres, raft, redis, redis_sentinel, redis_servers, site::Site,
    zookeeper,
};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    service::Service,
};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The clients that there are.
pub struct Clients<E>(Vec<Client<E>>);

// Derived, it would want the same of `E`, of which nothing is kept.
impl<E> Clone for Clients<E> {
    fn clone(&self) -> Self {
        Clients(self.0.clone())
    }
}

impl<E: Env> Clients<E> {
    /// Those of the services of our own protocols.
    pub fn ours() -> Self {
        Clients(vec![
            // A line a service.
            redis::client(),
            redis_servers::client(),
            redis_sentinel::client(),
            etcd::client(),
            consul::client(),
            kubernetes::client(),
            object_store::client(),
            raft::client::client(),
            zookeeper::client(),
            postgres::rows(),
            postgres::check_ins(),
            postgres::sessions(),
            postgres::pooled(),
        ])
    }

    /// With another one. Of two clients of one service the first counts.
    pub fn with(mut self, client: Client<E>) -> Self {
        self.0.push(client);
        self
    }

    /// Is there one of the service of that name?
    pub fn has(&self, service: &str) -> bool {
        self.0.iter().any(|client| client.service == service)
    }

    /// Runs the client of `service` for one elector until `outputs` closes: carries out what comes from it and hands every
    /// answer to `deliver`. Where there is no client, nothing is carried out.
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
