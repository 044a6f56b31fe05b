//! One line of the story.

use crate::{reads::Read, words::Names};
use protocols::types::{Incarnation, NodeId, Resource};

/// What a node does, as a lane shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) running: Running,
    pub(crate) believes: bool,
    /// It believed when another was elected, and nobody has said since whether it stopped.
    pub(crate) untold: bool,
    pub(crate) cut_off: bool,
}

/// Is the process there?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Running {
    #[default]
    NotYet,
    Runs,
    Paused,
    Down,
}

/// One line of the story.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) t_us: u64,
    pub(crate) lanes: Vec<LaneState>,
    /// Whose write the store accepted last.
    pub(crate) in_effect: Option<NodeId>,
    /// How many writes were accepted before this line.
    pub(crate) accepted: u64,
    pub(crate) mark: Mark,
    pub(crate) text: String,
    pub(super) about: About,
}

impl Row {
    /// What the line says, with moments as `names` says them.
    pub(super) fn said(&self, names: &Names) -> String {
        match self.about {
            About::More { until_us, .. } => format!("{}, until {}", self.text, names.moment(until_us)),
            _ => self.text.clone(),
        }
    }
}

/// How the store's lane looks on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Nothing happened at the store.
    Quiet,
    /// Something of this node was accepted, rightly.
    Accepted(NodeId),
    /// A write or seal of this node was refused.
    Refused(NodeId),
    /// A write of this node was accepted after another had taken over.
    Stale(NodeId),
    /// A client was told the past; the store has no part in it.
    Misread,
}

/// What a line is about, so that an event that belongs to the line before joins it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum About {
    Other,
    Fault(Vec<NodeId>),
    Node(NodeId),
    Reads {
        reads: u64,
        first: Read,
    },
    Seal {
        incarnation: Incarnation,
        resources: Vec<Resource>,
        seq: u64,
    },
    /// Stale writes beyond those that lines of their own tell of.
    More {
        incarnation: Incarnation,
        accepted: bool,
        writes: u64,
        until_us: u64,
    },
    Writes {
        incarnation: Incarnation,
        resource: Resource,
        accepted: bool,
        writes: u64,
        first_seq: u64,
        highest: u64,
    },
}
