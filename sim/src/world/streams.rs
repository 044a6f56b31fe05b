//! All byte streams: their connections, the listening ports, and segments that met silence.

use super::stream::{Conn, Held, Listening, Side};
use protocols::types::NodeId;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Streams {
    /// By number; a connection that has ended keeps its place.
    pub conns: Vec<Conn>,
    pub listeners: BTreeMap<(NodeId, u16), Listening>,
    pub held: Vec<Held>,
}

impl Streams {
    /// The sending and the receiving process of what goes to the side `to`.
    pub fn ends(&self, conn: u32, to: u8) -> (NodeId, NodeId) {
        let sides = &self.conns[conn as usize].sides;
        (NodeId(sides[1 - to as usize].node), NodeId(sides[to as usize].node))
    }

    pub fn side(&mut self, conn: u32, side: u8) -> &mut Side {
        &mut self.conns[conn as usize].sides[side as usize]
    }
}
