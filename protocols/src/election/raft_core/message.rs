//! What the servers say to each other: the RPCs of the paper's figure 2, pre-votes (dissertation, §9.6) and TimeoutNow (§3.10).

use crate::payload::Payload;

/// A term; 0 before the first election.
pub type Term = u64;
/// A place in the log, from 1; 0 is before its first entry.
pub type Index = u64;

/// A request or the answer to one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Asks for a vote.
    RequestVote {
        /// The candidate's term; one that it is not in yet when it only wants to know.
        term: Term,
        /// Only whether it would be given.
        pre_vote: bool,
        /// The leader itself has asked for this election.
        transfer: bool,
        /// Where the candidate's log ends.
        last_index: Index,
        /// The term of its last entry.
        last_term: Term,
    },
    /// Gives a vote, or does not.
    Vote {
        /// The voter's term; the one that was asked about when a pre-vote is given.
        term: Term,
        /// To a pre-vote.
        pre_vote: bool,
        /// Is it given?
        granted: bool,
    },
    /// The leader's entries; a heartbeat when there are none.
    AppendEntries {
        /// The leader's term.
        term: Term,
        /// The place before the first entry.
        prev_index: Index,
        /// The term of what is there in the leader's log.
        prev_term: Term,
        /// The terms of the entries: the no-op with which the leader of a term begins it, and what it has appended since.
        entries: Vec<Term>,
        /// Up to where the leader knows the log to be committed.
        commit: Index,
        /// When this was sent, by the leader's clock: the answer has it again.
        sent: u64,
    },
    /// The answer to that.
    Appended {
        /// The follower's term.
        term: Term,
        /// Did its log have the entry before?
        success: bool,
        /// Up to where its log is the leader's; where its log ends, when it is not.
        index: Index,
        /// The request's.
        sent: u64,
    },
    /// Stand at once.
    TimeoutNow {
        /// The leader's term.
        term: Term,
    },
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
