//! Sockets that listen, and the connections that wait at them.

use super::{
    Kernel, Kind, epoll,
    socket::{LOOPBACK_V6, NOWHERE, Socket, State},
};
use fencepost_process::Op;
use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddrV4},
};

impl Kernel {
    /// # Errors
    /// `EINVAL`, `EADDRINUSE`, as in `listen(2)`.
    pub fn listen(&mut self, object: usize) -> Result<(), i32> {
        match self.socket(object)?.state {
            State::Fresh => {}
            State::Listening { .. } => return Ok(()),
            _ => return Err(libc::EINVAL),
        }
        if self.socket(object)?.local.port() == 0 {
            self.bind(object, NOWHERE)?;
        }
        let Kind::Socket(mine) = &self.object(object).kind else { return Err(libc::ENOTSOCK) };
        if self.other_sockets(object).any(|other| other.is_listening() && mine.overlaps(other)) {
            return Err(libc::EADDRINUSE);
        }
        let local = mine.local;
        self.socket(object)?.state = State::Listening { queue: VecDeque::new() };
        if self.listener_at(local).is_none() {
            self.tell(Op::Listen { at: *local.ip(), port: local.port() });
        }
        self.listeners.insert(object);
        Ok(())
    }

    /// A socket that listens on exactly this address.
    fn listener_at(&self, address: SocketAddrV4) -> Option<usize> {
        let is_it = |object: &usize| matches!(&self.object(*object).kind, Kind::Socket(s) if s.local == address);
        self.listeners.iter().copied().find(is_it)
    }

    /// Is an address of this family for this listening socket?
    fn takes(&self, object: usize, at: SocketAddrV4) -> bool {
        let Kind::Socket(socket) = &self.object(object).kind else { return false };
        if *at.ip() == LOOPBACK_V6 { socket.v6 } else { !(socket.v6 && socket.options.is_only_v6()) }
    }

    pub(super) fn stop_listening(&mut self, object: usize, socket: &mut Socket) {
        let State::Listening { queue } = std::mem::replace(&mut socket.state, State::Closed) else { return };
        self.listeners.remove(&object);
        if self.listener_at(socket.local).is_none() {
            self.tell(Op::Unlisten { at: *socket.local.ip(), port: socket.local.port() });
        }
        for waiting in queue {
            if let Ok(socket) = self.socket(waiting) {
                socket.options.reset_on_close = true;
            }
            self.drop_object(waiting);
        }
    }

    /// The next connection of a listening socket.
    ///
    /// # Errors
    /// `EAGAIN` if there is none yet; `EINVAL`.
    pub fn accept(&mut self, object: usize) -> Result<(usize, SocketAddrV4), i32> {
        let State::Listening { queue } = &mut self.socket(object)?.state else { return Err(libc::EINVAL) };
        let accepted = queue.pop_front().ok_or(libc::EAGAIN)?;
        let peer = self.socket(accepted)?.peer;
        Ok((accepted, peer))
    }

    pub(super) fn accepted(&mut self, conn: u32, at: SocketAddrV4, from: SocketAddrV4) {
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, at.port());
        let Some(listener) = self.listener_at(at).or_else(|| self.listener_at(any)).filter(|it| self.takes(*it, at))
        else {
            return self.tell(Op::Close { conn, reset: true });
        };
        let Ok(Socket { options, v6, .. }) = self.socket(listener) else { return };
        let (options, v6) = (options.clone(), *v6);
        let state = State::Open { conn, told: true };
        let socket = Socket { state, local: at, peer: from, options, ..Socket::new(v6) };
        let object = self.add_object(Kind::Socket(Box::new(socket)), false);
        self.conns.insert(conn, object);
        self.tell_options(object);
        if let Ok(Socket { state: State::Listening { queue }, .. }) = self.socket(listener) {
            queue.push_back(object);
        }
        self.notify(listener, epoll::IN);
    }
}
