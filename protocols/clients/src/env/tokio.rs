//! The real world: tokio's tasks, sockets and timers, and the machine's clocks.

mod clocks;
mod disk;
mod layers;
mod listening;

use super::world::Env;
use crate::site::Endpoint;
pub use clocks::{Clocks, Sleep};
pub use disk::TokioDisk;
pub use layers::{Accept, Boxed, Io, Stream, Wrap};
pub use listening::Listening;
use protocols::{clock::Now, point::Point};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::{
    fmt,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::net::{TcpListener, TcpStream, lookup_host};

/// Linux's default number of keepalive probes.
const PROBES: u32 = 9;

/// A listener for named points.
pub trait Points: Send + Sync {
    /// Called when the process reaches a point. The process continues once this returns.
    fn passed(&self, point: Point);
}

/// How one process's view of the real world differs from the machine's.
#[derive(Clone, Default)]
pub struct EnvSettings {
    /// Seeds the random stream: entropy in production, a constant in tests.
    pub seed: u64,
    /// The process's own clocks; by default the machine's.
    pub clocks: Option<Clocks>,
    /// Applied to every connection that is dialled.
    pub wrap: Option<Arc<dyn Wrap>>,
    /// Applied to every connection that is accepted.
    pub accept: Option<Arc<dyn Accept>>,
    /// Is told of named points.
    pub points: Option<Arc<dyn Points>>,
    /// The address that listeners bind to; loopback by default.
    pub listen_on: Option<IpAddr>,
    /// Pairs of an address and the one to connect to instead.
    pub routes: Vec<(Endpoint, Endpoint)>,
    /// Where the process keeps its files; without it, it cannot keep any.
    pub folder: Option<PathBuf>,
}

/// A process on tokio. Clones share the clocks' origin and the random stream.
#[derive(Clone)]
pub struct TokioEnv {
    shared: Arc<Shared>,
}

struct Shared {
    clocks: Clocks,
    settings: EnvSettings,
    random: Mutex<ChaCha8Rng>,
}

impl TokioEnv {
    /// A view of the real world. `seed` seeds its random stream: entropy in production, a constant in tests.
    pub fn new(seed: u64) -> Self {
        TokioEnv::with(EnvSettings { seed, ..EnvSettings::default() })
    }

    pub fn with(settings: EnvSettings) -> Self {
        let random = Mutex::new(ChaCha8Rng::seed_from_u64(settings.seed));
        let clocks = settings.clocks.clone().unwrap_or_else(|| Clocks::new(0, 0));
        TokioEnv { shared: Arc::new(Shared { clocks, settings, random }) }
    }

    /// Tells whoever listens that the process has reached a point.
    pub fn pass(&self, point: Point) {
        if let Some(points) = &self.shared.settings.points {
            points.passed(point);
        }
    }

    /// Where to connect to instead of `to`, if configured.
    fn route<'a>(&'a self, to: &'a Endpoint) -> &'a Endpoint {
        let routes = &self.shared.settings.routes;
        routes.iter().find(|(address, _)| address == to).map_or(to, |(_, instead)| instead)
    }

    /// Begins with any of the host's addresses: the next attempt may find another member behind the same name.
    async fn dial(&self, to: &Endpoint) -> io::Result<TcpStream> {
        let mut addresses: Vec<_> = lookup_host((to.host.as_str(), to.port)).await?.collect();
        if let count @ 2.. = addresses.len() {
            addresses.rotate_left((self.random() % count as u64) as usize);
        }
        TcpStream::connect(&addresses[..]).await
    }

    /// Wraps the connection as configured.
    async fn wrapped(&self, stream: TcpStream, to: &Endpoint) -> io::Result<Stream> {
        stream.set_nodelay(true)?;
        match &self.shared.settings.wrap {
            Some(wrap) => wrap.wrap(stream, to).await,
            None => Ok(Box::new(stream)),
        }
    }
}

impl fmt::Debug for TokioEnv {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("TokioEnv")
    }
}

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct Task(tokio::task::AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Env for TokioEnv {
    type Stream = Stream;
    type Listener = Listening;
    type Sleep = Sleep;
    type Task = Task;
    type Disk = TokioDisk;

    fn now(&self) -> Now {
        self.shared.clocks.now()
    }

    fn sleep_until(&self, mono: u64) -> Sleep {
        self.shared.clocks.sleep_until(mono)
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
        self.wrapped(self.dial(to).await?, to).await
    }

    async fn connect_kept_alive(&self, to: &Endpoint, every: u64) -> io::Result<Stream> {
        let to = self.route(to);
        let stream = self.dial(to).await?;
        let every = Duration::from_nanos(every);
        let probes = socket2::TcpKeepalive::new().with_time(every).with_interval(every).with_retries(PROBES);
        socket2::SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        self.wrapped(stream, to).await
    }

    async fn listen(&self, port: u16) -> io::Result<Listening> {
        let address = self.shared.settings.listen_on.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let listener = TcpListener::bind((address, port)).await?;
        Ok(Listening::new(listener, self.shared.settings.accept.clone()))
    }

    fn random(&self) -> u64 {
        self.shared.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    async fn point(&self, point: Point) {
        self.pass(point);
    }
}
