//! The messages between voters: `VoteRequest.json`, `BeginQuorumEpochRequest.json`, `EndQuorumEpochRequest.json`,
//! `FetchRequest.json` and their responses, as far as an election needs them.

use crate::{payload::Payload, types::NodeId};

/// A leadership epoch; 0 before the first election.
pub type Epoch = u32;
/// A position in the log; the log's end is one more than the last record's offset.
pub type Offset = u32;

/// A request or its response. The requester is the one that stands, leads, resigns or fetches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    Request {
        /// The same in retransmissions of the request.
        correlation: u32,
        epoch: Epoch,
        ask: Ask,
    },
    Response {
        /// The request's.
        correlation: u32,
        /// The responder's epoch, which may differ from the request's.
        epoch: Epoch,
        /// That epoch's leader, as far as the responder knows.
        leader: Option<NodeId>,
        result: Result<Answer, Refusal>,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// Asks for a vote.
    Vote {
        /// Whether this is a pre-vote; its epoch is not a new one.
        pre_vote: bool,
        /// The epoch of the sender's last record.
        last_epoch: Epoch,
        /// The end of the sender's log.
        end_offset: Offset,
    },
    /// Asks to follow the sender.
    BeginQuorumEpoch,
    /// Asks to elect another leader.
    EndQuorumEpoch {
        /// The successors, best first (`PreferredCandidates`, `PreferredSuccessors` before KIP-853). A receiver's pause
        /// grows with its place in the list.
        successors: Vec<NodeId>,
    },
    /// Asks for the log after `offset`.
    Fetch {
        /// The end of the sender's log: everything before it is on its disk.
        offset: Offset,
        /// The epoch of the record before `offset`.
        last_fetched_epoch: Epoch,
        /// How far the sender knows the log to be committed.
        high_watermark: Option<Offset>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// To a vote or a pre-vote.
    Vote { granted: bool },
    /// The receiver follows the sender.
    BeginQuorumEpoch,
    /// The receiver has taken note.
    EndQuorumEpoch,
    /// To a fetch.
    Fetch {
        found: Found,
        /// How far the leader knows the log to be committed.
        high_watermark: Option<Offset>,
    },
}

/// A fetch's result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    Nothing,
    /// A leader change, by its epoch. A real response carries as many records as fit.
    Record(Epoch),
    /// The sender's log diverges: where the leader's records of this epoch, or of an earlier one, end.
    Diverging {
        epoch: Epoch,
        end_offset: Offset,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// `FENCED_LEADER_EPOCH`: the request's epoch has ended.
    FencedEpoch,
    /// `UNKNOWN_LEADER_EPOCH`: the receiver does not know the request's epoch yet.
    UnknownEpoch,
    /// `NOT_LEADER_OR_FOLLOWER`: only a leader can answer.
    NotLeader,
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { ask: Ask::Vote { pre_vote: true, .. }, .. } => "pre-vote",
            Message::Request { ask: Ask::Vote { .. }, .. } => "vote",
            Message::Request { ask: Ask::BeginQuorumEpoch, .. } => "begin-quorum-epoch",
            Message::Request { ask: Ask::EndQuorumEpoch { .. }, .. } => "end-quorum-epoch",
            Message::Request { ask: Ask::Fetch { .. }, .. } => "fetch",
            Message::Response { result: Ok(Answer::Vote { .. }), .. } => "vote-response",
            Message::Response { result: Ok(Answer::BeginQuorumEpoch), .. } => "begin-quorum-epoch-response",
            Message::Response { result: Ok(Answer::EndQuorumEpoch), .. } => "end-quorum-epoch-response",
            Message::Response { result: Ok(Answer::Fetch { .. }), .. } => "fetch-response",
            Message::Response { result: Err(_), .. } => "refusal",
        }
    }
}
