//! [`Env`] in the simulated world, for clients and servers of coordination services.

use super::{disk::SimDisk, try_with, with};
use crate::host::task::{self, Task};
use protocols::{clock::Now, history::Kind, point::Point, types::NodeId};
use protocols_clients::{
    env::{Env, Listener, Peer},
    site::Endpoint,
};
use rand_core::RngCore;
use std::{
    future::{Future, poll_fn},
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A simulated process's view of the world.
#[derive(Clone, Copy, Debug)]
pub struct SimEnv {
    pub node: NodeId,
    /// The group of points, votes and files.
    pub group: u16,
}

impl SimEnv {
    pub fn new(node: NodeId) -> SimEnv {
        SimEnv { node, group: 0 }
    }
}

impl Env for SimEnv {
    type Stream = SimStream;
    type Listener = SimListener;
    type Sleep = SimSleep;
    type Task = Task;
    type Disk = SimDisk;

    fn now(&self) -> Now {
        with(|world| world.clocks(self.node))
    }

    fn sleep_until(&self, mono: u64) -> SimSleep {
        SimSleep { node: self.node, due: mono, state: SleepState::New }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        task::spawn(task)
    }

    fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        task::spawn_detached(task);
    }

    fn disk(&self) -> SimDisk {
        SimDisk { node: self.node, group: self.group }
    }

    fn count(&self, kind: &'static str) {
        with(|world| world.count(kind));
    }

    fn voted(&self, candidate: NodeId, term: u64) {
        let SimEnv { node: voter, group } = *self;
        with(|world| {
            // A task may still run in the instant of its process's death, but nothing leaves the machine.
            if world.process(voter).up {
                world.record_in(group, Kind::Vote { voter, candidate, token: term });
            }
        });
    }

    async fn connect(&self, to: &Endpoint) -> io::Result<SimStream> {
        let (from, port) = (self.node, to.port);
        let stream = with(|world| {
            let to = world.find(&to.host).ok_or(io::ErrorKind::NotFound)?;
            Ok::<_, io::Error>(SimStream { conn: world.connect(from, to, port), end: 0 })
        })?;
        // Held during the wait, so that an abandoned connect leaves nothing behind.
        poll_fn(|context| match with(|world| world.poll_connected(stream.conn, context.waker())) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        })
        .await?;
        Ok(stream)
    }

    async fn connect_kept_alive(&self, to: &Endpoint, every: u64) -> io::Result<SimStream> {
        let stream = self.connect(to).await?;
        with(|world| world.keep_alive(stream.conn, every));
        Ok(stream)
    }

    async fn listen(&self, port: u16) -> io::Result<SimListener> {
        match with(|world| world.listen(self.node, port)) {
            Some(starts) => Ok(SimListener { node: self.node, port, starts }),
            None => Err(io::ErrorKind::AddrInUse.into()),
        }
    }

    fn peer(&self, stream: &SimStream) -> Peer {
        with(|world| world.peer(stream.conn, stream.end))
    }

    fn of_group(&self, group: u16) -> SimEnv {
        SimEnv { node: self.node, group }
    }

    fn random(&self) -> u64 {
        with(|world| world.process(self.node).random.next_u64())
    }

    async fn point(&self, point: Point) {
        let stops = with(|world| world.pass_point(self.node, self.group, point));
        if stops {
            // If the process was killed here, the task is never woken: it is about to be dropped.
            poll_fn(|context| match with(|world| world.poll_past_point(self.node, context.waker())) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
    }
}

enum SleepState {
    New,
    Waiting(u32),
    Over,
}

/// A sleep on a node's monotonic clock.
pub struct SimSleep {
    node: NodeId,
    due: u64,
    state: SleepState,
}

impl Future for SimSleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let over = match self.state {
            SleepState::Over => true,
            SleepState::Waiting(slot) => with(|world| world.poll_sleep(slot, context.waker())),
            SleepState::New => match with(|world| world.start_sleep(self.node, self.due, context.waker())) {
                Some(slot) => {
                    self.state = SleepState::Waiting(slot);
                    false
                }
                None => {
                    self.state = SleepState::Over;
                    true
                }
            },
        };
        if over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for SimSleep {
    fn drop(&mut self) {
        if let SleepState::Waiting(slot) = self.state {
            // The waker may own a task, so it is dropped once the world is no longer borrowed.
            drop(try_with(|world| world.drop_sleep(slot)));
        }
    }
}

#[derive(Debug)]
pub struct SimListener {
    node: NodeId,
    port: u16,
    /// The incarnation of its process.
    starts: u32,
}

impl Drop for SimListener {
    fn drop(&mut self) {
        drop(try_with(|world| world.stop_listening(self.node, self.port, self.starts)));
    }
}

impl Listener for SimListener {
    type Stream = SimStream;
    async fn accept(&mut self) -> io::Result<SimStream> {
        let stream = poll_fn(|context| match with(|world| world.poll_accept(self.node, self.port, context.waker())) {
            Some(result) => Poll::Ready(result.map(|conn| SimStream { conn, end: 1 })),
            None => Poll::Pending,
        })
        .await?;
        task::serve(stream.client().0);
        Ok(stream)
    }
}

/// One end of a byte stream.
#[derive(Debug)]
pub struct SimStream {
    conn: u32,
    end: u8,
}

impl SimStream {
    /// The node at the other end, and the connection's number.
    pub fn client(&self) -> (NodeId, u32) {
        (with(|world| world.other_end(self.conn, self.end)).0, self.conn)
    }
}

impl AsyncRead for SimStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buf.remaining();
        match with(|w| w.poll_read(self.conn, self.end, room, |bytes| buf.put_slice(bytes), context.waker())) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for SimStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match with(|world| world.poll_write(self.conn, self.end, bytes, context.waker())) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        with(|world| world.shutdown(self.conn, self.end));
        Poll::Ready(Ok(()))
    }
}

impl Drop for SimStream {
    fn drop(&mut self) {
        drop(try_with(|world| world.close(self.conn, self.end)));
    }
}
