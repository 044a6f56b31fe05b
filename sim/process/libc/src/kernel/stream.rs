//! Bytes in and out of descriptors.

use super::{Kernel, Kind, ROOM, epoll, socket::State};
use fencepost_process::{Op, Then};
use std::{collections::VecDeque, io::Read};

/// The most bytes of a send that the world is shown beforehand.
const HEAD: usize = 512;

/// Moves as many bytes as fit; with `peek`, they stay.
pub fn copy_out(from: &mut VecDeque<u8>, to: &mut [u8], peek: bool) -> usize {
    if !peek {
        // Into a slice, this never fails.
        return from.read_exact_some(to);
    }
    let (a, b) = from.as_slices();
    let first = a.len().min(to.len());
    to[..first].copy_from_slice(&a[..first]);
    let second = b.len().min(to.len() - first);
    to[first..first + second].copy_from_slice(&b[..second]);
    first + second
}

trait ReadSome {
    fn read_exact_some(&mut self, to: &mut [u8]) -> usize;
}

impl ReadSome for VecDeque<u8> {
    fn read_exact_some(&mut self, to: &mut [u8]) -> usize {
        let count = self.len().min(to.len());
        let whole = self.read_exact(&mut to[..count]);
        debug_assert!(whole.is_ok(), "there are at least {count} bytes");
        count
    }
}

impl Kernel {
    /// Reads into `to`. With `peek`, nothing is taken.
    ///
    /// # Errors
    /// `EAGAIN` if there is nothing yet, and what `recv(2)` names.
    pub fn receive(&mut self, object: usize, to: &mut [u8], peek: bool) -> Result<usize, i32> {
        match &mut self.object_mut(object).kind {
            Kind::Local(_) => self.receive_local(object, to, peek),
            Kind::Socket(_) => self.receive_remote(object, to, peek),
            Kind::Event { .. } if to.len() < 8 => Err(libc::EINVAL),
            Kind::Event { count: 0, .. } => Err(libc::EAGAIN),
            Kind::Event { count, semaphore } => {
                let taken = if *semaphore { 1 } else { *count };
                *count -= taken;
                to[..8].copy_from_slice(&taken.to_ne_bytes());
                self.notify(object, epoll::OUT);
                Ok(8)
            }
            Kind::Random => {
                self.entropy.fill(to);
                Ok(to.len())
            }
            Kind::Epoll(_) => Err(libc::EINVAL),
        }
    }

    fn receive_remote(&mut self, object: usize, to: &mut [u8], peek: bool) -> Result<usize, i32> {
        let socket = self.socket(object)?;
        match socket.state {
            State::Fresh | State::Listening { .. } if socket.error == 0 => return Err(libc::ENOTCONN),
            State::Connecting { .. } => return Err(libc::EAGAIN),
            _ => {}
        }
        if !socket.inbox.is_empty() {
            let count = copy_out(&mut socket.inbox, to, peek);
            if !peek {
                socket.read += count;
                if let State::Open { conn, .. } = socket.state
                    && socket.read >= ROOM / 4
                {
                    let bytes = std::mem::take(&mut socket.read) as u64;
                    self.tell(Op::Consumed { conn, bytes });
                }
            }
            return Ok(count);
        }
        match socket {
            _ if socket.eof || to.is_empty() => Ok(0),
            _ if socket.error != 0 => Err(std::mem::take(&mut socket.error)),
            _ if socket.shut_read => Ok(0),
            _ if matches!(socket.state, State::Closed) => Err(libc::ENOTCONN),
            _ => Err(libc::EAGAIN),
        }
    }

    /// Writes as much of `bytes` as there is room for. The world may stop the process right before; `again` says that
    /// these bytes are the rest of a send that has begun.
    ///
    /// # Errors
    /// `EAGAIN` if there is no room, and what `send(2)` names.
    pub fn transmit(&mut self, object: usize, bytes: &[u8], again: bool) -> Result<usize, i32> {
        match &mut self.object_mut(object).kind {
            Kind::Local(_) => self.transmit_local(object, bytes),
            Kind::Socket(_) => self.transmit_remote(object, bytes, again),
            Kind::Event { count, .. } => {
                let more = bytes.first_chunk().map(|eight| u64::from_ne_bytes(*eight));
                let more = more.filter(|more| *more < u64::MAX).ok_or(libc::EINVAL)?;
                if u64::MAX - 1 - *count < more {
                    return Err(libc::EAGAIN);
                }
                *count += more;
                self.notify(object, epoll::IN);
                Ok(8)
            }
            Kind::Random => Ok(bytes.len()),
            Kind::Epoll(_) => Err(libc::EINVAL),
        }
    }

    fn transmit_remote(&mut self, object: usize, bytes: &[u8], again: bool) -> Result<usize, i32> {
        let (conn, _) = self.may_send(object, bytes.len())?;
        if !again && !bytes.is_empty() {
            self.sends += 1;
            if self.sends >= self.stop_at {
                let head = bytes[..bytes.len().min(HEAD)].to_vec();
                let then = Then::Send { number: self.sends, conn, length: bytes.len() as u64, head };
                // Without a world, the next wait ends the process.
                let _: std::io::Result<()> = self.exchange(then);
            }
        }
        // What happened meanwhile may have ended the connection.
        let (conn, count) = self.may_send(object, bytes.len())?;
        let socket = self.socket(object)?;
        socket.credit -= count;
        socket.starved = count < bytes.len();
        if count > 0 {
            self.tell(Op::Send { conn, bytes: bytes[..count].to_vec() });
        }
        Ok(count)
    }

    /// The connection, and how many of `wanted` bytes it takes.
    fn may_send(&mut self, object: usize, wanted: usize) -> Result<(u32, usize), i32> {
        let socket = self.socket(object)?;
        match socket.state {
            State::Connecting { .. } => Err(libc::EAGAIN),
            _ if socket.error != 0 => Err(std::mem::take(&mut socket.error)),
            State::Open { conn, .. } if !socket.shut_write => match socket.credit.min(wanted) {
                0 if wanted > 0 => {
                    socket.starved = true;
                    Err(libc::EAGAIN)
                }
                count => Ok((conn, count)),
            },
            _ => Err(libc::EPIPE),
        }
    }

    /// How many bytes can be read now.
    pub fn unread(&self, object: usize) -> usize {
        match &self.object(object).kind {
            Kind::Socket(socket) => socket.inbox.len(),
            Kind::Local(local) => local.unread(),
            Kind::Event { count, .. } => usize::from(*count > 0) * 8,
            Kind::Random | Kind::Epoll(_) => 0,
        }
    }
}
