//! A fencing device, which candidates reach by messages as they reach each other: what is said to it and by it. The device
//! itself is [`crate::fence::power`].

use super::Service;
use crate::{payload::Payload, types::NodeId};

/// A switch that cuts the power of candidates' machines.
pub const SERVICE: Service =
    Service { name: "power", process: Some("power"), cuts_power: true, has_groups: true, ..Service::NONE };

/// What is said to and by a fencing device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To the device: cut the power of `target`.
    Fence {
        /// Whose.
        target: NodeId,
        /// Names the request; the same when it is sent again.
        request: u64,
    },
    /// From the device: what came of it.
    Fenced {
        /// Whose power was to be cut.
        target: NodeId,
        /// The request that this answers.
        request: u64,
        /// It was cut. If not, the device cannot do it.
        ok: bool,
    },
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Fence { .. } => "fence",
            Message::Fenced { .. } => "fenced",
        }
    }
}
