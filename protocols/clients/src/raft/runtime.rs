//! openraft's asynchronous runtime on an [`Env`]: the node's monotonic clock, the node's random stream, the process's
//! tasks.
//!
//! openraft calls its runtime through functions without a receiver, so the current process is a thread-local, set while
//! one of its futures is polled and restored afterwards, as with task-locals. Every future that calls into openraft
//! must therefore run in a [`Scope`]. Channels and locks are tokio's, which depend neither on time nor on a scheduler.

use crate::env::Env;
use openraft::{AsyncRuntime, OptionalSend};
use openraft_rt_tokio::{TokioMpsc, TokioMutex, TokioOneshot, TokioWatch};
use std::{
    cell::RefCell,
    convert::Infallible,
    fmt,
    future::Future,
    ops::{Add, AddAssign, Sub, SubAssign},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};
use tokio::sync::oneshot;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What openraft needs of an [`Env`], with its type erased.
trait Process: Send + Sync {
    fn mono(&self) -> u64;
    fn random(&self) -> u64;
    fn sleep_until(&self, mono: u64) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>>;
    fn spawn(&self, task: Task);
}

impl<E: Env> Process for E {
    fn mono(&self) -> u64 {
        self.now().mono
    }
    fn random(&self) -> u64 {
        Env::random(self)
    }
    fn sleep_until(&self, mono: u64) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
        Box::pin(Env::sleep_until(self, mono))
    }
    fn spawn(&self, task: Task) {
        self.spawn_detached(task);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Process>>> = const { RefCell::new(None) };
}

/// The process whose future is being polled.
fn current() -> Arc<dyn Process> {
    CURRENT.with(|current| current.borrow().clone()).expect("openraft runs only inside a scope")
}

/// Restores the previous process when dropped.
struct Entered(Option<Arc<dyn Process>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// A process as openraft's futures see it.
#[derive(Clone)]
pub struct Scope(Arc<dyn Process>);

impl Scope {
    pub fn new(env: impl Env) -> Scope {
        Scope(Arc::new(env))
    }

    /// Wraps `future`, which may then call into openraft. What openraft spawns from it gets the same scope.
    pub fn run<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped { scope: self.clone(), future: Box::pin(future) }
    }

    /// Calls `work` as if from a future of this process.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = Entered(CURRENT.with(|current| current.replace(Some(self.0.clone()))));
        work()
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Scope")
    }
}

/// A future that runs in a process's scope.
#[derive(Debug)]
pub struct Scoped<F> {
    scope: Scope,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let scope = self.scope.clone();
        scope.enter(|| self.future.as_mut().poll(context))
    }
}

/// A reading of the node's monotonic clock, nanoseconds. A lease that openraft keeps drifts with this clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(pub u64);

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(nanoseconds(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(nanoseconds(duration)))
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl openraft::Instant for Instant {
    fn now() -> Instant {
        Instant(current().mono())
    }
}

/// A task ended without a result: it panicked, or its process is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the task ended without a result")
    }
}

/// The result of a spawned task. Dropping it does not stop the task.
#[derive(Debug)]
pub struct JoinHandle<T>(oneshot::Receiver<T>);

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, Gone>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, Gone>> {
        Pin::new(&mut self.0).poll(context).map_err(|_| Gone)
    }
}

/// A sleep on the node's monotonic clock.
pub struct Sleep(Pin<Box<dyn Future<Output = ()> + Send + Sync>>);

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }
}

/// The deadline has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

/// A future with a deadline. One that is ready exactly at the deadline counts as in time.
pub struct Timeout<F> {
    future: Pin<Box<F>>,
    sleep: Sleep,
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(value) = self.future.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        Pin::new(&mut self.sleep).poll(context).map(|()| Err(Elapsed))
    }
}

/// The node's own random stream.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl rand::TryRng for Random {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((current().random() >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(current().random())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&current().random().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// Wakes the thread that [`Runtime::block_on`] has parked.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[derive(Debug)]
pub struct Runtime;

impl AsyncRuntime for Runtime {
    type JoinError = Gone;
    type JoinHandle<T: OptionalSend + 'static> = JoinHandle<T>;
    type Sleep = Sleep;
    type Instant = Instant;
    type TimeoutError = Elapsed;
    type Timeout<R, T: Future<Output = R> + OptionalSend> = Timeout<T>;
    type ThreadLocalRng = Random;
    type Mpsc = TokioMpsc;
    type Watch = TokioWatch;
    type Oneshot = TokioOneshot;
    type Mutex<T: OptionalSend + 'static> = TokioMutex<T>;

    fn spawn<T>(future: T) -> JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        let (result, handle) = oneshot::channel();
        let process = current();
        let task = async move { drop(result.send(future.await)) };
        process.spawn(Box::pin(Scope(process.clone()).run(task)));
        JoinHandle(handle)
    }

    fn sleep(duration: Duration) -> Sleep {
        let process = current();
        Sleep(process.sleep_until(process.mono().saturating_add(nanoseconds(duration))))
    }

    fn sleep_until(deadline: Instant) -> Sleep {
        Sleep(current().sleep_until(deadline.0))
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(duration: Duration, future: F) -> Timeout<F> {
        Timeout { future: Box::pin(future), sleep: Self::sleep(duration) }
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(deadline: Instant, future: F) -> Timeout<F> {
        Timeout { future: Box::pin(future), sleep: Self::sleep_until(deadline) }
    }

    fn is_panic(_: &Gone) -> bool {
        // Only a panic matters: a process that is gone asks nothing.
        true
    }

    fn thread_rng() -> Random {
        Random
    }

    fn new(_: usize) -> Self {
        Runtime
    }

    // Only openraft's own test suites call this; elsewhere the scope's process runs the tasks.
    fn block_on<F: Future<Output = T>, T>(&mut self, future: F) -> T {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut future = std::pin::pin!(future);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return value;
            }
            std::thread::park();
        }
    }

    async fn spawn_blocking<F, T>(work: F) -> Result<T, std::io::Error>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // A simulation has no threads, and `work` does not block here.
        Ok(work())
    }
}
