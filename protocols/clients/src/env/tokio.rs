//! The real world: tokio's tasks, sockets and timers, the machine's clocks.

mod disk;

use super::world::{Env, Listener};
use crate::site::Endpoint;
pub use disk::TokioDisk;
use protocols::{clock::Now, point::Point};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::{
    fmt,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};

/// Linux' own number of keepalive probes.
const PROBES: u32 = 9;

/// A byte stream of any kind: plain TCP, or TLS over it.
pub trait Io: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Io for T {}

/// A connected byte stream.
pub type Stream = Box<dyn Io>;

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What lies between TCP and its user.
pub trait Wrap: Send + Sync {
    /// Makes a stream to `to` out of a connection to it.
    ///
    /// # Errors
    /// The handshake failed.
    fn wrap<'a>(&'a self, stream: TcpStream, to: &'a Endpoint) -> Boxed<'a, io::Result<Stream>>;
}

/// Who wants to know of named points.
pub trait Points: Send + Sync {
    /// A point is passed; what passes it goes on when this returns.
    fn passed(&self, point: Point);
}

/// What makes one process's view of the real world differ from the machine's.
#[derive(Clone, Default)]
pub struct EnvSettings {
    /// Starts the random stream: give entropy in production, a constant in tests.
    pub seed: u64,
    /// How far the wall clock is ahead of the machine's, milliseconds.
    pub wall_offset_ms: i64,
    /// How much faster than the machine's both clocks run, parts per million; above −1,000,000.
    pub rate_ppm: i64,
    /// What is done to every connection that is made.
    pub wrap: Option<Arc<dyn Wrap>>,
    /// Who is told of named points.
    pub points: Option<Arc<dyn Points>>,
    /// The address that listeners are bound to; loopback when it is not given.
    pub listen_on: Option<IpAddr>,
    /// Where to connect to instead of to an address.
    pub routes: Vec<(Endpoint, Endpoint)>,
    /// Where the process keeps its files; without it nothing can be kept.
    pub folder: Option<PathBuf>,
}

/// A process on tokio. Clones share the clocks' origin and the random stream.
#[derive(Clone)]
pub struct TokioEnv {
    shared: Arc<Shared>,
}

struct Shared {
    start: Instant,
    settings: EnvSettings,
    random: Mutex<ChaCha8Rng>,
}

impl TokioEnv {
    /// A view of the real world. `seed` starts its random stream: give entropy in production, a constant in tests.
    pub fn new(seed: u64) -> Self {
        TokioEnv::with(EnvSettings { seed, ..EnvSettings::default() })
    }

    /// A view of the real world through `settings`.
    pub fn with(settings: EnvSettings) -> Self {
        let random = Mutex::new(ChaCha8Rng::seed_from_u64(settings.seed));
        TokioEnv { shared: Arc::new(Shared { start: Instant::now(), settings, random }) }
    }

    /// Where to connect to instead, if that is configured.
    fn route<'a>(&'a self, to: &'a Endpoint) -> &'a Endpoint {
        let routes = &self.shared.settings.routes;
        routes.iter().find(|(address, _)| address == to).map_or(to, |(_, instead)| instead)
    }

    /// The connection with what lies between it and its user.
    async fn wrapped(&self, stream: TcpStream, to: &Endpoint) -> io::Result<Stream> {
        stream.set_nodelay(true)?;
        match &self.shared.settings.wrap {
            Some(wrap) => wrap.wrap(stream, to).await,
            None => Ok(Box::new(stream)),
        }
    }

    /// Nanoseconds that have passed by this process's clocks while the machine's showed `elapsed`.
    fn own(&self, elapsed: Duration) -> u64 {
        let elapsed = elapsed.as_nanos() as i128;
        (elapsed + elapsed * i128::from(self.shared.settings.rate_ppm) / 1_000_000) as u64
    }

    /// What the machine's clock will show when this process's shows `mono`.
    fn machine(&self, mono: u64) -> Duration {
        let rate = (1_000_000 + i128::from(self.shared.settings.rate_ppm)).max(1);
        let elapsed = (i128::from(mono) * 1_000_000 + rate - 1) / rate;
        Duration::from_nanos(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for TokioEnv {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("TokioEnv")
    }
}

/// Nanoseconds since the Unix epoch by the machine's clock.
fn machine_wall() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as i128
}

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct Task(tokio::task::AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// [`tokio::time::Sleep`], in a box so that it can be moved.
#[derive(Debug)]
pub struct Sleep(Pin<Box<tokio::time::Sleep>>);

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Listening(TcpListener);

impl Listening {
    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Listener for Listening {
    type Stream = Stream;
    async fn accept(&mut self) -> io::Result<Stream> {
        let (stream, _) = self.0.accept().await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

impl Env for TokioEnv {
    type Stream = Stream;
    type Listener = Listening;
    type Sleep = Sleep;
    type Task = Task;
    type Disk = TokioDisk;

    fn now(&self) -> Now {
        let Shared { start, settings, .. } = &*self.shared;
        let mono = self.own(start.elapsed());
        // The machine's wall clock may be stepped, and this one then is; a rate of its own is added on top.
        let drift =
            i128::from(mono) * i128::from(settings.rate_ppm) / (1_000_000 + i128::from(settings.rate_ppm)).max(1);
        let offset = i128::from(settings.wall_offset_ms) * 1_000_000;
        let wall = (machine_wall() + offset + drift).max(0);
        Now { mono, wall: u64::try_from(wall).unwrap_or(u64::MAX) }
    }

    fn sleep_until(&self, mono: u64) -> Sleep {
        // A deadline too far for the clock to express is never reached.
        let far = Duration::from_secs(60 * 60 * 24 * 365);
        let deadline = self.shared.start.checked_add(self.machine(mono).min(far * 100));
        let deadline = deadline.unwrap_or_else(|| self.shared.start + far);
        Sleep(Box::pin(tokio::time::sleep_until(deadline.into())))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(tokio::spawn(task).abort_handle())
    }

    fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(task));
    }

    fn disk(&self) -> TokioDisk {
        TokioDisk(self.shared.settings.folder.clone())
    }

    async fn connect(&self, to: &Endpoint) -> io::Result<Stream> {
        let to = self.route(to);
        self.wrapped(TcpStream::connect((to.host.as_str(), to.port)).await?, to).await
    }

    async fn connect_kept_alive(&self, to: &Endpoint, every: u64) -> io::Result<Stream> {
        let to = self.route(to);
        let stream = TcpStream::connect((to.host.as_str(), to.port)).await?;
        let every = Duration::from_nanos(every);
        let probes = socket2::TcpKeepalive::new().with_time(every).with_interval(every).with_retries(PROBES);
        socket2::SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        self.wrapped(stream, to).await
    }

    async fn listen(&self, port: u16) -> io::Result<Listening> {
        let address = self.shared.settings.listen_on.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        TcpListener::bind((address, port)).await.map(Listening)
    }

    fn random(&self) -> u64 {
        self.shared.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    async fn point(&self, point: Point) {
        if let Some(points) = &self.shared.settings.points {
            points.passed(point);
        }
    }
}
