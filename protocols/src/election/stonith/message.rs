//! The messages between candidates of `stonith`.

use crate::{
    payload::{Opaque, Payload},
    service::power,
};

/// The wrappers' messages, in addition to those of the inner electors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// The sender is running.
    Alive {
        /// The nodes that the sender has heard within the TTL, one bit each. A node that does not hear the others is no
        /// member, however loud: totem's members agree on the membership.
        hears: u64,
    },
    /// The sender wants to lead, and asks whether the receiver does. Resent until it is granted, or the sender gives
    /// up.
    Claim {
        /// The claim's number; never used twice.
        round: u64,
    },
    /// The sender neither leads nor continues a claim of its own.
    Grant {
        /// The granted claim.
        round: u64,
        /// Whether everything that this process, or its predecessor, sent as leader must have arrived by now.
        quiet: bool,
    },
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Alive { .. } => "alive",
            Message::Claim { .. } => "claim",
            Message::Grant { .. } => "grant",
        }
    }
}

/// All messages to and from a candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Said {
    /// Between wrappers.
    Own(Message),
    /// To and from the fencing device.
    Device(power::Message),
    /// Between inner electors.
    Inner(Opaque),
}

impl Payload for Said {
    fn kind(&self) -> &'static str {
        match self {
            Said::Own(message) => message.kind(),
            Said::Device(message) => message.kind(),
            Said::Inner(message) => message.kind(),
        }
    }

    fn erase(self) -> Opaque {
        match self {
            Said::Own(message) => message.erase(),
            Said::Device(message) => message.erase(),
            Said::Inner(message) => message,
        }
    }

    fn restore(opaque: Opaque) -> Result<Self, Opaque> {
        let other = match Message::restore(opaque) {
            Ok(message) => return Ok(Said::Own(message)),
            Err(other) => other,
        };
        Ok(power::Message::restore(other).map_or_else(Said::Inner, Said::Device))
    }
}
