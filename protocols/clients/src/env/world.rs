//! The world as I/O shells know it.

use crate::site::Endpoint;
use protocols::{clock::Now, point::Point, types::NodeId};
use std::{future::Future, io, pin::Pin, task::Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// What a machine gets when it asks the other end of a silent connection for a sign of life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// The machine there answers, whatever its process does.
    Answers,
    /// The machine there knows nothing of the connection.
    Resets,
    /// Nothing comes.
    Silent {
        /// For how long something that was sent has not been acknowledged, nanoseconds.
        unacknowledged: Option<u64>,
    },
}

/// One process's view of the world.
pub trait Env: Clone + Send + Sync + 'static {
    /// A connected byte stream. Writes are sent without an explicit flush.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// A listening socket.
    type Listener: Listener<Stream = Self::Stream>;
    /// A sleep; dropping it cancels.
    type Sleep: Future<Output = ()> + Send + Sync + Unpin + 'static;
    /// Aborts the task when dropped.
    type Task: Send + Sync + 'static;
    /// The process's own folder.
    type Disk: Disk;

    /// The process's clocks.
    fn now(&self) -> Now;

    /// Sleeps until the process's monotonic clock shows `mono` nanoseconds.
    fn sleep_until(&self, mono: u64) -> Self::Sleep;

    /// Runs `task` beside the caller until it ends, the process does, or the handle is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Task;

    /// Runs `task` beside the caller until it ends or the process does.
    fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Connects to a listener. Hangs while the peer is silent: callers bound it with [`Env::timeout`].
    ///
    /// # Errors
    /// Refused, or unknown host.
    fn connect(&self, to: &Endpoint) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The same, and has TCP probe the connection after every so many nanoseconds of silence, in whole seconds where the
    /// system counts in them; after nine probes without an answer it is reset.
    ///
    /// # Errors
    /// As for [`Env::connect`].
    fn connect_kept_alive(&self, to: &Endpoint, every: u64) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Listens on a port of this process.
    ///
    /// # Errors
    /// The port is taken.
    fn listen(&self, port: u16) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// What the other end's machine would say to a TCP keepalive probe now. Kernels ask by themselves, as their sockets' options
    /// say, and give connections up: where there is one, there is nothing to ask.
    fn peer(&self, _stream: &Self::Stream) -> Peer {
        Peer::Answers
    }

    /// 64 random bits; in the simulation from the node's own stream.
    fn random(&self) -> u64;

    /// The process's own folder on disk.
    fn disk(&self) -> Self::Disk;

    /// The same process, seen by what it does for a group; whoever has one group need not tell them apart.
    fn of_group(&self, _group: u16) -> Self {
        self.clone()
    }

    /// Counts a message of the election by its kind, for reports.
    fn count(&self, _kind: &'static str) {}

    /// This process has voted, durably, for a candidate in that term, and is about to say so.
    fn voted(&self, _candidate: NodeId, _term: u64) {}

    /// Passes a named point; in the simulation the process may be paused in here.
    fn point(&self, point: Point) -> impl Future<Output = ()> + Send;

    /// Sleeps `nanoseconds` of the process's monotonic clock.
    fn sleep(&self, nanoseconds: u64) -> Self::Sleep {
        self.sleep_until(self.now().mono.saturating_add(nanoseconds))
    }

    /// Waits for `future` at most `nanoseconds` of the process's monotonic clock; `None` when they have passed. A future
    /// that is ready when the time is up counts as in time.
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

/// A folder of small files, for the process alone. It survives the process.
pub trait Disk: Clone + Send + Sync + 'static {
    /// The file's content as last written; `None` when there is none.
    ///
    /// # Errors
    /// The disk's.
    fn read(&self, file: &str) -> impl Future<Output = io::Result<Option<Vec<u8>>>> + Send;

    /// Appends to a file, which it makes. What was appended survives a crash of the process, but a loss of power only
    /// after [`Disk::sync`]; until then any part of it may be lost.
    ///
    /// # Errors
    /// The disk's; part of the bytes may have been written.
    fn append(&self, file: &str, bytes: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Makes everything that was appended to the file durable.
    ///
    /// # Errors
    /// The disk's: nothing is known of what was appended since the last success.
    fn sync(&self, file: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Replaces the file's content, atomically and durably.
    ///
    /// # Errors
    /// The disk's: the file is as before, or replaced.
    fn replace(&self, file: &str, bytes: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

/// A listening socket.
pub trait Listener: Send + 'static {
    /// What it accepts.
    type Stream;

    /// The next connection.
    ///
    /// # Errors
    /// The socket is gone.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}
