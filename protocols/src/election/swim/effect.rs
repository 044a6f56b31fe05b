//! What a failure detector says of members, and wants done.

use super::message::Message;
use crate::types::NodeId;

/// What a member is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Never heard of.
    Unknown,
    /// Alive.
    Alive,
    /// It has not answered, and may still refute that. It counts as alive.
    Suspect,
    /// It has not refuted in time.
    Dead,
    /// It said that it leaves.
    Left,
}

/// What the detector wants done, or tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send a datagram.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: Message,
    },
    /// A member is taken for something else from now on.
    Changed {
        /// The member.
        node: NodeId,
        /// What it is taken for.
        state: State,
    },
    /// A probe begins; when nobody is left to be probed, one of nobody.
    Probing,
    /// A probe was answered, if there was one.
    Probed,
}
