//! TCP's keepalive: who waits on a silent connection asks the other machine every so often whether it knows of it still.
//!
//! The kernel does, so a process that is stopped answers; one that has started again resets the connection; a machine that
//! is off or cut off says nothing, and after [`PROBES`] of that in a row the connection is given up. A probe takes no time
//! here, and none is sent for nothing: what else the two say to each other does not put it off.

use super::{Opening, World, segment::Segment};
use crate::world::queue::Event;

/// Linux' `tcp_keepalive_probes`.
const PROBES: u8 = 9;

impl World {
    /// Probes a connection from now on, every so many nanoseconds, from the end that has made it.
    pub fn keep_alive(&mut self, conn: u32, every: u64) {
        self.queue.push(self.now.saturating_add(every), Event::KeepAlive(Box::new((conn, every, 0))));
    }

    /// Time for a probe.
    pub(in crate::world) fn probe(&mut self, conn: u32, every: u64, silent: u8) {
        let side = &self.conns[conn as usize].sides[0];
        if side.reset || !self.is_open(conn, 0) || self.conns[conn as usize].opening != Opening::Established {
            return;
        }
        let (server, client) = self.ends(conn, 0);
        let ways = [(client, server), (server, client)];
        let cut = ways.into_iter().any(|(from, to)| self.links.get(from, to).is_blocked());
        if !cut && self.processes[server.index()].powered {
            if !self.is_open(conn, 1) {
                protocols::mark!(WorldKeepaliveReset);
                self.send_segment(Segment::Reset { conn, to: 0 }, self.now);
                return;
            }
            return self.keep_alive(conn, every);
        }
        if silent + 1 < PROBES {
            self.queue.push(self.now.saturating_add(every), Event::KeepAlive(Box::new((conn, every, silent + 1))));
        } else {
            protocols::mark!(WorldKeepaliveSilence);
            self.reset_arrives(conn, 0);
        }
    }
}
