//! etcd over the genuine `etcd-client` crate.

mod balance;
mod calls;
pub mod channel;

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::Endpoint,
};
use etcd_client::Client;
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    service::etcd::{Api, Reply, Request, SERVICE, StreamRequest},
};
use tokio::sync::mpsc::UnboundedReceiver;

/// The client's registry entry.
pub fn client<E: Env>() -> client::Client<E> {
    client::Client {
        service: SERVICE.name,
        run: |env, site, outputs, deliver| Box::pin(run(env, site.service, outputs, move |input| deliver(input))),
    }
}

/// Runs the genuine client for one elector until `outputs` closes: carries out its requests and hands every answer to
/// `deliver`. Dials when there is something to send, and redials a broken connection.
pub async fn run<E: Env>(
    env: E,
    endpoints: Vec<Endpoint>,
    outputs: UnboundedReceiver<ServiceOutput>,
    deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
) {
    // This cannot fail: it sends nothing without credentials.
    if let Ok(client) = connect_to(env.clone(), endpoints).await {
        Queue::new(env.clone(), &SERVICE, deliver).run(Etcd { env, client }, outputs).await;
    }
}

struct Etcd<E> {
    env: E,
    client: Client,
}

impl<E: Env> Backend for Etcd<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, client) = (self.env.clone(), self.client.clone());
        // Boxed on its own: the library's futures are large, and would be moved each time they are wrapped.
        let answer = Box::pin(calls::request(client, request));
        Box::pin(async move { within(&env, timeout, answer).await })
    }

    fn stream(&self, request: StreamRequest, stream: Stream<Api>) -> Option<Boxed<Failure>> {
        let (pushes, give) = stream.split();
        Some(Box::pin(calls::stream(self.client.clone(), request, pushes, give)))
    }
}

/// The genuine client on a channel of the process's own; nothing is dialled yet.
///
/// # Errors
/// None without credentials; the library's signature has an error.
pub async fn connect<E: Env>(env: E, endpoint: Endpoint) -> Result<etcd_client::Client, etcd_client::Error> {
    connect_to(env, vec![endpoint]).await
}

/// Like [`connect`], to the members of a cluster or to a single server.
///
/// # Errors
/// As for [`connect`].
pub async fn connect_to<E: Env>(
    env: E,
    mut endpoints: Vec<Endpoint>,
) -> Result<etcd_client::Client, etcd_client::Error> {
    let channel = match (endpoints.len(), endpoints.pop()) {
        (1, Some(only)) => tower::util::BoxCloneSyncService::new(channel::Channel::new(env, only)),
        (_, last) => {
            endpoints.extend(last);
            tower::util::BoxCloneSyncService::new(balance::Balanced::new(env, endpoints))
        }
    };
    etcd_client::Client::from_channel(etcd_client::Channel::Custom(channel), None).await
}
