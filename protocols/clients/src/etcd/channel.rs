//! An HTTP/2 channel that redials, with every timer on the process's own clock.
//!
//! tonic's own `Endpoint` sets its timers on tokio's clock, which is not the node's and which no simulation can skew or
//! pause. So the genuine etcd client runs on this channel over `hyper`. The simulated etcd also uses the shims for
//! `hyper`'s executor and timer.

use crate::{env::Env, site::Endpoint};
use hyper::client::conn::http2;
use hyper_util::rt::TokioIo;
use protocols::types::{MILLISECOND, SECOND};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;
use tonic::body::Body;
use tower::{BoxError, Service};

/// The timeout of a dial, nanoseconds.
pub const CONNECT_TIMEOUT: u64 = SECOND;
/// How long a connection may be silent before it is pinged. It must not be shorter: a real etcd closes connections that
/// ping more often than every 5 s (`--grpc-keepalive-min-time`); one that pinged every 2 s lived for 9 s.
const PING_AFTER: Duration = Duration::from_millis(5_000);
/// How long the answer to a ping may take before the connection is closed.
const PING_TIMEOUT: Duration = Duration::from_millis(2_000);

/// Runs `hyper`'s background work as tasks of the process.
#[derive(Clone, Debug)]
pub struct EnvExecutor<E>(pub E);

// `hyper` requires `Unpin`, and nothing in here is pinned.
impl<E> Unpin for EnvExecutor<E> {}

impl<E: Env, F> hyper::rt::Executor<F> for EnvExecutor<E>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn_detached(async move {
            future.await;
        });
    }
}

/// `hyper`'s timer on the process's monotonic clock.
#[derive(Clone, Debug)]
pub struct EnvTimer<E>(pub E);

impl<E: Env> EnvTimer<E> {
    /// `hyper` counts in `Instant`s, which only the standard library can create. One of them serves as the zero of
    /// every process's clock; its value never matters, only the offset from it.
    fn zero() -> Instant {
        static ZERO: OnceLock<Instant> = OnceLock::new();
        *ZERO.get_or_init(Instant::now)
    }
}

