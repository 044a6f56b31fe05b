//! Segments of a connection.

/// A segment for side 0 (which connected) or 1 (which accepted).
pub enum Segment {
    Syn { conn: u32, port: u16 },
    SynAck { conn: u32 },
    Data { conn: u32, to: u8, bytes: Vec<u8> },
    Fin { conn: u32, to: u8 },
    Reset { conn: u32, to: u8 },
    Window { conn: u32, to: u8, bytes: usize },
}

impl Segment {
    pub(in crate::world) fn conn_and_side(&self) -> (u32, u8) {
        match *self {
            Segment::Syn { conn, .. } => (conn, 1),
            Segment::SynAck { conn } => (conn, 0),
            Segment::Data { conn, to, .. }
            | Segment::Fin { conn, to }
            | Segment::Reset { conn, to }
            | Segment::Window { conn, to, .. } => (conn, to),
        }
    }

    pub(in crate::world) fn len(&self) -> u64 {
        match self {
            Segment::Data { bytes, .. } => bytes.len() as u64 + 40,
            _ => 40,
        }
    }

    pub(in crate::world) fn opens(&self) -> bool {
        matches!(self, Segment::Syn { .. } | Segment::SynAck { .. })
    }
}
