//! Connections on which nothing comes: TCP keepalive, by which the kernel of a process that waits on a silent
//! connection probes the other machine, and connections that hang, which it finds intact.
//!
//! The other kernel answers, so a paused process passes; a restarted one resets the connection; a machine that is off
//! or cut off does not answer, and the connection is finally given up. Here a probe takes no time, and other traffic
//! does not delay it.

use super::{Opening, World, segment::Segment};
use crate::world::{
    keepalive::{Keepalive, PROBES, Probing},
    queue::Event,
};
use protocols::types::NodeId;
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

// Connections that hang: data sent on them is acknowledged but never delivered, and probes find the connection intact.
// A proxy that has stalled or lost its state does that.

impl World {
    /// Connections between two processes start to hang or, if not `on`, stop hanging.
    pub(in crate::world) fn hang(&mut self, a: NodeId, b: NodeId, on: bool) {
        let mut released = Vec::new();
        for conn in &mut self.streams.conns {
            let ends = [NodeId(conn.sides[0].node), NodeId(conn.sides[1].node)];
            if ends != [a, b] && ends != [b, a] {
                continue;
            }
            match on {
                true if conn.opening == Opening::Established => conn.hangs += 1,
                true => {}
                false => conn.hangs = conn.hangs.saturating_sub(1),
            }
            if conn.hangs == 0 {
                released.append(&mut conn.withheld);
            }
        }
        released.into_iter().for_each(|segment| self.segment_arrives(segment));
    }

    /// Withholds a segment if its connection hangs; otherwise returns it.
    pub(super) fn withhold(&mut self, segment: Segment) -> Option<Segment> {
        let (conn, _) = segment.conn_and_side();
        let conn = &mut self.streams.conns[conn as usize];
        if conn.hangs == 0 || segment.opens() || matches!(segment, Segment::Window { .. }) {
            return Some(segment);
        }
        conn.withheld.push(segment);
        None
    }
}
