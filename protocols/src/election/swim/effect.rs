//! A failure detector's effects.

use super::message::Message;
use crate::types::NodeId;

/// A member's state in another's view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Never heard from.
    Unknown,
    Alive,
    /// It has not answered, but may still refute that. It counts as alive.
    Suspect,
    /// It has not refuted the suspicion in time.
    Dead,
    /// It has announced that it leaves.
    Left,
}

/// An action or a report of the detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send a datagram.
    Send { to: NodeId, message: Message },
    /// A member's state has changed.
    Changed {
        node: NodeId,
        /// The new state.
        state: State,
    },
    /// A probe begins, even if no member is left to probe.
    Probing,
    /// The probe was answered, if there was one.
    Probed,
}
