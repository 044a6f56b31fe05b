//! A counter of tokens, beside the ledgers in the fenced store's own process: what is said to it and by it. The counter
//! itself is in [`crate::fence::store`].

use super::Service;
use crate::payload::Payload;

/// A register that can be raised by one and read, in one step.
pub const SERVICE: Service = Service { name: "counter", in_store: true, has_groups: true, ..Service::NONE };

/// What is said to the counter and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To the counter: the next token, please.
    Draw {
        /// Names the draw. One that is sent again may draw twice; then a token is skipped.
        request: u64,
    },
    /// From the counter: yours, and nobody else's.
    Drawn {
        /// The draw that this answers.
        request: u64,
        /// Higher than all that were drawn before.
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
