//! Every incarnation, from its election to the end of its belief, and the store's verdicts on it.

use crate::by_resource::ByResource;
use protocols::types::{Incarnation, NodeId, Resource};

/// One incarnation. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub incarnation: Incarnation,
    /// When it was elected; `None` in a log of writes only.
    pub elected_us: Option<u64>,
    /// When its first write was accepted, on any resource, or its first work began.
    pub first_us: Option<u64>,
    /// When its last write was accepted, or its last work ended.
    pub last_us: Option<u64>,
    /// Accepted writes.
    pub accepted: u64,
    /// Accepted writes that were stale, as `no_stale_write` defines it.
    pub stale: u64,
    /// Writes refused for their token.
    pub refused: u64,
    /// When its belief ended, and why; `None` if it lasted to the end of the run, or is unknown.
    pub ended: Option<(u64, &'static str)>,
}

/// All incarnations, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    all: Vec<Leader>,
    latest: usize,
    /// For each incarnation, by its index in `all`: has it had a write accepted on the resource?
    took_effect: Vec<ByResource<bool>>,
}

impl Leaders {
    pub(super) fn all(&self) -> &[Leader] {
        &self.all
    }

    fn find(&mut self, incarnation: Incarnation) -> usize {
        if self.all.get(self.latest).is_none_or(|l| l.incarnation != incarnation) {
            let known = self.all.iter().rposition(|l| l.incarnation == incarnation);
            self.latest = known.unwrap_or_else(|| {
                self.all.push(Leader {
                    incarnation,
                    elected_us: None,
                    first_us: None,
                    last_us: None,
                    accepted: 0,
                    stale: 0,
                    refused: 0,
                    ended: None,
                });
                self.all.len() - 1
            });
        }
        self.latest
    }

    pub(super) fn elected(&mut self, t_us: u64, incarnation: Incarnation) {
        let place = self.find(incarnation);
        self.all[place].elected_us.get_or_insert(t_us);
    }

    pub(super) fn ended(&mut self, t_us: u64, incarnation: Incarnation, why: &'static str) {
        let place = self.find(incarnation);
        self.all[place].ended.get_or_insert((t_us, why));
    }

    pub(super) fn died(&mut self, t_us: u64, node: NodeId) {
        let of_node = |l: &&mut Leader| l.incarnation.node == node && l.ended.is_none();
        if let Some(leader) = self.all.iter_mut().rev().find(of_node) {
            leader.ended = Some((t_us, "died"));
        }
    }

    pub(super) fn refused(&mut self, incarnation: Incarnation) {
        let place = self.find(incarnation);
        self.all[place].refused += 1;
    }

    /// Takes the end of an incarnation's work.
    pub(super) fn worked(&mut self, incarnation: Incarnation, from_us: u64, to_us: u64) {
        let place = self.find(incarnation);
        let leader = &mut self.all[place];
        leader.first_us.get_or_insert(from_us);
        leader.last_us = leader.last_us.max(Some(to_us));
    }

    /// Takes an accepted write; returns true if it is the incarnation's first on `resource`.
    pub(super) fn accepted(&mut self, t_us: u64, incarnation: Incarnation, resource: Resource, stale: bool) -> bool {
        let place = self.find(incarnation);
        if self.took_effect.len() <= place {
            self.took_effect.resize(place + 1, ByResource::default());
        }
        let first = !std::mem::replace(self.took_effect[place].at(resource), true);
        let leader = &mut self.all[place];
        leader.first_us.get_or_insert(t_us);
        leader.last_us = leader.last_us.max(Some(t_us));
        leader.accepted += 1;
        leader.stale += u64::from(stale);
        first
    }
}
