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
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::body::Body;
use tower::BoxError;

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
    Connection::new(env, endpoints).run(outputs, deliver).await;
}

/// A channel that several electors can share while they run. Clones share it.
#[derive(Clone)]
pub struct Connection<E> {
    env: E,
    endpoints: Arc<Vec<Endpoint>>,
    /// Those that run keep it.
    live: Arc<Mutex<Weak<Channel>>>,
}

type Channel = tower::util::BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

impl<E: Env> Connection<E> {
    /// A channel to `endpoints`; nothing is dialled yet.
    pub fn new(env: E, endpoints: Vec<Endpoint>) -> Self {
        Connection { env, endpoints: Arc::new(endpoints), live: Arc::default() }
    }

    /// Carries out an elector's requests; see [`run`].
    pub async fn run(
        self,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        let (env, channel) = (self.env.clone(), self.channel());
        // This cannot fail: it sends nothing without credentials.
        if let Ok(client) = client_on((*channel).clone()).await {
            Queue::new(env.clone(), &SERVICE, deliver).run(Etcd { env, client }, outputs).await;
        }
    }

    /// The channel of those that run, or a new one.
    fn channel(&self) -> Arc<Channel> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.upgrade().unwrap_or_else(|| {
            let made = Arc::new(channel_to(self.env.clone(), self.endpoints.to_vec()));
            *live = Arc::downgrade(&made);
            made
        })
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
pub async fn connect_to<E: Env>(env: E, endpoints: Vec<Endpoint>) -> Result<etcd_client::Client, etcd_client::Error> {
    client_on(channel_to(env, endpoints)).await
}

fn channel_to<E: Env>(env: E, mut endpoints: Vec<Endpoint>) -> Channel {
    match (endpoints.len(), endpoints.pop()) {
        (1, Some(only)) => Channel::new(channel::Channel::new(env, only)),
        (_, last) => {
            endpoints.extend(last);
            Channel::new(balance::Balanced::new(env, endpoints))
        }
    }
}

async fn client_on(channel: Channel) -> Result<Client, etcd_client::Error> {
    Client::from_channel(etcd_client::Channel::Custom(channel), None).await
}
