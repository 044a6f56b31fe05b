//! Requests that a client waits for.

use crate::types::NodeId;

/// A request that has not been answered for good.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) read: bool,
    pub(super) asked: NodeId,
    /// Where its way round the candidates has come to. What others said of the leader does not count: two that are wrong
    /// might send it to and fro for ever.
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

/// What has come of it so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Under way; no attempt has been lost so far.
    Clean,
    /// Under way; an earlier attempt may have taken effect.
    Unsure,
    /// The last answer was "not I", and nobody better is known.
    Refused {
        unsure: bool,
    },
    Done,
}
