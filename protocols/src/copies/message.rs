//! What copies say to each other.

use super::log::{Entry, Segment};
use crate::{payload::Payload, types::Incarnation};

/// What copies say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A primary's entries, behind place `after`; none as a heartbeat.
    Stream {
        /// Whose they are: the leadership that the copy was promoted for.
        primary: Incarnation,
        /// Counts what the primary wants confirmed; see [`Message::Have`].
        round: u64,
        /// The place that the entries come behind.
        after: u64,
        /// Whose entry is at that place.
        by: Option<Incarnation>,
        /// The entries.
        entries: Vec<Entry>,
    },
    /// The receiver's log is the primary's up to this place.
    Have {
        /// Which primary's.
        primary: Incarnation,
        /// The round of the stream that this answers.
        round: u64,
        /// The place.
        up_to: u64,
    },
    /// The receiver has no such entry at that place; what it has instead.
    Differs {
        /// Which primary's stream does not fit.
        primary: Incarnation,
        /// The timelines in the receiver's log.
        segments: Vec<Segment>,
    },
    /// The receiver has promised to follow nobody older than this.
    Newer {
        /// Who is refused.
        refused: Incarnation,
        /// Who is newer.
        promised: Incarnation,
    },
    /// A leader wants to take over: promise to follow nobody older, and say what you have.
    Prepare {
        /// The leadership.
        primary: Incarnation,
    },
    /// Promised.
    Promised {
        /// To whom.
        primary: Incarnation,
        /// Whose stream the sender has followed last.
        followed: Option<Incarnation>,
        /// How long its log is.
        length: u64,
    },
    /// Send what the log below does not have.
    Fetch {
        /// Who asks.
        primary: Incarnation,
        /// The timelines in the log of the one that asks.
        segments: Vec<Segment>,
    },
    /// What was asked for.
    Fetched {
        /// Who has asked.
        primary: Incarnation,
        /// The two logs are the same up to this place.
        after: u64,
        /// Everything behind it.
        entries: Vec<Entry>,
    },
}

impl Payload for Message {
    fn is_data(&self) -> bool {
        true
    }
}
