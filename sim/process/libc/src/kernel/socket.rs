//! TCP sockets as programs see them. What travels, and how long it takes, is the world's.

use super::{IntoAddress, Kernel, Kind, ROOM, epoll, errno, options::Options};
use fencepost_process::{Broken, Op};
use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddrV4},
};

/// What `::1` is within the kernel, which knows IPv4 only: an address of the loopback that nobody else uses.
pub const LOOPBACK_V6: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 6);
pub(super) const NOWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
/// The ports from which connections are opened, as Linux has them.
const EPHEMERAL: std::ops::Range<u16> = 32768..61000;

pub enum State {
    Fresh,
    Listening {
        queue: VecDeque<usize>,
    },
    Connecting {
        conn: u32,
    },
    /// `told`: a call of `connect` has said so.
    Open {
        conn: u32,
        told: bool,
    },
    Closed,
}

pub struct Socket {
    pub state: State,
    /// Its addresses are told and shown as those of IPv6; each host's is IPv4, mapped.
    pub v6: bool,
    pub local: SocketAddrV4,
    pub(super) peer: SocketAddrV4,
    /// The program chose the port itself.
    pub(super) bound: bool,
    /// What the next call fails with.
    pub error: i32,
    pub options: Options,
    pub(super) inbox: VecDeque<u8>,
    /// Read, and not yet told to the world.
    pub(super) read: usize,
    /// The other end has sent its last byte.
    pub(super) eof: bool,
    pub(super) shut_read: bool,
    pub(super) shut_write: bool,
    /// How many bytes may be sent.
    pub(super) credit: usize,
    /// A send found no room for all; there is room again when a third is free, as the kernel has it.
    pub(super) starved: bool,
}

impl Socket {
    pub fn new(v6: bool) -> Socket {
        Socket {
            state: State::Fresh,
            v6,
            local: NOWHERE,
            peer: NOWHERE,
            bound: false,
            error: 0,
            options: Options::default(),
            inbox: VecDeque::new(),
            read: 0,
            eof: false,
            shut_read: false,
            shut_write: false,
            credit: ROOM,
            starved: false,
        }
    }

    pub(super) fn mask(&self) -> u32 {
        let error = if self.error != 0 { epoll::ERR } else { 0 };
        match &self.state {
            State::Listening { queue } => return if queue.is_empty() { 0 } else { epoll::IN },
            State::Connecting { .. } => return error,
            State::Fresh | State::Open { .. } | State::Closed => {}
        }
        let mut mask = error;
        if !matches!(self.state, State::Open { .. }) || self.shut_read && self.shut_write {
            mask |= epoll::HUP;
        }
        if self.shut_read {
            mask |= epoll::IN | epoll::RDHUP;
        }
        if !self.inbox.is_empty() {
            mask |= epoll::IN;
        }
        if self.shut_write || self.credit > 0 && !self.starved {
            mask |= epoll::OUT;
        }
        mask
    }

    /// The other end's address.
    ///
    /// # Errors
    /// `ENOTCONN`.
    pub fn peer(&self) -> Result<SocketAddrV4, i32> {
        match self.state {
            // With both directions ended there is no connection any more.
            State::Open { .. } if !(self.eof && self.shut_write) => Ok(self.peer),
            _ => Err(libc::ENOTCONN),
        }
    }

    pub(super) fn overlaps(&self, other: &Socket) -> bool {
        let any = |socket: &Socket| socket.local.ip().is_unspecified();
        let both = |option: fn(&Options) -> bool| option(&self.options) && option(&other.options);
        let apart = |a: &Socket, b: &Socket| a.v6 && a.options.is_only_v6() && !b.v6;
        if apart(self, other) || apart(other, self) {
            return false;
        }
        let shared = both(|o| o.reuse_port) || both(|o| o.reuse_address) && !other.is_listening();
        let same = any(self) || any(other) || self.local.ip() == other.local.ip();
        self.local.port() == other.local.port() && same && !shared
    }

    pub(super) fn is_listening(&self) -> bool {
        matches!(self.state, State::Listening { .. })
    }
}

