//! One line of the story.

use crate::{reads::Read, words::Names};
use protocols::types::{Incarnation, NodeId, Resource};

/// The state of a node, as its lane shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneState {
    pub(crate) running: Running,
    pub(crate) believes: bool,
    /// It believed when another was elected, and nothing has since reported whether it stopped.
    pub(crate) untold: bool,
    pub(crate) cut_off: bool,
}

/// The state of a process.
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
    /// The writer of the last accepted write.
    pub(crate) in_effect: Option<NodeId>,
    /// How many writes were accepted before this line.
    pub(crate) accepted: u64,
    pub(crate) mark: Mark,
    pub(crate) text: String,
    pub(super) about: About,
}

impl Row {
    /// The text of the line, with times formatted by `names`.
    pub(super) fn said(&self, names: &Names) -> String {
        match self.about {
            About::More { until_us, .. } => format!("{}, until {}", self.text, names.moment(until_us)),
            _ => self.text.clone(),
        }
    }
}

/// The store's lane on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Nothing happened at the store.
    Quiet,
    /// A write or seal of this node was rightly accepted.
    Accepted(NodeId),
    /// A write or seal of this node was refused.
    Refused(NodeId),
    /// A write of this node was accepted after another had taken over.
    Stale(NodeId),
    /// A client got stale data; the store is not involved.
    Misread,
}

/// The subject of a line, so that a related event can be added to it.
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
    /// Stale writes beyond those with lines of their own.
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
