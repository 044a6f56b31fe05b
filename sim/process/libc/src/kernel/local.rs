//! What is within one process: pipes and pairs of sockets.

use super::{Kernel, Kind, epoll};
use std::collections::VecDeque;

/// The bytes that a pipe or one direction of a pair holds.
const CAPACITY: usize = 64 * 1024;
/// So many bytes are written to a pipe wholly or not at all.
const WHOLE: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Reads,
    Writes,
    Pair,
}

pub struct Local {
    pub end: End,
    /// The other end, as long as it is open.
    peer: Option<usize>,
    inbox: VecDeque<u8>,
    /// Whether the other end has room.
    room: bool,
    pub shut_read: bool,
    pub shut_write: bool,
    error: i32,
}

impl Local {
    fn new(end: End) -> Local {
        let inbox = VecDeque::new();
        Local { end, peer: None, inbox, room: true, shut_read: false, shut_write: false, error: 0 }
    }

    pub(super) fn mask(&self) -> u32 {
        let mut mask = if self.inbox.is_empty() { 0 } else { epoll::IN };
        let alone = self.peer.is_none();
        match self.end {
            End::Reads => mask |= if alone { epoll::HUP } else { 0 },
            End::Writes => mask |= if alone { epoll::OUT | epoll::ERR } else { 0 },
            End::Pair => {
                mask |= if self.shut_read { epoll::IN | epoll::RDHUP } else { 0 };
                mask |= if self.shut_read && self.shut_write { epoll::HUP } else { 0 };
                mask |= if alone { epoll::OUT } else { 0 };
                mask |= if self.error != 0 { epoll::ERR } else { 0 };
            }
        }
        if self.end != End::Reads && self.room {
            mask |= epoll::OUT;
        }
        mask
    }

    pub fn take_error(&mut self) -> i32 {
        std::mem::take(&mut self.error)
    }

    pub fn unread(&self) -> usize {
        self.inbox.len()
    }
}

impl Kernel {
    /// Two ends that belong together: `a` reads and `b` writes, or both do both.
    pub fn add_pair(&mut self, a: End, b: End, nonblocking: bool) -> (usize, usize) {
        let first = self.add_object(Kind::Local(Local::new(a)), nonblocking);
        let second = self.add_object(Kind::Local(Local::new(b)), nonblocking);
        self.local(first).peer = Some(second);
        self.local(second).peer = Some(first);
        (first, second)
    }

    fn local(&mut self, object: usize) -> &mut Local {
        match &mut self.object_mut(object).kind {
            Kind::Local(local) => local,
            _ => unreachable!("the peer of a local end is one"),
        }
    }

    pub(super) fn receive_local(&mut self, object: usize, to: &mut [u8], peek: bool) -> Result<usize, i32> {
        let local = self.local(object);
        if local.end == End::Writes {
            return Err(libc::EBADF);
        }
        if local.inbox.is_empty() {
            return match local.take_error() {
                0 if local.peer.is_none() || local.shut_read => Ok(0),
                0 => Err(libc::EAGAIN),
                error => Err(error),
            };
        }
        let count = super::stream::copy_out(&mut local.inbox, to, peek);
        if let Some(peer) = local.peer.filter(|_| !peek && local.inbox.len() + WHOLE <= CAPACITY) {
            if !std::mem::replace(&mut self.local(peer).room, true) {
                self.notify(peer, epoll::OUT);
            }
        }
        Ok(count)
    }

    pub(super) fn transmit_local(&mut self, object: usize, bytes: &[u8]) -> Result<usize, i32> {
        let local = self.local(object);
        if local.end == End::Reads {
            return Err(libc::EBADF);
        }
        let pipe = local.end == End::Writes;
        let Some(peer) = local.peer.filter(|_| !local.shut_write) else { return Err(libc::EPIPE) };
        if self.local(peer).shut_read && !pipe {
            return Err(libc::EPIPE);
        }
        let room = CAPACITY - self.local(peer).inbox.len();
        // Who was told that there is no room has none until a page is free.
        if !self.local(object).room
            || room == 0 && !bytes.is_empty()
            || pipe && bytes.len() <= WHOLE && room < bytes.len()
        {
            self.local(object).room = false;
            return Err(libc::EAGAIN);
        }
        let count = room.min(bytes.len());
        self.local(object).room = count < room;
        self.local(peer).inbox.extend(&bytes[..count]);
        self.notify(peer, epoll::IN);
        Ok(count)
    }

    /// # Errors
    /// `ENOTSOCK`, for a pipe.
    pub(super) fn shutdown_local(&mut self, object: usize, read: bool, write: bool) -> Result<(), i32> {
        let local = self.local(object);
        if local.end != End::Pair {
            return Err(libc::ENOTSOCK);
        }
        (local.shut_read, local.shut_write) = (local.shut_read || read, local.shut_write || write);
        let peer = local.peer;
        self.notify(object, u32::MAX);
        if let Some(peer) = peer {
            let other = self.local(peer);
            (other.shut_read, other.shut_write) = (other.shut_read || write, other.shut_write || read);
            self.notify(peer, u32::MAX);
        }
        Ok(())
    }

    pub(super) fn drop_local(&mut self, dropped: Local) {
        let Some(peer) = dropped.peer else { return };
        let other = self.local(peer);
        other.peer = None;
        if other.end == End::Pair {
            (other.shut_read, other.shut_write) = (true, true);
            if !dropped.inbox.is_empty() {
                other.error = libc::ECONNRESET;
            }
        }
        self.notify(peer, u32::MAX);
    }
}
