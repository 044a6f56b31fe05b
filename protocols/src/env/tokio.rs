//! The real world: tokio's tasks, sockets and timers, the machine's clocks.

use super::{Env, Listener};
use crate::{client::Endpoint, clock::Now, point::Point};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::net::{TcpListener, TcpStream};

/// A process on tokio. Clones share the clocks' origin and the random stream.
#[derive(Clone, Debug)]
pub struct TokioEnv {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    start: Instant,
    random: Mutex<ChaCha8Rng>,
}

impl TokioEnv {
    /// A view of the real world. `seed` starts its random stream: give entropy in production, a constant in tests.
    pub fn new(seed: u64) -> Self {
        let random = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
        TokioEnv { shared: Arc::new(Shared { start: Instant::now(), random }) }
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

/// [`tokio::time::Sleep`], in a box so that it can be moved.
#[derive(Debug)]
pub struct Sleep(Pin<Box<tokio::time::Sleep>>);

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;
    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Env for TokioEnv {
    type Stream = TcpStream;
    type Listener = TcpListener;
    type Sleep = Sleep;
    type Task = Task;

    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Now { mono: self.shared.start.elapsed().as_nanos() as u64, wall: wall.as_nanos() as u64 }
    }

    fn sleep_until(&self, mono: u64) -> Sleep {
        // A deadline too far for the clock to express is never reached.
        let far = Duration::from_secs(60 * 60 * 24 * 365);
        let deadline = self.shared.start.checked_add(Duration::from_nanos(mono));
        let deadline = deadline.unwrap_or_else(|| self.shared.start + far);
        Sleep(Box::pin(tokio::time::sleep_until(deadline.into())))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(tokio::spawn(task).abort_handle())
    }

    fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(task));
    }

    async fn connect(&self, to: &Endpoint) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((to.host.as_str(), to.port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn listen(&self, port: u16) -> io::Result<TcpListener> {
        TcpListener::bind(("127.0.0.1", port)).await
    }

    fn random(&self) -> u64 {
        self.shared.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    async fn point(&self, _: Point) {}
}
