//! The messages between servers: the RPCs of the paper's figure 2, pre-votes (dissertation, §9.6) and TimeoutNow
//! (§3.10).

use crate::payload::Payload;

/// A term; 0 before the first election.
pub type Term = u64;
/// An index in the log, from 1; 0 is before the first entry.
pub type Index = u64;

/// A request or its answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Asks for a vote.
    RequestVote {
        /// The candidate's term; in a pre-vote, the next one, which it is not in yet.
        term: Term,
        /// Whether this only asks if a vote would be granted.
        pre_vote: bool,
        /// Whether the leader itself has asked for this election.
        transfer: bool,
        /// The index of the candidate's last entry.
        last_index: Index,
        /// The term of its last entry.
        last_term: Term,
    },
    /// Grants or refuses a vote.
    Vote {
        /// The voter's term; the requested one if a pre-vote is granted.
        term: Term,
        /// Whether it answers a pre-vote.
        pre_vote: bool,
        granted: bool,
    },
    /// The leader's entries; a heartbeat if there are none.
    AppendEntries {
        term: Term,
        /// The index before the first entry.
        prev_index: Index,
        /// The term of the entry at that index.
        prev_term: Term,
        /// The terms of the entries: the no-op that starts a leader's term, and what it has appended since.
        entries: Vec<Term>,
        /// How far the leader knows the log to be committed.
        commit: Index,
        /// The time of sending by the leader's clock, repeated in the answer.
        sent: u64,
    },
    /// The answer to `AppendEntries`.
    Appended {
        term: Term,
        /// Whether its log had the entry before.
        success: bool,
        /// How far its log agrees with the leader's; if it lacks the entry before, where its log ends.
        index: Index,
        /// The request's.
        sent: u64,
    },
    /// Stand for election at once.
    TimeoutNow { term: Term },
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::RequestVote { pre_vote: true, .. } => "pre-vote",
            Message::RequestVote { .. } => "request-vote",
            Message::Vote { pre_vote: true, .. } => "pre-vote-response",
            Message::Vote { .. } => "vote-response",
            Message::AppendEntries { entries, .. } if entries.is_empty() => "heartbeat",
            Message::AppendEntries { .. } => "append-entries",
            Message::Appended { .. } => "append-response",
            Message::TimeoutNow { .. } => "timeout-now",
        }
    }
}
