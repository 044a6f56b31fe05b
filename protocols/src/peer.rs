//! What candidates say to each other when they elect among themselves. In the simulation these travel as values.

use crate::{
    election::{bully, kraft, lowest_id, ring, stonith, swim, zab_fle},
    fence::power,
};

/// A message of an election protocol. Each protocol has its own kind of message and ignores the others'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// Of `kraft`.
    Kraft(kraft::Message),
    /// Of `lowest-id`.
    LowestId(lowest_id::Message),
    /// Of `zab-fle`.
    ZabFle(zab_fle::Message),
    /// Of `bully`.
    Bully(bully::Message),
    /// Of `ring-lelann` and `ring-chang-roberts`.
    Ring(ring::Message),
    /// Of `stonith`, besides the wrapped protocol's.
    Stonith(stonith::Message),
    /// To and from a fencing device.
    Power(power::Message),
    /// Of `swim`.
    Swim(swim::Message),
}

impl Peer {
    /// What kind of message it is, for message counts.
    pub const fn kind(&self) -> &'static str {
        match self {
            Peer::Kraft(message) => message.kind(),
            Peer::LowestId(message) => message.kind(),
            Peer::ZabFle(message) => message.kind(),
            Peer::Bully(message) => message.kind(),
            Peer::Ring(message) => message.kind(),
            Peer::Stonith(message) => message.kind(),
            Peer::Power(message) => message.kind(),
            Peer::Swim(message) => message.kind(),
        }
    }
}
