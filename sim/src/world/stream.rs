//! Byte streams between processes: FIFO, with back-pressure, half-close and resets, over the same links as datagrams.
//!
//! A crash resets a process's connections as far as packets can travel; power losses and partitions are silence. Data
//! sent into the silence is resent as by TCP, so it arrives some time *after* a partition heals.

mod keepalive;
pub(super) mod segment;
mod sending;
mod sockets;

use super::{World, queue::Event, retransmit::Gap};
use protocols::types::NodeId;
use segment::Segment;
use std::{collections::VecDeque, io, ops::Range, task::Waker};

/// Bytes in flight before a writer has to wait.
pub(super) const WINDOW: usize = 256 * 1024;

/// The ports of connecting ends, by Linux's default.
const EPHEMERAL: Range<u16> = 32_768..60_999;

/// One end of a connection.
#[derive(Default)]
pub struct Side {
    pub node: u16,
    pub starts: u32,
    received: VecDeque<Vec<u8>>,
    offset: usize,
    eof: bool,
    reset: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    in_flight: usize,
    consumed: usize,
    fin_sent: bool,
    closed: bool,
    last_at: u64,
    last_segment: (u64, u32),
    /// The segments lost on the way to this side, and those waiting behind them.
    gap: Gap,
    behind_gap: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Asked,
    Established,
    Refused,
}

pub struct Conn {
    /// The connecting process's connection count, for traces.
    number: u64,
    /// The connecting end's port.
    from_port: u16,
    pub(super) sides: [Side; 2],
    opening: Opening,
    opener: Option<Waker>,
    /// The number of faults that make it hang, and what has arrived meanwhile.
    hangs: u32,
    withheld: Vec<Segment>,
}

pub struct Listening {
    pub starts: u32,
    queue: VecDeque<u32>,
    waker: Option<Waker>,
}

/// A segment that met silence.
pub struct Held {
    since: u64,
    segment: Segment,
}

impl World {
    fn is_open(&self, conn: u32, side: u8) -> bool {
        let side = &self.streams.conns[conn as usize].sides[side as usize];
        let process = &self.processes[side.node as usize];
        process.up && process.starts == side.starts && !side.closed
    }

    fn note_segment(&mut self, what: &'static str, conn: u32, to: u8, size: u64, hash: u64) {
        let (from, node) = self.streams.ends(conn, to);
        let number = self.streams.conns[conn as usize].number;
        let code = what.bytes().fold(0x100, |h: u64, b| h.rotate_left(5) ^ u64::from(b));
        let words = [code | u64::from(from.0) << 40 | u64::from(node.0) << 52, number << 32 | size, hash];
        let processes = &self.processes;
        self.trace.note(self.now, words, || {
            let (from, to) = (&processes[from.index()].name, &processes[node.index()].name);
            format!("{from} > {to} #{number} {what} {size} {hash:016x}")
        });
    }

    /// A segment arrives, or meets silence.
    pub(super) fn segment_arrives(&mut self, segment: Segment) {
        let (conn, to) = segment.conn_and_side();
        let (from, node) = self.streams.ends(conn, to);
        if self.links.see(from, node).is_blocked() || !self.processes[node.index()].powered {
            self.note_segment("silence", conn, to, 0, 0);
            protocols::mark!("world: a segment meets silence");
            // A reset is not resent; a side that missed it learns from its next send.
            if !matches!(segment, Segment::Reset { .. }) {
                self.streams.held.push(Held { since: self.now, segment });
            }
            return;
        }
        let Some(segment) = self.withhold(segment) else { return };
        match segment {
            Segment::Syn { conn, port } => self.syn_arrives(conn, node, port),
            Segment::SynAck { conn } => {
                self.note_segment("accepted", conn, to, 0, 0);
                let conn = &mut self.streams.conns[conn as usize];
                conn.opening = Opening::Established;
                let waker = conn.opener.take();
                self.wake(waker);
            }
            Segment::Data { conn, to, bytes } => self.data_arrives(conn, to, bytes),
            Segment::Fin { conn, to } => {
                self.note_segment("fin", conn, to, 0, 0);
                if !self.is_open(conn, to) {
                    if !self.streams.side(conn, 1 - to).closed {
                        self.send_segment(Segment::Reset { conn, to: 1 - to }, self.now);
                    }
                    return;
                }
                let side = self.streams.side(conn, to);
                side.eof = true;
                let waker = side.reader.take();
                self.wake(waker);
            }
            Segment::Reset { conn, to } => self.reset_arrives(conn, to),
            Segment::Window { conn, to, bytes } => {
                let side = self.streams.side(conn, to);
                side.in_flight = side.in_flight.saturating_sub(bytes);
                let waker = side.writer.take();
                self.wake(waker);
            }
        }
    }

