//! The messages between copies.

use super::log::{Entry, Segment};
use crate::{payload::Payload, types::Incarnation};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A primary's entries behind place `after`; without entries, a heartbeat.
    Stream {
        /// The leadership that the sending copy was promoted for.
        primary: Incarnation,
        /// The round to be confirmed; see [`Message::Have`].
        round: u64,
        /// The place that the entries follow.
        after: u64,
        /// The leadership of the entry at that place.
        by: Option<Incarnation>,
        entries: Vec<Entry>,
        /// How far the log is committed, as the primary knows; 0 without LeaseGuard, since nobody asks for it.
        commit: u64,
    },
    /// Confirms that the sender's log agrees with the primary's up to this place.
    Have {
        /// The primary that is confirmed.
        primary: Incarnation,
        /// The round of the stream that this answers.
        round: u64,
        up_to: u64,
    },
    /// The sender's log has another entry at that place.
    Differs {
        /// The primary whose stream does not fit.
        primary: Incarnation,
        /// The timelines in the sender's log.
        segments: Vec<Segment>,
    },
    /// The sender has promised to follow nobody older than `promised`.
    Newer {
        /// The refused leadership.
        refused: Incarnation,
        /// The newer leadership.
        promised: Incarnation,
    },
    /// A leader wants to take over. It asks for a promise to follow nobody older, and for the state of the log.
    Prepare { primary: Incarnation },
    /// The promise.
    Promised {
        primary: Incarnation,
        /// The leadership whose stream the sender last followed.
        followed: Option<Incarnation>,
        /// The length of its log.
        length: u64,
    },
    /// Asks for the entries that the sender's log lacks.
    Fetch {
        primary: Incarnation,
        /// The timelines in the sender's log.
        segments: Vec<Segment>,
    },
    /// The entries asked for.
    Fetched {
        primary: Incarnation,
        /// The place up to which the two logs agree.
        after: u64,
        /// All entries behind it.
        entries: Vec<Entry>,
    },
}

impl Payload for Message {
    fn is_data(&self) -> bool {
        true
    }
}
