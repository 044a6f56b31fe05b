//! What candidates of `stonith` say.

use crate::{
    payload::{Opaque, Payload},
    service::power,
};

/// What candidates say, besides what the inner elector's say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// I run.
    Alive {
        /// Whom the sender has heard within the ttl, a bit each. Who does not hear is no member, however loud: totem's
        /// members agree on who they are.
        hears: u64,
    },
    /// I am to lead; do you? Sent again until it is granted, or the sender does not want to any more.
    Claim {
        /// Names the claim; never used twice.
        round: u64,
    },
    /// I neither lead nor go on with a claim of my own.
    Grant {
        /// Which claim this answers.
        round: u64,
        /// Nothing that this process ever sent as leader, or its predecessor did, can still be on its way.
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

/// Everything that is said to a candidate and by it.
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
