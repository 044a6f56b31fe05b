//! What the voters say to each other: `VoteRequest.json`, `BeginQuorumEpochRequest.json`, `EndQuorumEpochRequest.json`,
//! `FetchRequest.json` and their responses, as far as an election needs them.

use crate::{payload::Payload, types::NodeId};

/// A leadership epoch; 0 before the first election.
pub type Epoch = u32;
/// A position in the log; the log's end is one more than its last record's.
pub type Offset = u32;

/// A request or the response to one. The sender is who stands, leads, resigns or fetches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Asks.
    Request {
        /// The same when the request is sent again.
        correlation: u32,
        /// The sender's epoch.
        epoch: Epoch,
        /// For what.
        ask: Ask,
    },
    /// Answers.
    Response {
        /// The request's.
        correlation: u32,
        /// The answering voter's epoch, which may be another than the request's.
        epoch: Epoch,
        /// Who leads in that epoch, as far as the answering voter knows.
        leader: Option<NodeId>,
        /// What came of it.
        result: Result<Answer, Refusal>,
    },
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// The receiver's vote.
    Vote {
        /// Only whether it would vote; the epoch is not a new one then.
        pre_vote: bool,
        /// The epoch of the sender's last record.
        last_epoch: Epoch,
        /// The end of the sender's log.
        end_offset: Offset,
    },
    /// To follow the sender.
    BeginQuorumEpoch,
    /// To elect another leader.
    EndQuorumEpoch {
        /// Who should lead next, best first (`PreferredCandidates`, `PreferredSuccessors` before KIP-853). Each receiver
        /// waits the longer the further behind it stands there.
        successors: Vec<NodeId>,
    },
    /// What comes after `offset`.
    Fetch {
        /// The end of the sender's log: all before it is on its disk.
        offset: Offset,
        /// The epoch of the record before.
        last_fetched_epoch: Epoch,
        /// Up to where the sender knows the log to be committed.
        high_watermark: Option<Offset>,
    },
}

/// What is answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// To a vote or pre-vote.
    Vote {
        /// Was it granted?
        granted: bool,
    },
    /// The receiver follows.
    BeginQuorumEpoch,
    /// The receiver knows.
    EndQuorumEpoch,
    /// To a fetch.
    Fetch {
        /// What there is.
        found: Found,
        /// Up to where the log is committed, as far as the leader knows.
        high_watermark: Option<Offset>,
    },
}

/// What a fetch finds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Found {
    /// Nothing new.
    Nothing,
    /// A leader change, by its epoch. A real response carries as many records as fit.
    Record(Epoch),
    /// The sender's log is not the leader's: where the leader's records of this epoch or an earlier one end.
    Diverging {
        /// The epoch.
        epoch: Epoch,
        /// The end.
        end_offset: Offset,
    },
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refusal {
    /// `FENCED_LEADER_EPOCH`: the request's epoch is over.
    FencedEpoch,
    /// `UNKNOWN_LEADER_EPOCH`: the request's epoch is not known here yet.
    UnknownEpoch,
    /// `NOT_LEADER_OR_FOLLOWER`: only a leader could answer.
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
