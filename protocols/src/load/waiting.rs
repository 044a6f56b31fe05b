//! A client's waiting requests.

use crate::types::NodeId;

/// A request without a final answer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) read: bool,
    pub(super) asked: NodeId,
    /// Its position in the rotation through the candidates. Redirects do not count: two wrong ones might send it to and
    /// fro for ever.
    pub(super) turn: NodeId,
    pub(super) asked_at: u64,
    pub(super) first_at: u64,
    pub(super) moves: u8,
    pub(super) state: State,
}

impl Waiting {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.state, State::Clean | State::Unsure)
    }
}

/// The state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Under way; no earlier attempt was lost.
    Clean,
    /// Under way; an earlier attempt may have taken effect.
    Unsure,
    /// The last node refused, and no better one is known.
    Refused {
        unsure: bool,
    },
    Done,
}
