//! A counter of tokens, beside the ledgers in the fenced store's own process: the messages to it and from it. The
//! counter itself is in [`crate::fence::store`].

use super::Service;
use crate::payload::Payload;

/// A register with an atomic increment-and-read.
pub const SERVICE: Service = Service { name: "counter", in_store: true, has_groups: true, ..Service::NONE };

/// A message to or from the counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To the counter: requests the next token.
    Draw {
        /// The draw's number. A resent draw may draw twice; then a token is skipped.
        request: u64,
    },
    /// From the counter: a unique token.
    Drawn {
        /// The answered draw.
        request: u64,
        /// Higher than all tokens drawn before.
        token: u64,
    },
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Draw { .. } => "draw",
            Message::Drawn { .. } => "drawn",
        }
    }
}
