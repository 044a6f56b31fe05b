//! Which client carries out what is asked of which service.

use crate::{env::Env, etcd, raft, redis, redis_servers, site::Site};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    service::{self, Service},
};
use std::{future::Future, pin::Pin, sync::Arc};
use tokio::sync::mpsc::UnboundedReceiver;

/// Takes what a client has for its elector.
pub type Deliver = Arc<dyn Fn(ServiceInput) + Send + Sync>;
/// A client at work: carries out what comes from its elector until that is gone.
pub type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client of a service.
pub struct Client<E> {
    /// The service's name.
    pub service: &'static str,
    /// Runs it for one elector.
    pub run: fn(E, Site, UnboundedReceiver<ServiceOutput>, Deliver) -> Running,
}

/// The clients that there are.
pub struct Clients<E>(Vec<Client<E>>);

// Derived, they would want the same of `E`, of which nothing is kept.
impl<E> Copy for Client<E> {}

impl<E> Clone for Client<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Clone for Clients<E> {
    fn clone(&self) -> Self {
        Clients(self.0.clone())
    }
}

impl<E: Env> Clients<E> {
    /// Those of the services of our own protocols.
    pub fn ours() -> Self {
        Clients(vec![
            Client {
                service: service::redis::SERVICE.name,
                run: |env, site, outputs, deliver| {
                    Box::pin(redis::run(env, site.only(), outputs, move |input| deliver(input)))
                },
            },
            Client {
                service: service::redis_servers::SERVICE.name,
                run: |env, site, outputs, deliver| {
                    Box::pin(redis_servers::run(env, site.service, outputs, move |input| deliver(input)))
                },
            },
            Client {
                service: service::etcd::SERVICE.name,
                run: |env, site, outputs, deliver| {
                    Box::pin(etcd::run(env, site.only(), outputs, move |input| deliver(input)))
                },
            },
            Client {
                service: service::raft::SERVICE.name,
                run: |env, site, outputs, deliver| {
                    Box::pin(raft::client::run(env, site, outputs, move |input| deliver(input)))
                },
            },
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