impl<E: Env> hyper::rt::Timer for EnvTimer<E> {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(EnvSleep::<E>(self.0.sleep(duration.as_nanos() as u64)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        let mono = deadline.saturating_duration_since(Self::zero()).as_nanos() as u64;
        Box::pin(EnvSleep::<E>(self.0.sleep_until(mono)))
    }

    fn now(&self) -> Instant {
        Self::zero() + Duration::from_nanos(self.0.now().mono)
    }
}

struct EnvSleep<E: Env>(E::Sleep);

impl<E: Env> Future for EnvSleep<E> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<E: Env> hyper::rt::Sleep for EnvSleep<E> {}

pub(super) type Sender = http2::SendRequest<Body>;

pub(super) struct Opened<F> {
    pub(super) sender: Sender,
    /// Drives the connection until it ends.
    pub(super) ended: F,
}

/// Dials and sets up HTTP/2.
pub(super) async fn open<E: Env>(
    env: &E,
    endpoint: &Endpoint,
) -> Result<Opened<impl Future<Output = ()> + Send + use<E>>, BoxError> {
    let stream = env.timeout(CONNECT_TIMEOUT, env.connect(endpoint)).await;
    let stream = stream.ok_or_else(|| format!("no connection within {} ms", CONNECT_TIMEOUT / MILLISECOND))??;
    let mut builder = http2::Builder::new(EnvExecutor(env.clone()));
    builder.timer(EnvTimer(env.clone()));
    // Without pings, the client of a server that lost power would never redial.
    builder.keep_alive_interval(PING_AFTER).keep_alive_timeout(PING_TIMEOUT).keep_alive_while_idle(true);
    let (sender, driver) = builder.handshake(TokioIo::new(stream)).await?;
    // Requests on the connection learn how it ended.
    let ended = async move { drop(driver.await) };
    Ok(Opened { sender, ended })
}

/// The request, addressed to that member.
pub(super) fn addressed(request: http::Request<Body>, to: &Endpoint) -> Result<http::Request<Body>, BoxError> {
    let (mut head, body) = request.into_parts();
    let mut uri = head.uri.into_parts();
    uri.scheme = Some(http::uri::Scheme::HTTP);
    uri.authority = Some(format!("{}:{}", to.host, to.port).parse()?);
    head.uri = http::Uri::from_parts(uri)?;
    Ok(http::Request::from_parts(head, body))
}

/// A single connection, dialled when needed and redialled after it breaks. Clones share it.
pub struct Channel<E: Env> {
    shared: Arc<Shared<E>>,
}

impl<E: Env> Clone for Channel<E> {
    fn clone(&self) -> Self {
        Channel { shared: self.shared.clone() }
    }
}

struct Shared<E: Env> {
    env: E,
    endpoint: Endpoint,
    connection: Mutex<Option<Connection<E>>>,
    /// How many requests in a row may stay without an answer on one connection.
    patience: Option<u32>,
}

/// How long a request has waited that counts as unanswered if it is given up, nanoseconds. An election also gives up what it
/// does not need any more.
const SILENT: u64 = 500 * MILLISECOND;

/// A request that counts as unanswered if it is given up late.
struct Unanswered<E: Env> {
    env: E,
    sent: u64,
    /// Whether the server has answered with what was asked; `None` until it answers.
    served: Option<bool>,
    count: Arc<AtomicU32>,
}

impl<E: Env> Drop for Unanswered<E> {
    fn drop(&mut self) {
        let late = || self.env.now().mono.saturating_sub(self.sent) >= SILENT;
        if self.served == Some(true) {
            self.count.store(0, Ordering::Relaxed);
        } else if self.served == Some(false) || late() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// gRPC's code of a server that cannot answer now, as of a member of etcd that knows no leader.
const UNAVAILABLE: &str = "14";

struct Connection<E: Env> {
    sender: Sender,
    /// Requests in a row without an answer on this connection.
    unanswered: Arc<AtomicU32>,
    /// Drives the connection; dropping it aborts that task.
    _driver: E::Task,
}

impl<E: Env> Channel<E> {
    /// A channel to `endpoint`; nothing is dialled yet.
    pub fn new(env: E, endpoint: Endpoint) -> Self {
        Channel::with(env, endpoint, None)
    }

    /// The same, which redials after two requests in a row without an answer: behind one name may be several members,
    /// and one that is cut off from the others still answers pings.
    pub fn restless(env: E, endpoint: Endpoint) -> Self {
        Channel::with(env, endpoint, Some(2))
    }

    fn with(env: E, endpoint: Endpoint, patience: Option<u32>) -> Self {
        Channel { shared: Arc::new(Shared { env, endpoint, connection: Mutex::new(None), patience }) }
    }
}

impl<E: Env> Shared<E> {
    /// The open connection's sender; dials if there is none.
    async fn sender(&self) -> Result<(Sender, Arc<AtomicU32>), BoxError> {
        let mut connection = self.connection.lock().await;
        let silent =
            |c: &Connection<E>| self.patience.is_some_and(|patience| c.unanswered.load(Ordering::Relaxed) >= patience);
        if let Some(open) = connection.as_ref().filter(|c| !c.sender.is_closed() && !silent(c)) {
            return Ok((open.sender.clone(), open.unanswered.clone()));
        }
        *connection = None;
        let Opened { sender, ended } = open(&self.env, &self.endpoint).await?;
        let driver = self.env.spawn(ended);
        let unanswered = Arc::<AtomicU32>::default();
        *connection = Some(Connection { sender: sender.clone(), unanswered: unanswered.clone(), _driver: driver });
        Ok((sender, unanswered))
    }

    async fn call(&self, request: http::Request<Body>) -> Result<http::Response<Body>, BoxError> {
        let request = addressed(request, &self.endpoint)?;
        let (mut sender, count) = self.sender().await?;
        let mut asked = Unanswered { env: self.env.clone(), sent: self.env.now().mono, served: None, count };
        sender.ready().await?;
        let answer = sender.send_request(request).await?;
        asked.served = Some(answer.headers().get("grpc-status").is_none_or(|status| status != UNAVAILABLE));
        Ok(answer.map(Body::new))
    }
}

impl<E: Env> Service<http::Request<Body>> for Channel<E> {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let shared = self.shared.clone();
        Box::pin(async move { shared.call(request).await })
    }
}
