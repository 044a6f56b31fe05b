//! TCP keepalive: the kernel of a process that waits on a silent connection probes the other machine.
//!
//! The other kernel answers, so a paused process passes; a restarted one resets the connection; a machine that is off
//! or cut off does not answer, and the connection is finally given up. Here a probe takes no time, and other traffic
//! does not delay it.

use super::{Opening, World, segment::Segment};
use crate::world::{
    keepalive::{Keepalive, PROBES, Probing},
    queue::Event,
};
use protocols_clients::env::Peer;

impl World {
    /// Probes a connection from now on, every `every` nanoseconds, from its connecting end.
    pub fn keep_alive(&mut self, conn: u32, every: u64) {
        let probing = Probing { idle: every, interval: every, count: PROBES, user_timeout: None };
        self.probe_later(conn, Keepalive::new(probing, self.now));
    }

    pub(super) fn probe_later(&mut self, conn: u32, keepalive: Keepalive) {
        self.queue.push(keepalive.due(), Event::KeepAlive(Box::new((conn, keepalive))));
    }

    /// A probe is due.
    pub(in crate::world) fn probe(&mut self, conn: u32, mut keepalive: Keepalive) {
        let side = &self.streams.conns[conn as usize].sides[0];
        if side.reset || !self.is_open(conn, 0) || self.streams.conns[conn as usize].opening != Opening::Established {
            return;
        }
        let peer = self.peer(conn, 0);
        if !keepalive.probe(peer, self.now) {
            self.probe_later(conn, keepalive);
        } else if peer == Peer::Resets {
            protocols::mark!("world: a keepalive probe finds that the server has started again");
            self.send_segment(Segment::Reset { conn, to: 0 }, self.now);
        } else {
            protocols::mark!("world: so many keepalive probes find silence that the connection is given up");
            self.reset_arrives(conn, 0);
        }
    }
}
