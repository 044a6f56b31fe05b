//! What the sockets of unmodified programs ask of connections, beside what our own clients do.

use crate::world::{
    World,
    keepalive::{Keepalive, Probing},
};
use protocols::types::NodeId;
use std::task::Waker;

impl World {
    /// The node and port at the other end.
    pub fn other_end(&self, conn: u32, end: u8) -> (NodeId, u16) {
        let conn = &self.streams.conns[conn as usize];
        (NodeId(conn.sides[1 - end as usize].node), conn.from_port)
    }

    /// The connecting end's port, if its program has chosen one.
    pub fn set_from_port(&mut self, conn: u32, port: u16) {
        self.streams.conns[conn as usize].from_port = port;
    }

    /// Closes as if data were unread: the other end finds the connection reset. Returns wakers, to be dropped outside
    /// the world's borrow.
    pub fn abort(&mut self, conn: u32, end: u8) -> [Option<Waker>; 2] {
        self.close_as(conn, end, true)
    }

    /// Probes a connection from now on, from its connecting end.
    pub fn keep_alive_with(&mut self, conn: u32, probing: Probing) {
        self.probe_later(conn, Keepalive::new(probing, self.now));
    }
}
