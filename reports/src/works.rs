//! Work with a beginning and an end, in a log that says how long it lasted: which pieces lay over each other.

use crate::by_resource::ByResource;
use protocols::types::{Incarnation, NodeId, Resource};
use std::collections::VecDeque;

/// So many pieces of a resource are remembered, the latest to end.
const REMEMBERED: usize = 1_024;

/// A piece of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Whose.
    pub(crate) by: Incarnation,
    /// When it began and ended, microseconds.
    pub(crate) from_us: u64,
    /// See `from_us`.
    pub(crate) to_us: u64,
    /// Others may do the same at once.
    pub(crate) shared: bool,
}

/// A node was at work twice at once, in a log that does not say whether in one leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twice {
    pub(crate) resource: Resource,
    pub(crate) node: NodeId,
    /// When the later piece began, microseconds.
    pub(crate) from_us: u64,
}

impl Piece {
    /// Work that ended at `to_us` and had lasted for so long, microseconds.
    pub(crate) fn ended(by: Incarnation, to_us: u64, for_us: u64, shared: bool) -> Piece {
        Piece { by, from_us: to_us.saturating_sub(for_us), to_us, shared }
    }
}

/// The latest pieces of every resource.
#[derive(Debug, Default)]
pub(crate) struct Works {
    on: ByResource<VecDeque<Piece>>,
    /// How many pieces followed one of another leadership, and were not to be shared with it.
    compared: u64,
    /// See [`Works::twice`].
    twice: Option<Twice>,
}

impl Works {
    /// A piece has ended; the first before it that is another leadership's and that it lay over.
    pub(crate) fn ended(&mut self, resource: Resource, piece: Piece) -> Option<Piece> {
        let on = self.on.at(resource);
        // Of one node's leaderships that nobody tells apart, nobody knows that they are two.
        let another = |other: &Piece| {
            let told_apart = other.by != piece.by && other.by.is_known() && piece.by.is_known();
            (other.by.node != piece.by.node || told_apart) && !(other.shared && piece.shared)
        };
        self.compared += u64::from(on.iter().any(another));
        let at_once = |other: &&Piece| other.to_us > piece.from_us && other.from_us < piece.to_us;
        let over = on.iter().filter(at_once).find(|other| another(other)).copied();
        let same = |other: &&Piece| other.by == piece.by && !other.by.is_known() && !(other.shared && piece.shared);
        if self.twice.is_none() && on.iter().filter(at_once).any(|other| same(&other)) {
            let from_us = on.iter().filter(at_once).map(|other| other.from_us).fold(piece.from_us, u64::max);
            self.twice = Some(Twice { resource, node: piece.by.node, from_us });
        }
        if on.len() == REMEMBERED {
            on.pop_front();
        }
        on.push_back(piece);
        over
    }

    /// The first time.
    pub(crate) fn twice(&self) -> Option<Twice> {
        self.twice
    }

    /// How many pieces could have lain over another.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }
}