impl Kernel {
    pub(super) fn other_sockets(&self, object: usize) -> impl Iterator<Item = &Socket> {
        let others = self.objects.iter().enumerate().filter(move |(at, _)| *at != object);
        others.filter_map(|(_, object)| match object.as_ref().map(|object| &object.kind) {
            Some(Kind::Socket(socket)) if socket.local.port() != 0 => Some(&**socket),
            _ => None,
        })
    }

    fn free_port(&mut self) -> u16 {
        if self.next_port == 0 {
            let many = u64::from(EPHEMERAL.end - EPHEMERAL.start);
            self.next_port = EPHEMERAL.start + (self.entropy.next() % many) as u16;
        }
        loop {
            let port = self.next_port;
            self.next_port = if port + 1 == EPHEMERAL.end { EPHEMERAL.start } else { port + 1 };
            if self.other_sockets(usize::MAX).all(|socket| socket.local.port() != port) {
                return port;
            }
        }
    }

    fn is_own(&self, ip: Ipv4Addr) -> bool {
        ip.is_unspecified() || ip.is_loopback() || ip == self.ip
    }

    /// # Errors
    /// `EINVAL`, `EADDRNOTAVAIL`, `EADDRINUSE`, as in `bind(2)`.
    pub fn bind(&mut self, object: usize, address: SocketAddrV4) -> Result<(), i32> {
        if self.socket(object)?.local.port() != 0 {
            return Err(libc::EINVAL);
        }
        if !self.is_own(*address.ip()) {
            return Err(libc::EADDRNOTAVAIL);
        }
        let port = if address.port() == 0 { self.free_port() } else { address.port() };
        self.socket(object)?.local = SocketAddrV4::new(*address.ip(), port);
        let Kind::Socket(mine) = &self.object(object).kind else { return Err(libc::ENOTSOCK) };
        if self.other_sockets(object).any(|other| mine.overlaps(other)) {
            self.socket(object)?.local = NOWHERE;
            return Err(libc::EADDRINUSE);
        }
        self.socket(object)?.bound = true;
        Ok(())
    }

    /// Begins to connect, or says how an earlier attempt ended.
    ///
    /// # Errors
    /// `EINPROGRESS` if it has only just begun, and what `connect(2)` names.
    pub fn connect(&mut self, object: usize, to: SocketAddrV4) -> Result<(), i32> {
        let socket = self.socket(object)?;
        match &mut socket.state {
            State::Fresh => {}
            State::Connecting { .. } => return Err(libc::EALREADY),
            State::Open { told, .. } => {
                return if std::mem::replace(told, true) { Err(libc::EISCONN) } else { Ok(()) };
            }
            State::Listening { .. } => return Err(libc::EISCONN),
            State::Closed => return Err(self.give_up(object)?),
        }
        if self.socket(object)?.local.port() == 0 {
            let port = self.free_port();
            self.socket(object)?.local.set_port(port);
        }
        let to = if to.ip().is_unspecified() { (Ipv4Addr::LOCALHOST, to.port()).into_address() } else { to };
        let (own, conn) = (self.ip, self.next_conn);
        self.next_conn += 2;
        let socket = self.socket(object)?;
        if socket.local.ip().is_unspecified() {
            socket.local.set_ip(if to.ip().is_loopback() { *to.ip() } else { own });
        }
        (socket.peer, socket.state) = (to, State::Connecting { conn });
        let from_port = socket.local.port();
        self.conns.insert(conn, object);
        self.tell(Op::Connect { conn, from_port, to: *to.ip(), port: to.port() });
        self.tell_options(object);
        Err(libc::EINPROGRESS)
    }

    /// An attempt to connect has failed: the socket is as before it, and this is why.
    ///
    /// # Errors
    /// `ENOTSOCK`.
    pub fn give_up(&mut self, object: usize) -> Result<i32, i32> {
        let error = std::mem::take(&mut self.socket(object)?.error);
        self.disconnect(object)?;
        Ok(if error == 0 { libc::ECONNABORTED } else { error })
    }