    fn syn_arrives(&mut self, conn: u32, node: NodeId, port: u16) {
        self.note_segment("connect", conn, 1, u64::from(port), 0);
        let process = &self.processes[node.index()];
        let starts = process.starts;
        let up = process.up;
        let waker = match self.streams.listeners.get_mut(&(node, port)) {
            Some(listening) if up && listening.starts == starts => {
                listening.queue.push_back(conn);
                listening.waker.take()
            }
            _ => {
                protocols::mark!("world: a connect is refused");
                self.send_segment(Segment::Reset { conn, to: 0 }, self.now);
                return;
            }
        };
        self.streams.side(conn, 1).starts = starts;
        self.wake(waker);
        // The kernel accepts, even while the process is paused.
        self.send_segment(Segment::SynAck { conn }, self.now);
    }

    fn data_arrives(&mut self, conn: u32, to: u8, bytes: Vec<u8>) {
        self.note_segment("data", conn, to, bytes.len() as u64, xxhash_rust::xxh3::xxh3_64(&bytes));
        self.counts.delivered += 1;
        if !self.is_open(conn, to) {
            self.send_segment(Segment::Reset { conn, to: 1 - to }, self.now);
            return;
        }
        let side = self.streams.side(conn, to);
        side.received.push_back(bytes);
        let waker = side.reader.take();
        self.wake(waker);
    }

    fn reset_arrives(&mut self, conn: u32, to: u8) {
        protocols::mark!("world: a connection is reset");
        self.note_segment("reset", conn, to, 0, 0);
        let conn = &mut self.streams.conns[conn as usize];
        if conn.opening == Opening::Asked {
            conn.opening = Opening::Refused;
        }
        let opener = conn.opener.take();
        let side = &mut conn.sides[to as usize];
        // Data that arrived before can still be read.
        side.reset = true;
        let (reader, writer) = (side.reader.take(), side.writer.take());
        self.wake(reader);
        self.wake(writer);
        self.wake(opener);
    }

    /// A process's ends close with it. After a crash its machine sends resets; after a power loss it does not.
    pub(super) fn close_all(&mut self, node: NodeId, crash: bool) {
        self.drop_connections(node, crash);
        let starts = self.processes[node.index()].starts;
        for conn in 0..self.streams.conns.len() as u32 {
            for end in 0..2u8 {
                let side = self.streams.side(conn, end);
                if side.node == node.0 && side.starts == starts && !side.closed {
                    side.closed = true;
                    side.received = VecDeque::new();
                    if crash && self.streams.conns[conn as usize].opening != Opening::Refused {
                        self.send_segment(Segment::Reset { conn, to: 1 - end }, self.now);
                    }
                }
            }
        }
    }

    /// Starts to connect; poll the result with [`World::poll_connected`].
    pub fn connect(&mut self, from: NodeId, to: NodeId, port: u16) -> u32 {
        let process = &mut self.processes[from.index()];
        process.connections += 1;
        let number = process.connections;
        let mine = Side { node: from.0, starts: process.starts, ..Side::default() };
        let theirs = Side { node: to.0, starts: u32::MAX, ..Side::default() };
        let (opening, sides) = (Opening::Asked, [mine, theirs]);
        let from_port = EPHEMERAL.start + (number % EPHEMERAL.len() as u64) as u16;
        self.streams.conns.push(Conn {
            number,
            from_port,
            sides,
            opening,
            opener: None,
            hangs: 0,
            withheld: Vec::new(),
        });
        let conn = self.streams.conns.len() as u32 - 1;
        self.send_segment(Segment::Syn { conn, port }, self.now);
        conn
    }

    /// Whether the connection is open; `None` if not yet, and then `waker` will be called.
    pub fn poll_connected(&mut self, conn: u32, waker: &Waker) -> Option<io::Result<()>> {
        let conn = &mut self.streams.conns[conn as usize];
        match conn.opening {
            Opening::Asked => {
                conn.opener = Some(waker.clone());
                None
            }
            Opening::Established => Some(Ok(())),
            Opening::Refused => Some(Err(io::ErrorKind::ConnectionRefused.into())),
        }
    }

    /// Listens on a port; returns the process's incarnation, to which the listener belongs. `None` if the port is
    /// taken.
    pub fn listen(&mut self, node: NodeId, port: u16) -> Option<u32> {
        let starts = self.processes[node.index()].starts;
        if self.streams.listeners.get(&(node, port)).is_some_and(|l| l.starts == starts) {
            return None;
        }
        self.streams.listeners.insert((node, port), Listening { starts, queue: VecDeque::new(), waker: None });
        Some(starts)
    }

    /// The listening socket was dropped: the port is free, and connections not yet accepted are reset. Returns a waker,
    /// to be dropped outside the world's borrow.
    pub fn stop_listening(&mut self, node: NodeId, port: u16, starts: u32) -> Option<Waker> {
        let process = &self.processes[node.index()];
        if !process.up || process.starts != starts {
            // The process is gone, and everything is already closed.
            return None;
        }
        let listening = self.streams.listeners.remove(&(node, port))?;
        for conn in listening.queue {
            let side = self.streams.side(conn, 1);
            if !side.closed {
                side.closed = true;
                side.received = VecDeque::new();
                self.send_segment(Segment::Reset { conn, to: 0 }, self.now);
            }
        }
        listening.waker
    }

