//! etcd over the genuine `etcd-client` crate.

mod balance;
mod calls;
pub mod channel;

use crate::{
    client,
    env::Env,
    queue::{Backend, Boxed, Queue, Stream, within},
    site::{Endpoint, Login},
};
use etcd_client::{Client, ConnectOptions};
use protocols::{
    elector::{ServiceInput, ServiceOutput},
    error::Failure,
    service::etcd::{Api, Reply, Request, SERVICE, StreamRequest},
};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OnceCell, mpsc::UnboundedReceiver};
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
    login: Option<Login>,
    restless: bool,
    /// Those that run keep it.
    live: Arc<Mutex<Weak<Line>>>,
}

/// A client, once it has logged in, or is asked for the first time.
struct Line {
    channel: Channel,
    login: Option<Login>,
    client: OnceCell<Client>,
}

impl Line {
    async fn client(&self) -> Result<Client, etcd_client::Error> {
        self.client.get_or_try_init(|| client_on(self.channel.clone(), self.login.clone())).await.cloned()
    }
}

type Channel = tower::util::BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

impl<E: Env> Connection<E> {
    /// A channel to `endpoints`; nothing is dialled yet.
    pub fn new(env: E, endpoints: Vec<Endpoint>) -> Self {
        Connection { env, endpoints: Arc::new(endpoints), login: None, restless: false, live: Arc::default() }
    }

    /// Redials a single server that does not answer; see [`channel::Channel::restless`].
    #[must_use]
    pub fn restless(self) -> Self {
        Connection { restless: true, live: Arc::default(), ..self }
    }

    /// Logs in before the first request, and again when the server has forgotten that.
    #[must_use]
    pub fn with_login(self, login: Login) -> Self {
        Connection { login: Some(login), live: Arc::default(), ..self }
    }

    /// Carries out an elector's requests; see [`run`].
    pub async fn run(
        self,
        outputs: UnboundedReceiver<ServiceOutput>,
        deliver: impl Fn(ServiceInput) + Send + Sync + 'static,
    ) {
        let (env, line) = (self.env.clone(), self.line());
        Queue::new(env.clone(), &SERVICE, deliver).run(Etcd { env, line }, outputs).await;
    }

    /// The client of those that run, or a new one.
    fn line(&self) -> Arc<Line> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.upgrade().unwrap_or_else(|| {
            let channel = match self.endpoints.as_slice() {
                [only] if self.restless => Channel::new(channel::Channel::restless(self.env.clone(), only.clone())),
                _ => channel_to(self.env.clone(), self.endpoints.to_vec()),
            };
            let made = Arc::new(Line { channel, login: self.login.clone(), client: OnceCell::new() });
            *live = Arc::downgrade(&made);
            made
        })
    }
}

struct Etcd<E> {
    env: E,
    line: Arc<Line>,
}

impl<E: Env> Backend for Etcd<E> {
    type Api = Api;

    fn request(&self, request: Request, timeout: u64) -> Boxed<Result<Reply, Failure>> {
        let (env, line) = (self.env.clone(), self.line.clone());
        // Boxed on its own: the library's futures are large, and would be moved each time they are wrapped.
        let answer = Box::pin(async move {
            let client = line.client().await.map_err(calls::failure)?;
            calls::request(client, request).await
        });
        Box::pin(async move { within(&env, timeout, answer).await })
    }

    fn stream(&self, request: StreamRequest, stream: Stream<Api>) -> Option<Boxed<Failure>> {
        let (pushes, give) = stream.split();
        let line = self.line.clone();
        Some(Box::pin(async move {
            match line.client().await {
                Ok(client) => calls::stream(client, request, pushes, give).await,
                Err(error) => calls::failure(error),
            }
        }))
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
    client_on(channel_to(env, endpoints), None).await
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

/// Sends nothing unless it is to log in.
async fn client_on(channel: Channel, login: Option<Login>) -> Result<Client, etcd_client::Error> {
    let options = login
        .map(|Login { user, password }| ConnectOptions::new().with_user(user, password).with_auto_token_refresh(true));
    Client::from_channel(etcd_client::Channel::Custom(channel), options).await
}
