//! A fencing device, reached by messages like those between candidates: the messages to it and from it. The device
//! itself is [`crate::fence::power`].

use super::Service;
use crate::{payload::Payload, types::NodeId};

/// A switch that cuts the power of candidates' machines.
pub const SERVICE: Service =
    Service { name: "power", process: Some("power"), cuts_power: true, has_groups: true, ..Service::NONE };

/// A message to or from a fencing device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To the device: cut the power of `target`.
    Fence {
        target: NodeId,
        /// The request's number; the same when it is resent.
        request: u64,
    },
    /// From the device: the result.
    Fenced {
        /// The target of the request.
        target: NodeId,
        /// The answered request.
        request: u64,
        /// Whether the power was cut. If not, the device cannot do it.
        ok: bool,
    },
    /// From a device that is a cloud provider's API: the request is accepted, and the machine runs on until it has
    /// stopped. Only repeated requests tell whether it has.
    Accepted {
        /// The target of the request.
        target: NodeId,
        /// The answered request.
        request: u64,
    },
    /// From such a device: too many requests (HTTP 429, `RequestLimitExceeded`). Nothing was done; retry later.
    Throttled {
        /// The target of the request.
        target: NodeId,
        /// The answered request.
        request: u64,
    },
}

/// A device's behaviour; set by faults, not by candidates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Manner {
    /// It cuts the power, and then confirms.
    #[default]
    Honest,
    /// It confirms without cutting the power.
    Lies,
    /// It is a cloud provider's API. Times are nanoseconds.
    Cloud {
        /// The time from the accepted request until the machine has stopped.
        stopping: u64,
        /// The shortest interval between accepted requests.
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
