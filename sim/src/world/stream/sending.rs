//! Segments in flight: their arrival and retransmission.

use super::{
    super::{
        World,
        queue::Event,
        retransmit::{RETRANSMIT_FIRST, SYN_RETRANSMIT_FIRST, Sent, late_by_timeouts, retransmitted_at},
        uplink::Traffic,
    },
    Held, Segment,
};

use protocols_clients::env::Peer;

impl World {
    /// What the other end's machine would answer to a probe that `end` sends now.
    pub fn peer(&self, conn: u32, end: u8) -> Peer {
        let to = 1 - end;
        let (own, other) = self.streams.ends(conn, to);
        let is_cut = self.links.see(own, other).is_blocked() || self.links.see(other, own).is_blocked();
        if is_cut || !self.processes[other.index()].powered {
            let since = self.streams.held.iter().filter(|held| held.segment.conn_and_side() == (conn, to));
            let since = since.map(|held| held.since).min();
            return Peer::Silent { unacknowledged: since.map(|since| self.now.saturating_sub(since)) };
        }
        if self.is_open(conn, to) { Peer::Answers } else { Peer::Resets }
    }

    /// Sends a segment; within a direction of a connection, none overtakes another.
    pub(super) fn send_segment(&mut self, segment: Segment, from_time: u64) -> u32 {
        let (conn, to) = segment.conn_and_side();
        let (from_node, to_node) = self.streams.ends(conn, to);
        let left = self.links.send_out(from_node, from_time, segment.len(), Traffic::Control);
        let sent = self.links.get(from_node, to_node).transmit(left);
        let side = &mut self.streams.conns[conn as usize].sides[to as usize];
        let at = if segment.opens() {
            sent.arrives + late_by_timeouts(sent.lost, SYN_RETRANSMIT_FIRST)
        } else if sent.lost == 0 && !side.gap.is_open() {
            sent.arrives
        } else {
            self.segment_at_gap(conn, to, sent)
        };
        let side = &mut self.streams.conns[conn as usize].sides[to as usize];
        let at = at.max(side.last_at);
        side.last_at = at;
        let slot = self.queue.push(at, Event::Stream(segment));
        if side.gap.is_open() {
            side.behind_gap.push(slot);
        }
        slot
    }

    /// The arrival time of a segment that is lost, or that follows a lost one. It may hasten the resend of earlier
    /// ones.
    #[cold]
    fn segment_at_gap(&mut self, conn: u32, to: u8, sent: Sent) -> u64 {
        let (from_node, to_node) = self.streams.ends(conn, to);
        let trip = self.acknowledged_trip(from_node, to_node);
        let side = &mut self.streams.conns[conn as usize].sides[to as usize];
        side.gap.expire(self.now);
        let noted = side.gap.note(sent, trip);
        let Some((was, at)) = noted else { return sent.arrives };
        if was == 0 {
            side.behind_gap.clear();
            return at;
        }
        for slot in &mut side.behind_gap {
            let event = std::mem::replace(self.queue.get_mut(*slot), Event::Void);
            self.queue.note_cancelled();
            *slot = self.queue.push(at, event);
        }
        side.last_at = at;
        sent.arrives
    }

    /// Resends segments that met silence, where the silence is over.
    pub(in crate::world) fn flush_held(&mut self) {
        self.flush_parked();
        for Held { since, segment } in std::mem::take(&mut self.streams.held) {
            let (conn, to) = segment.conn_and_side();
            let (from, node) = self.streams.ends(conn, to);
            if self.links.see(from, node).is_blocked() || !self.processes[node.index()].powered {
                self.streams.held.push(Held { since, segment });
                continue;
            }
            // A sender that is gone does not resend.
            if !self.is_open(conn, 1 - to) && !matches!(segment, Segment::SynAck { .. }) {
                continue;
            }
            protocols::mark!("world: a held segment is sent again");
            let first = if matches!(segment, Segment::Syn { .. }) { SYN_RETRANSMIT_FIRST } else { RETRANSMIT_FIRST };
            let at = retransmitted_at(since, self.now, first);
            self.send_segment(segment, at);
        }
    }
}
