//! What candidates say to each other when they elect among themselves. In the simulation these travel as values.

use crate::election::{kraft, lowest_id, zab_fle};

/// A message of an election protocol. Each protocol has its own kind of message and ignores the others'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// Of `kraft`.
    Kraft(kraft::Message),
    /// Of `lowest-id`.
    LowestId(lowest_id::Message),
    /// Of `zab-fle`.
    ZabFle(zab_fle::Message),
}

impl Peer {
    /// What kind of message it is, for message counts.
    pub const fn kind(&self) -> &'static str {
        match self {
            Peer::Kraft(message) => message.kind(),
            Peer::LowestId(message) => message.kind(),
            Peer::ZabFle(message) => message.kind(),
        }
    }
}
