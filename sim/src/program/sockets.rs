//! The sockets of one process, on the world's connections.

use crate::world::{
    disk::program::{Syncing, begin_sync},
    env::SimEnv,
    keepalive::Probing,
    try_with, with,
};
use fencepost_process::{Broken, Event, Op, ROOM};
use protocols::types::{NodeId, SECOND};
use protocols_clients::env::Env;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::{Future, poll_fn},
    net::Ipv4Addr,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// Input/output error.
const EIO: i32 = 5;

/// The address of a node's machine: 10.0.0.1, and so on.
pub fn ip_of(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + u32::from(node.0))
}

#[derive(PartialEq, Eq)]
enum State {
    Opening,
    Open,
    /// The other end has sent everything.
    Ended,
}

struct Socket {
    /// The world's connection, and which end of it this is.
    conn: u32,
    end: u8,
    state: State,
    /// What the process has sent and the connection has not taken yet.
    unsent: VecDeque<u8>,
    /// What the connection has taken, and the process has not been told.
    taken: usize,
    /// How many bytes the process has room for.
    room: usize,
    shut: bool,
    closed: bool,
    /// It leads to the store.
    to_store: bool,
    /// Something has been sent since the other end last answered.
    asked: bool,
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(try_with(|world| world.close(self.conn, self.end)));
    }
}

pub struct Sockets {
    node: NodeId,
    open: BTreeMap<u32, Socket>,
    /// The process's incarnation in the world, by port.
    listening: BTreeMap<u16, u32>,
    accepted: u32,
    /// The world's connections of the process with itself by 127.0.0.1.
    loopback: BTreeSet<u32>,
    /// The process's number on this machine.
    process: u32,
    syncs: Vec<(u32, Syncing)>,
    /// What happened already, and the process has not heard of yet.
    due: Vec<Event>,
}

impl Sockets {
    pub fn new(node: NodeId) -> Sockets {
        Sockets {
            node,
            open: BTreeMap::new(),
            listening: BTreeMap::new(),
            accepted: 0,
            loopback: BTreeSet::new(),
            process: 0,
            syncs: Vec::new(),
            due: Vec::new(),
        }
    }

    pub fn is_process(&mut self, process: u32) {
        self.process = process;
    }

    /// What happens next, or nothing if the process's clock shows `until` first.
    pub async fn next(&mut self, env: SimEnv, until: Option<u64>) -> Vec<Event> {
        let mut over = pin!(async move {
            match until {
                Some(until) => env.sleep_until(until).await,
                None => std::future::pending().await,
            }
        });
        let node = self.node;
        let steps = with(|world| world.clock_steps(node, Waker::noop()));
        poll_fn(|context| {
            self.look(context.waker());
            let is_over = over.as_mut().poll(context).is_ready();
            let is_stepped = with(|world| world.clock_steps(node, context.waker())) != steps;
            match is_over || is_stepped || !self.due.is_empty() {
                true => Poll::Ready(std::mem::take(&mut self.due)),
                false => Poll::Pending,
            }
        })
        .await
    }

    pub fn carry_out(&mut self, op: Op) {
        match op {
            Op::Listen { port, .. } => {
                if let Some(starts) = with(|world| world.listen(self.node, port)) {
                    self.listening.insert(port, starts);
                }
            }
            Op::Unlisten { port, .. } => {
                if let Some(starts) = self.listening.remove(&port) {
                    drop(with(|world| world.stop_listening(self.node, port, starts)));
                }
            }
            Op::Connect { conn, from_port, to, port } => self.connect(conn, from_port, to, port),
            Op::Resolve { query, name } => {
                let ips = match name.as_str() {
                    "localhost" => vec![Ipv4Addr::LOCALHOST],
                    name => with(|world| world.named(name)).into_iter().map(ip_of).collect(),
                };
                self.due.push(Event::Resolved { query, ips });
            }
            Op::Send { conn, bytes } => {
                let node = self.node;
                self.on(conn, |socket| {
                    if socket.to_store && !std::mem::replace(&mut socket.asked, true) {
                        with(|world| world.begins_request(node, socket.conn));
                    }
                    socket.unsent.extend(bytes);
                });
            }
            Op::Moved { file, from_folder, from, to_folder, to } => {
                with(|world| world.move_file(self.node, file, (from_folder, from), (to_folder, to)));
            }
            Op::Cut { file, length } => with(|world| world.cut_file(self.node, file, length)),
            Op::Sync { sync, descriptor, from, to } => {
                self.syncs.push((sync, begin_sync(self.node, (self.process, descriptor), from..to)));
            }
            Op::Consumed { conn, bytes } => self.on(conn, |socket| socket.room += bytes as usize),
            Op::Shutdown { conn } => self.on(conn, |socket| socket.shut = true),
            Op::Close { conn, reset: true } => {
                if let Some(socket) = self.open.remove(&conn) {
                    drop(with(|world| world.abort(socket.conn, socket.end)));
                }
            }
            Op::Close { conn, reset: false } => self.on(conn, |socket| socket.closed = true),
            Op::KeepAlive { conn, idle_s, interval_s, probes } => {
                let [idle, interval] = [idle_s, interval_s].map(|seconds| u64::from(seconds) * SECOND);
                let probing = Probing { idle, interval, count: probes.into(), user_timeout: None };
                // The world probes from connecting ends only.
                if let Some(socket) = self.open.get(&conn).filter(|socket| probes > 0 && socket.end == 0) {
                    with(|world| world.keep_alive_with(socket.conn, probing));
                }
            }
            // Whoever sends into silence waits for keep-alive, or for its own patience.
            Op::UserTimeout { .. } | Op::Say { .. } | Op::Refused { .. } => {}
        }
    }

