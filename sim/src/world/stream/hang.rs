//! Connections that hang: data sent on them is acknowledged but never delivered, and probes find the connection intact.
//! A proxy that has stalled or lost its state does that.

use super::{Opening, World, segment::Segment};
use protocols::types::NodeId;

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