    /// The socket belongs to no connection any more, and may open another one.
    ///
    /// # Errors
    /// `ENOTSOCK`.
    pub fn disconnect(&mut self, object: usize) -> Result<(), i32> {
        let socket = self.socket(object)?;
        let local = if socket.bound { socket.local } else { NOWHERE };
        let (bound, v6, options) = (socket.bound, socket.v6, socket.options.clone());
        let fresh = Socket { local, bound, options, ..Socket::new(v6) };
        let mut old = std::mem::replace(socket, fresh);
        old.options.reset_on_close = true;
        self.drop_socket(object, old);
        Ok(())
    }

    /// # Errors
    /// `ENOTCONN`, `ENOTSOCK`, `EINVAL`, as in `shutdown(2)`.
    pub fn shutdown(&mut self, object: usize, how: i32) -> Result<(), i32> {
        let (read, write) = (how != libc::SHUT_WR, how != libc::SHUT_RD);
        if ![libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR].contains(&how) {
            return Err(libc::EINVAL);
        }
        if let Kind::Local(_) = self.object(object).kind {
            return self.shutdown_local(object, read, write);
        }
        let socket = self.socket(object)?;
        match socket.state {
            State::Listening { .. } if read => {
                let mut socket = std::mem::replace(socket, Socket::new(false));
                self.stop_listening(object, &mut socket);
                socket.shut_read = true;
                *self.socket(object)? = socket;
            }
            State::Listening { .. } => {}
            State::Connecting { conn } => {
                socket.state = State::Closed;
                (socket.shut_read, socket.shut_write) = (true, true);
                self.conns.remove(&conn);
                self.tell(Op::Close { conn, reset: false });
            }
            State::Open { conn, .. } => {
                socket.peer()?;
                socket.shut_read |= read;
                if write && !std::mem::replace(&mut socket.shut_write, true) {
                    self.tell(Op::Shutdown { conn });
                }
            }
            State::Fresh | State::Closed => return Err(libc::ENOTCONN),
        }
        self.notify(object, u32::MAX);
        Ok(())
    }

    pub(super) fn drop_socket(&mut self, object: usize, mut socket: Socket) {
        match socket.state {
            State::Listening { .. } => self.stop_listening(object, &mut socket),
            State::Connecting { conn } | State::Open { conn, .. } => {
                self.conns.remove(&conn);
                let reset = !socket.inbox.is_empty() || socket.options.reset_on_close;
                self.tell(Op::Close { conn, reset });
            }
            State::Fresh | State::Closed => {}
        }
    }

    fn socket_of(&mut self, conn: u32) -> Option<(usize, &mut Socket)> {
        let object = *self.conns.get(&conn)?;
        self.socket(object).ok().map(|socket| (object, socket))
    }

    pub(super) fn connected(&mut self, conn: u32) {
        let Some((object, socket)) = self.socket_of(conn) else { return };
        socket.state = State::Open { conn, told: false };
        self.notify(object, u32::MAX);
    }

    pub(super) fn arrived(&mut self, conn: u32, bytes: &[u8]) {
        let Some((object, socket)) = self.socket_of(conn) else { return };
        socket.inbox.extend(bytes);
        self.notify(object, epoll::IN);
    }

    pub(super) fn credited(&mut self, conn: u32, bytes: usize) {
        let Some((object, socket)) = self.socket_of(conn) else { return };
        socket.credit = (socket.credit + bytes).min(ROOM);
        if socket.starved && socket.credit >= ROOM / 3 {
            socket.starved = false;
            self.notify(object, epoll::OUT);
        }
    }

    pub(super) fn ended(&mut self, conn: u32) {
        let Some((object, socket)) = self.socket_of(conn) else { return };
        (socket.eof, socket.shut_read) = (true, true);
        self.notify(object, u32::MAX);
    }

    pub(super) fn broken(&mut self, conn: u32, why: Broken) {
        let Some((object, socket)) = self.socket_of(conn) else { return };
        // Who has read all of what was sent, and sends on, finds a broken pipe.
        socket.error = if socket.eof && why == Broken::Reset { libc::EPIPE } else { errno(&why) };
        socket.state = State::Closed;
        (socket.shut_read, socket.shut_write) = (true, true);
        self.conns.remove(&conn);
        self.notify(object, u32::MAX);
    }
}
