//! PostgreSQL over the genuine `tokio-postgres` crate.
//!
//! Statements go out unnamed, with their types (`query_typed`): one round trip each. `tokio-postgres` numbers named
//! ones across the whole process, so the bytes of one run would depend on earlier runs, and a pool in transaction mode
//! does not know them. tokio's timers are not used: they would ignore the node's clock.

mod connection;
mod session;
mod statements;

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use connection::Connector;
use protocols::{
    election::pg_advisory::KEPT_IN_POOL,
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    service::postgres::{Api, CHECK_INS, Keepalive, POOLED, Reply, Request, SERVICE, SESSIONS, Watch},
};
pub use session::{DATABASE, Options, USER, usual_login};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The client for lease rows that expire by the database's clock.
pub fn rows<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| {
            let keepalive = Keepalive::within(site.timings.lease_ttl);
            let options = Options {
                login: usual_login(),
                service: &SERVICE,
                keepalive: Some(keepalive),
                pooled: false,
                keeps_dropped: false,
            };
            Box::pin(run(env, site.only(), options, outputs, move |input| deliver(input)))
        },
    }
}

/// The client for rows of check-ins.
pub fn check_ins<E: Env>() -> client::Client<E> {
    client::Client {
        service: CHECK_INS.name,
        run: |env, site, outputs, deliver| {
            let keepalive = Keepalive::within(site.timings.lease_ttl);
            let options = Options {
                login: usual_login(),
                service: &CHECK_INS,
                keepalive: Some(keepalive),
                pooled: false,
                keeps_dropped: false,
            };
            Box::pin(run(env, site.only(), options, outputs, move |input| deliver(input)))
        },
    }
}

/// The client for session locks.
pub fn sessions<E: Env>() -> client::Client<E> {
    client::Client {
        service: SESSIONS.name,
        run: |env, site, outputs, deliver| {
            let keepalive = Keepalive::within(site.timings.lease_ttl);
            let keeps_dropped = site.bugs.has(&KEPT_IN_POOL);
            let options = Options {
                login: usual_login(),
                service: &SESSIONS,
                keepalive: Some(keepalive),
                pooled: false,
                keeps_dropped,
            };
            Box::pin(run(env, site.only(), options, outputs, move |input| deliver(input)))
        },
    }
}

/// The same through a pool. PgBouncer refuses settings in the startup message.
pub fn pooled<E: Env>() -> client::Client<E> {
    client::Client {
        service: POOLED.name,
        run: |env, site, outputs, deliver| {
            let options =
                Options { login: usual_login(), service: &POOLED, keepalive: None, pooled: true, keeps_dropped: false };
            Box::pin(run(env, site.only(), options, outputs, move |input| deliver(input)))
        },
    }
}

/// Carries out the requests that come from `outputs` and hands every answer to `deliver`, until `outputs` closes.
///
/// A single connection is kept. A request that is given up closes it, since the outcome and whether a transaction is
/// open are then unknown. The session's locks are gone once the server notices.
pub async fn run<E: Env>(
    env: E,
    endpoint: Endpoint,
    options: Options,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    Postgres::new(env, endpoint, options).run(outputs, deliver).await;
}

/// A connection that several electors can share. Clones share it.
#[derive(Clone)]
pub struct Postgres<E: Env>(Arc<Connector<E>>);

impl<E: Env> Postgres<E> {
    /// A connection to `endpoint`; nothing is dialled yet.
    pub fn new(env: E, endpoint: Endpoint, options: Options) -> Self {
        Postgres(Arc::new(Connector::new(env, endpoint, options)))
    }

    /// Carries out an elector's requests; see [`run`].
    pub async fn run(
        self,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        let (env, service) = (self.0.env.clone(), self.0.service());
        Queue::new(env, service, deliver).run(self, outputs).await;
    }
}

impl<E: Env> Backend for Postgres<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let connector = self.0.clone();
        Box::pin(async move { within(&connector.env, timeout, connector.carry_out(&request)).await })
    }

    fn stream(&self, Watch { session }: Watch, _: Stream<Api>) -> Option<Boxed<Failure>> {
        let connector = self.0.clone();
        Some(Box::pin(async move { connector.ended(session).await }))
    }
}