    /// The next connection to a port; `None` if there is none yet, and then `waker` will be called.
    pub fn poll_accept(&mut self, node: NodeId, port: u16, waker: &Waker) -> Option<io::Result<u32>> {
        let Some(listening) = self.streams.listeners.get_mut(&(node, port)) else {
            return Some(Err(io::ErrorKind::NotConnected.into()));
        };
        let conn = listening.queue.pop_front();
        if conn.is_none() {
            listening.waker = Some(waker.clone());
        }
        conn.map(Ok)
    }

    /// Reads up to `room` bytes by calling `put` with slices; `None` if nothing has arrived, and then `waker` will be
    /// called.
    pub fn poll_read(
        &mut self,
        conn: u32,
        end: u8,
        mut room: usize,
        mut put: impl FnMut(&[u8]),
        waker: &Waker,
    ) -> Option<io::Result<()>> {
        let side = self.streams.side(conn, end);
        let mut read = 0;
        while room > 0 {
            let Some(front) = side.received.front() else { break };
            let take = (front.len() - side.offset).min(room);
            put(&front[side.offset..side.offset + take]);
            (read, room, side.offset) = (read + take, room - take, side.offset + take);
            if side.offset == front.len() {
                side.received.pop_front();
                side.offset = 0;
            }
        }
        if read > 0 {
            side.consumed += read;
            if side.consumed >= WINDOW / 4 && !side.reset {
                let bytes = std::mem::take(&mut side.consumed);
                self.send_segment(Segment::Window { conn, to: 1 - end, bytes }, self.now);
            }
            return Some(Ok(()));
        }
        if side.reset {
            return Some(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if side.eof {
            return Some(Ok(()));
        }
        side.reader = Some(waker.clone());
        None
    }

    /// Writes as much as the window allows; `None` if it is full, and then `waker` will be called.
    pub fn poll_write(&mut self, conn: u32, end: u8, bytes: &[u8], waker: &Waker) -> Option<io::Result<usize>> {
        let now = self.now;
        let side = self.streams.side(conn, end);
        if side.reset {
            return Some(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if side.fin_sent || side.closed {
            return Some(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let take = bytes.len().min(WINDOW.saturating_sub(side.in_flight));
        if take == 0 && !bytes.is_empty() {
            side.writer = Some(waker.clone());
            return None;
        }
        side.in_flight += take;
        // Bytes written at one instant travel together.
        let (at, slot) = side.last_segment;
        if at == now
            && let Event::Stream(Segment::Data { conn: other, to, bytes: data }) = self.queue.get_mut(slot)
            && (*other, *to) == (conn, 1 - end)
        {
            data.extend_from_slice(&bytes[..take]);
            return Some(Ok(take));
        }
        let slot = self.send_segment(Segment::Data { conn, to: 1 - end, bytes: bytes[..take].to_vec() }, now);
        self.streams.side(conn, end).last_segment = (now, slot);
        Some(Ok(take))
    }

    /// Half-close: nothing more will be written.
    pub fn shutdown(&mut self, conn: u32, end: u8) {
        let side = self.streams.side(conn, end);
        if !side.fin_sent && !side.reset && !side.closed {
            side.fin_sent = true;
            self.send_segment(Segment::Fin { conn, to: 1 - end }, self.now);
        }
    }

    /// The handle was dropped. Returns wakers, to be dropped outside the world's borrow.
    pub fn close(&mut self, conn: u32, end: u8) -> [Option<Waker>; 2] {
        let unread = !self.streams.side(conn, end).received.is_empty();
        self.close_as(conn, end, unread)
    }

    /// As in TCP, data that nobody will read (`unread`) is answered with a reset.
    fn close_as(&mut self, conn: u32, end: u8, unread: bool) -> [Option<Waker>; 2] {
        let side = self.streams.side(conn, end);
        let wakers = [side.reader.take(), side.writer.take()];
        let (node, starts) = (side.node, side.starts);
        if side.closed || self.processes[node as usize].starts != starts {
            return wakers;
        }
        let side = self.streams.side(conn, end);
        side.closed = true;
        let (reset, fin_sent) = (side.reset, side.fin_sent);
        side.received = VecDeque::new();
        let refused = self.streams.conns[conn as usize].opening == Opening::Refused;
        if unread && !reset {
            self.send_segment(Segment::Reset { conn, to: 1 - end }, self.now);
        } else if !reset && !fin_sent && !refused {
            self.send_segment(Segment::Fin { conn, to: 1 - end }, self.now);
        }
        wakers
    }
}
