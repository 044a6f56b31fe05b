//! The world as I/O shells see it.

use crate::site::Endpoint;
use protocols::{clock::Now, point::Point, types::NodeId};
use std::{future::Future, io, pin::Pin, task::Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// The answer to a keepalive probe on a silent connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// The peer's machine answers, whatever its process does.
    Answers,
    /// The peer's machine does not know the connection.
    Resets,
    /// No answer.
    Silent {
        /// How long the oldest unacknowledged data has been waiting, nanoseconds.
        unacknowledged: Option<u64>,
    },
}

/// One process's view of the world.
pub trait Env: Clone + Send + Sync + 'static {
    /// A connected byte stream. Writes are sent without an explicit flush.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    type Listener: Listener<Stream = Self::Stream>;
    /// A sleep; dropping it cancels.
    type Sleep: Future<Output = ()> + Send + Sync + Unpin + 'static;
    /// Aborts the task when dropped.
    type Task: Send + Sync + 'static;
    type Disk: Disk;

    fn now(&self) -> Now;

    /// Sleeps until the process's monotonic clock shows `mono` nanoseconds.
    fn sleep_until(&self, mono: u64) -> Self::Sleep;

    /// Runs `task` beside the caller until it ends, the process does, or the handle is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Task;

    /// Runs `task` beside the caller until it ends or the process does.
    fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Connects to a listener. Hangs while the peer is silent; callers bound it with [`Env::timeout`].
    ///
    /// # Errors
    /// Refused, or unknown host.
    fn connect(&self, to: &Endpoint) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Like [`Env::connect`], with TCP keepalive: probes after every `every` nanoseconds of silence (whole seconds
    /// where the system counts in them), and resets the connection after nine unanswered probes.
    ///
    /// # Errors
    /// As for [`Env::connect`].
    fn connect_kept_alive(&self, to: &Endpoint, every: u64) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Listens on a port of this process.
    ///
    /// # Errors
    /// The port is taken.
    fn listen(&self, port: u16) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// How the peer's machine would answer a TCP keepalive probe now. Real kernels send the probes themselves, as the
    /// socket's options say, and reset the connection, so a real `Env` has nothing to do here.
    fn peer(&self, _stream: &Self::Stream) -> Peer {
        Peer::Answers
    }

    /// 64 random bits; in the simulation from the node's own stream.
    fn random(&self) -> u64;

    fn disk(&self) -> Self::Disk;

    /// The same process on behalf of one group; with a single group there is nothing to distinguish.
    fn of_group(&self, _group: u16) -> Self {
        self.clone()
    }

    /// Counts an election message by its kind, for reports.
    fn count(&self, _kind: &'static str) {}

    /// Records that this process has durably voted for a candidate in a term and is about to answer.
    fn voted(&self, _candidate: NodeId, _term: u64) {}

    /// Passes a named point, where the simulation may pause the process.
    fn point(&self, point: Point) -> impl Future<Output = ()> + Send;

    /// Sleeps `nanoseconds` of the process's monotonic clock.
    fn sleep(&self, nanoseconds: u64) -> Self::Sleep {
        self.sleep_until(self.now().mono.saturating_add(nanoseconds))
    }

    /// Waits at most `nanoseconds` of the process's monotonic clock for `future`; `None` if they pass first. A future
    /// that is ready exactly at the deadline counts as in time.
    fn timeout<F: Future + Send>(&self, nanoseconds: u64, future: F) -> impl Future<Output = Option<F::Output>> + Send
    where
        F::Output: Send,
    {
        let mut sleep = self.sleep(nanoseconds);
        async move {
            let mut future = std::pin::pin!(future);
            std::future::poll_fn(move |context| {
                if let Poll::Ready(value) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(value));
                }
                Pin::new(&mut sleep).poll(context).map(|()| None)
            })
            .await
        }
    }
}

/// A folder of small files for one process. It outlives the process.
pub trait Disk: Clone + Send + Sync + 'static {
    /// The file's content as last written; `None` if the file does not exist.
    ///
    /// # Errors
    /// Those of the disk.
    fn read(&self, file: &str) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;

    /// Appends to a file, creating it if necessary. Appended bytes survive a crash of the process, but survive a loss
    /// of power only after [`Disk::sync`]; until then any part of them may be lost.
    ///
    /// # Errors
    /// Those of the disk; some of the bytes may have been written.
    fn append(&self, file: &str, bytes: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Makes everything appended to the file durable.
    ///
    /// # Errors
    /// Those of the disk; everything appended since the last success may be lost.
    fn sync(&self, file: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Replaces the file's content atomically and durably.
    ///
    /// # Errors
    /// Those of the disk; the file holds either the old or the new content.
    fn replace(&self, file: &str, bytes: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

pub trait Listener: Send + 'static {
    type Stream;

    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}
