//! ZooKeeper over our own thin client, which behaves like ZooKeeper's Java client. (The crate `zookeeper-client` opens
//! sockets and sets timers by itself, so it cannot run in a simulation.)
//!
//! [`jute`], [`wire`], [`call`] and [`answer`] are the protocol; `connection.rs` has the session with its connections.
//! Requests are sent in the order in which they are made, and answered in that order. A push on a session's stream moves
//! the session to another connection.

pub mod answer;
pub mod call;
mod calls;
mod connection;
pub mod jute;
pub mod wire;

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::{Endpoint, Login},
};
use connection::{Packet, Session};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    service::zookeeper::{Api, Reply, Request, SERVICE, StreamRequest},
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.service, outputs, move |input| deliver(input))),
    }
}

/// Carries out what comes from `outputs` until it closes: sessions with the ensemble at `endpoints`, and requests
/// within them. Hands every answer to `deliver`.
pub async fn run<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    run_as(env, endpoints, None, outputs, deliver).await;
}

/// The same, logged in by the scheme `digest`: what is created is open to nobody else.
pub async fn run_as<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    login: Option<Login>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    let backend = Zookeeper { env: env.clone(), endpoints, login, session: Arc::default() };
    Queue::new(env, &SERVICE, deliver).run(backend, outputs).await;
}

struct Zookeeper<E> {
    env: E,
    endpoints: Vec<Endpoint>,
    login: Option<Login>,
    /// Takes the requests for the most recently opened session.
    session: Arc<Mutex<Option<UnboundedSender<Packet>>>>,
}

impl<E: Env> Backend for Zookeeper<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        // Handed over here rather than in the future, so that requests go out in the order in which they are made.
        let (answer, answered) = oneshot::channel();
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = session.as_ref().is_some_and(|to| to.send(Packet { request, answer }).is_ok());
        let env = self.env.clone();
        Box::pin(async move {
            if !sent {
                return Err(Failure::Rejected("there is no session".to_owned()));
            }
            // A closed session does not answer.
            let answered = async { answered.await.unwrap_or_else(|_| Err(connection::lost())) };
            if timeout == u64::MAX { answered.await } else { within(&env, timeout, answered).await }
        })
    }

    fn stream(&self, request: StreamRequest, stream: Stream<Api>) -> Option<Boxed<Failure>> {
        let (pushes, give) = stream.split();
        let (sender, packets) = unbounded_channel();
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        let session = Session::new(self.env.clone(), self.endpoints.clone(), self.login.clone(), request.timeout_ms);
        Some(Box::pin(session.run(packets, pushes, give)))
    }
}
