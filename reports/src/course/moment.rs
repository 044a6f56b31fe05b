//! The moments of a run: what happened, as data.

use super::ends::GrantEnded;
use crate::said::Said;
use protocols::{
    elector::Deposed,
    history::{FaultEvent, NodeState},
    types::NodeId,
};
use serde::Serialize;

/// What happened at a moment; [`crate::phrases::say`] words it. Indices are those of the model's lists.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Fault(Box<FaultEvent>),
    Healed(Box<FaultEvent>),
    /// A process changed its state; did it believe just before?
    State {
        state: NodeState,
        believes: bool,
    },
    /// A member of the service begins to lead the others.
    LeadsMembers,
    Elected {
        i: usize,
        /// The others that believe, and whether each is paused.
        still: Vec<(u16, bool)>,
        /// Those of which a log has not reported that they stopped.
        untold: Vec<u16>,
    },
    Deposed {
        i: usize,
        reason: Deposed,
    },
    Granted(Option<u64>),
    GrantEnded(GrantEnded),
    Sealed {
        i: usize,
        resources: Vec<usize>,
        /// The highest number there.
        seq: u64,
    },
    /// So many attempts were refused.
    SealRefused {
        i: usize,
        r: usize,
        n: u64,
    },
    TakesEffect(usize),
    Stale(usize),
    Refused(usize),
    Misread(usize),
    Rewound {
        onto: usize,
        entries: u64,
    },
    /// Invariants, with the first one's finding.
    Violated(Vec<&'static str>, Said),
    /// Dark for so long, microseconds, for a reason that no other moment shows.
    Dark(u64),
}

impl What {
    /// The fault, if it is the beginning of one.
    pub(crate) fn fault(&self) -> Option<&FaultEvent> {
        match self {
            What::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// Its kind.
    pub(crate) const fn turn(&self) -> Turn {
        match self {
            What::State { state: NodeState::Joined | NodeState::Left, .. } | What::LeadsMembers => Turn::Member,
            What::State { state: NodeState::Up | NodeState::Resumed, .. } | What::Healed(_) => Turn::Heal,
            What::Fault(_) | What::State { .. } => Turn::Fault,
            What::Elected { .. } => Turn::Elect,
            What::Deposed { .. } => Turn::Stop,
            What::Granted(_) | What::GrantEnded(_) => Turn::Grant,
            What::Sealed { .. } => Turn::Seal,
            What::TakesEffect(_) => Turn::Effect,
            What::SealRefused { .. } | What::Refused(_) => Turn::Refuse,
            What::Rewound { .. } => Turn::Rewind,
            What::Stale(_) | What::Misread(_) | What::Violated(..) => Turn::Bad,
            What::Dark(_) => Turn::Dark,
        }
    }
}

/// The kind of a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Turn {
    Fault,
    Heal,
    Elect,
    Stop,
    Grant,
    Seal,
    Effect,
    Refuse,
    Rewind,
    /// A violation.
    Bad,
    Dark,
    Member,
    /// Moments were left out.
    Gap,
}

/// A moment of the story.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) t: u64,
    /// The place of its event in the history; [`Moment::LAST`] without one of its own.
    pub(crate) place: u64,
    /// The processes that it concerns.
    pub(crate) on: Vec<NodeId>,
    pub(crate) what: What,
    /// How long it is dark because of it, microseconds.
    pub(crate) dark_us: Option<u64>,
    /// The invariants that are violated then.
    pub(crate) violates: Vec<&'static str>,
}

impl Moment {
    /// After all events of its microsecond.
    pub(crate) const LAST: u64 = u64::MAX;

    pub(crate) const fn new(t: u64, place: u64, on: Vec<NodeId>, what: What) -> Self {
        Moment { t, place, on, what, dark_us: None, violates: Vec::new() }
    }

    /// The process that it is about, if it is one.
    pub(crate) fn node(&self) -> Option<u16> {
        self.on.first().filter(|_| self.on.len() == 1).map(|node| node.0)
    }
}

/// A numbered moment in the page's list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) t: u64,
    pub(crate) k: Turn,
    pub(crate) node: Option<u16>,
    pub(crate) text: String,
    /// How many nodes believed and how many leaders were acting just after its own event, not after all of its
    /// microsecond.
    pub(crate) believing: usize,
    pub(crate) acting: usize,
}
