//! Overlaps between pieces of work, in a log that states how long work lasted.

use crate::by_resource::ByResource;
use protocols::types::{Incarnation, NodeId, Resource};
use std::collections::VecDeque;

/// How many pieces per resource are remembered: those that ended last.
const REMEMBERED: usize = 1_024;

/// A piece of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) by: Incarnation,
    /// When it began and ended, microseconds.
    pub(crate) from_us: u64,
    /// See `from_us`.
    pub(crate) to_us: u64,
    /// Others may do the same at the same time.
    pub(crate) shared: bool,
}

/// A node was at work twice at once, in a log that does not say whether under one leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twice {
    pub(crate) resource: Resource,
    pub(crate) node: NodeId,
    /// When the later piece began, microseconds.
    pub(crate) from_us: u64,
}

impl Piece {
    /// Work that ended at `to_us` and lasted for `for_us`, microseconds.
    pub(crate) fn ended(by: Incarnation, to_us: u64, for_us: u64, shared: bool) -> Piece {
        Piece { by, from_us: to_us.saturating_sub(for_us), to_us, shared }
    }
}

/// The latest pieces of every resource.
#[derive(Debug, Default)]
pub(crate) struct Works {
    on: ByResource<VecDeque<Piece>>,
    /// Pieces that followed one of another leadership and must not overlap with it.
    compared: u64,
    /// See [`Works::twice`].
    twice: Option<Twice>,
}

impl Works {
    /// Takes a piece that has ended; returns the first earlier piece of another leadership that it overlaps.
    pub(crate) fn ended(&mut self, resource: Resource, piece: Piece) -> Option<Piece> {
        let on = self.on.at(resource);
        // Leaderships of one node that cannot be told apart may be one.
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

    /// The first time that a node was at work twice at once.
    pub(crate) fn twice(&self) -> Option<Twice> {
        self.twice
    }

    /// How many pieces could have overlapped another.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }
}
