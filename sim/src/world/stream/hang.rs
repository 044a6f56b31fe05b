//! Connections that hang: what is sent on them is acknowledged, and nothing comes out; whoever looks at the connection finds it in
//! order. A proxy that has stalled, or lost what it knew, does that.

use super::{Opening, World, segment::Segment};
use protocols::types::NodeId;

impl World {
    /// The connections that stand between two processes begin to hang, or, not `on` any more, go on.
    pub(in crate::world) fn hang(&mut self, a: NodeId, b: NodeId, on: bool) {
        let mut released = Vec::new();
        for conn in &mut self.conns {
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

    /// Takes what arrives on a connection that hangs; gives back what does not.
    pub(super) fn withhold(&mut self, segment: Segment) -> Option<Segment> {
        let (conn, _) = segment.conn_and_side();
        let conn = &mut self.conns[conn as usize];
        if conn.hangs == 0 || segment.opens() || matches!(segment, Segment::Window { .. }) {
            return Some(segment);
        }
        conn.withheld.push(segment);
        None
    }
}