    /// Does this, and lets leave what can: it happens at this instant.
    fn on(&mut self, conn: u32, work: impl FnOnce(&mut Socket)) {
        let Some(socket) = self.open.get_mut(&conn) else { return };
        work(socket);
        if !socket.flush(conn, Waker::noop(), &mut self.due) {
            self.open.remove(&conn);
        }
    }

    fn connect(&mut self, conn: u32, from_port: u16, to: Ipv4Addr, port: u16) {
        let nodes = with(|world| world.nodes());
        let by_loopback = to.is_loopback();
        let to = match by_loopback {
            true => Some(self.node),
            false => (0..nodes).map(NodeId).find(|node| ip_of(*node) == to),
        };
        let Some(to) = to else {
            return self.due.push(Event::Broken { conn, why: Broken::HostUnreachable });
        };
        let number = with(|world| {
            let number = world.connect(self.node, to, port);
            world.set_from_port(number, from_port);
            number
        });
        if by_loopback {
            self.loopback.insert(number);
        }
        let mut socket = Socket::new(number, 0, State::Opening);
        socket.to_store = with(|world| world.is_store(to));
        self.open.insert(conn, socket);
    }

    /// Looks at everything that the process waits for.
    fn look(&mut self, waker: &Waker) {
        let due = &mut self.due;
        self.syncs.retain_mut(|(sync, syncing)| {
            let Poll::Ready(result) = syncing.as_mut().poll(&mut Context::from_waker(waker)) else { return true };
            let error = result.err().map_or(0, |error| error.raw_os_error().unwrap_or(EIO));
            due.push(Event::Synced { sync: *sync, error });
            false
        });
        for port in self.listening.keys() {
            while let Some(Ok(number)) = with(|world| world.poll_accept(self.node, *port, waker)) {
                let conn = 2 * self.accepted + 1;
                self.accepted += 1;
                let (from, from_port) = with(|world| world.other_end(number, 1));
                let (at, from) = match self.loopback.remove(&number) {
                    true => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
                    false => (ip_of(self.node), ip_of(from)),
                };
                self.due.push(Event::Accepted { conn, at, port: *port, from, from_port });
                self.open.insert(conn, Socket::new(number, 1, State::Open));
            }
        }
        let due = &mut self.due;
        self.open.retain(|conn, socket| {
            socket.open(*conn, waker, due) && socket.flush(*conn, waker, due) && socket.receive(*conn, waker, due)
        });
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for (port, starts) in std::mem::take(&mut self.listening) {
            drop(try_with(|world| world.stop_listening(self.node, port, starts)));
        }
    }
}

/// Each step answers whether the connection is still of use.
impl Socket {
    fn new(conn: u32, end: u8, state: State) -> Socket {
        let (unsent, to_store, asked) = (VecDeque::new(), false, false);
        Socket { conn, end, state, unsent, taken: 0, room: ROOM, shut: false, closed: false, to_store, asked }
    }

    fn open(&mut self, conn: u32, waker: &Waker, due: &mut Vec<Event>) -> bool {
        if self.state != State::Opening {
            return true;
        }
        match with(|world| world.poll_connected(self.conn, waker)) {
            None => true,
            Some(Ok(())) => {
                self.state = State::Open;
                due.push(Event::Connected { conn });
                true
            }
            Some(Err(_)) => {
                due.push(Event::Broken { conn, why: Broken::Refused });
                false
            }
        }
    }

    fn flush(&mut self, conn: u32, waker: &Waker, due: &mut Vec<Event>) -> bool {
        if self.state == State::Opening {
            return !self.closed;
        }
        while !self.unsent.is_empty() {
            let bytes = self.unsent.make_contiguous();
            match with(|world| world.poll_write(self.conn, self.end, bytes, waker)) {
                None => return true,
                Some(Ok(taken)) => {
                    self.unsent.drain(..taken);
                    self.taken += taken;
                    // Rarely, since it wakes the process.
                    if self.taken >= ROOM / 4 && !self.closed {
                        due.push(Event::Credit { conn, bytes: std::mem::take(&mut self.taken) as u64 });
                    }
                }
                Some(Err(_)) => return self.broke(conn, due),
            }
        }
        if self.shut {
            with(|world| world.shutdown(self.conn, self.end));
        }
        !self.closed
    }

    fn receive(&mut self, conn: u32, waker: &Waker, due: &mut Vec<Event>) -> bool {
        while self.state == State::Open && self.room > 0 {
            let mut bytes = Vec::new();
            let put = |more: &[u8]| bytes.extend_from_slice(more);
            match with(|world| world.poll_read(self.conn, self.end, self.room, put, waker)) {
                None => break,
                Some(Err(_)) => return self.broke(conn, due),
                Some(Ok(())) if bytes.is_empty() => {
                    self.state = State::Ended;
                    due.push(Event::Eof { conn });
                }
                Some(Ok(())) => {
                    self.room -= bytes.len();
                    self.asked = false;
                    due.push(Event::Bytes { conn, bytes });
                }
            }
        }
        true
    }

    fn broke(&self, conn: u32, due: &mut Vec<Event>) -> bool {
        if !self.closed {
            due.push(Event::Broken { conn, why: Broken::Reset });
        }
        false
    }
}
