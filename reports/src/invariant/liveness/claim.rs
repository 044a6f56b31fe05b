//! A claim that somebody acts as long as it is made, with the longest interval in which nobody did.

use super::clients::Clients;
use crate::cluster::{Cluster, Way};
use protocols::{
    elector::Deposed,
    types::{Incarnation, NodeId},
};

/// The claim that somebody acts within the bound and that every client is served.
pub(super) struct Claim {
    bound_us: u64,
    /// If the claim is made now: since when without an interruption.
    made_from: Option<u64>,
    /// The last write that counts, or the last interruption; or later, while nobody can be expected to act.
    latest: u64,
    /// Accepted writes since then by nodes that no longer believed.
    pub(super) uncounted: u64,
    /// Leaders that stopped believing since then without a write that counts.
    pub(super) in_vain: InVain,
    /// The node that is half heard now.
    half_heard: Option<NodeId>,
    /// The node that was half heard at some time since the last write that counts.
    was_half_heard: Option<NodeId>,
    /// The longest uninterrupted time for which the claim was made.
    pub(super) judged: u64,
    pub(super) longest: Option<Gap>,
    pub(super) clients: Clients,
}

/// The last election.
#[derive(Clone, Copy)]
pub(super) struct Elected {
    pub(super) incarnation: Incarnation,
    pub(super) wrote: bool,
}

/// Leaders that came and went without a write that counts: their number, and the last one with the reason for its end.
#[derive(Clone, Copy, Default)]
pub(super) struct InVain {
    pub(super) count: u64,
    pub(super) last: Option<(Incarnation, Deposed)>,
}

impl InVain {
    pub(super) fn add(&mut self, incarnation: Incarnation, reason: Deposed) {
        *self = InVain { count: self.count + 1, last: Some((incarnation, reason)) };
    }
}

/// An interval without a write that counts.
pub(super) struct Gap {
    pub(super) from_us: u64,
    pub(super) us: u64,
    pub(super) way: Way,
    pub(super) elected: Option<Elected>,
    /// Accepted writes by nodes that no longer believed.
    pub(super) uncounted: u64,
    pub(super) in_vain: InVain,
    /// A node that was half heard meanwhile.
    pub(super) half_heard: Option<NodeId>,
}

/// The time of an event, the way that was open until then, and the last election.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) t_us: u64,
    pub(super) way: Option<&'a Way>,
    pub(super) elected: Option<Elected>,
}

/// The situation from now on.
#[derive(Clone, Copy)]
pub(super) struct Now {
    /// Something happened that all others have to get over first.
    pub(super) interrupted: bool,
    /// Is the claim made?
    pub(super) made: bool,
    pub(super) half_heard: Option<NodeId>,
}

impl Claim {
    pub(super) fn new(bound_us: u64, clients: Clients) -> Self {
        let (latest, uncounted, judged) = (0, 0, 0);
        let (made_from, half_heard, was_half_heard, longest) = (None, None, None, None);
        let in_vain = InVain::default();
        Claim { bound_us, made_from, latest, uncounted, in_vain, half_heard, was_half_heard, judged, longest, clients }
    }

    /// The interval that exceeded the bound, if there is one.
    pub(super) fn violation(&self) -> Option<&Gap> {
        self.longest.as_ref().filter(|gap| gap.us > self.bound_us)
    }

    /// Takes an accepted write that counts.
    pub(super) fn acted(&mut self, at: At) {
        if self.made_from.is_some() {
            self.gap(at);
        }
    }

    /// Ends the interval without a write.
    fn gap(&mut self, at: At) {
        let us = at.t_us.saturating_sub(self.latest);
        if let Some(way) = at.way.filter(|_| self.longest.as_ref().is_none_or(|longest| us > longest.us)) {
            let Claim { latest: from_us, uncounted, in_vain, was_half_heard: half_heard, .. } = *self;
            self.longest =
                Some(Gap { from_us, us, way: way.clone(), elected: at.elected, uncounted, in_vain, half_heard });
        }
        (self.latest, self.uncounted, self.was_half_heard) = (self.latest.max(at.t_us), 0, self.half_heard);
        self.in_vain = InVain::default();
    }

    /// Expects nobody to act, and no client to be served, until then.
    pub(super) fn wait_until(&mut self, t_us: u64) {
        self.latest = t_us;
        self.clients.wait_until(t_us);
    }

    /// Makes or withdraws the claim from now on.
    pub(super) fn settle(&mut self, at: At, now: Now, cluster: &Cluster) {
        if now.interrupted || !now.made {
            if let Some(from_us) = self.made_from.take() {
                self.judged = self.judged.max(at.t_us.saturating_sub(from_us));
                self.gap(at);
            }
        }
        self.clients.settle(at.t_us, now.interrupted, now.made, cluster);
        self.half_heard = now.half_heard;
        self.was_half_heard = self.half_heard.or(self.was_half_heard);
        if now.made && self.made_from.is_none() {
            let from_us = self.latest.max(at.t_us);
            (self.made_from, self.latest, self.uncounted) = (Some(from_us), from_us, 0);
            (self.was_half_heard, self.in_vain) = (self.half_heard, InVain::default());
        }
    }
}
