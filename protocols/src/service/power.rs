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
    /// From a device that is a cloud provider's API: the request is accepted, and the machine runs on until it has stopped.
    /// Whether it has is told to who asks again.
    Accepted {
        /// Whose power is to be cut.
        target: NodeId,
        /// The request that this answers.
        request: u64,
    },
    /// From such a device: too many requests (HTTP 429, `RequestLimitExceeded`). Nothing was done; ask again, but later.
    Throttled {
        /// Whose power was to be cut.
        target: NodeId,
        /// The request that this answers.
        request: u64,
    },
}

/// How a device does its work; set by faults, and no candidate's to say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Manner {
    /// It cuts, and then says so.
    #[default]
    Honest,
    /// It says so, and does not cut.
    Lies,
    /// It is a cloud provider's API. Times are nanoseconds.
    Cloud {
        /// From the accepted request until the machine has stopped.
        stopping: u64,
        /// One request is taken in so long.
        throttle: u64,
    },
}

impl Payload for Manner {}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Fence { .. } => "fence",
            Message::Fenced { .. } => "fenced",
            Message::Accepted { .. } => "accepted",
            Message::Throttled { .. } => "throttled",
        }
    }
}
