//! A bench as a state: copied, compared and hashed.

use super::{Bench, event::Pending};
use crate::elector::Elector;
use std::hash::{Hash, Hasher};

/// Something under way, and its due time.
type Awaited<'a, E> = (u64, &'a Pending<<E as Elector>::Peer, <E as Elector>::Service>);

impl<E: Elector> Bench<E> {
    /// What is under way, without its numbers: sorted independently of them, except on each link.
    fn under_way(&self) -> Vec<Awaited<'_, E>> {
        let mut all: Vec<_> = self.pending.iter().map(|((at, _), pending)| (*at, pending)).collect();
        all.sort_by_key(|(at, pending)| (*at, pending.place()));
        all
    }
}

impl<E: Elector> Clone for Bench<E> {
    fn clone(&self) -> Self {
        Bench {
            seats: self.seats.clone(),
            pending: self.pending.clone(),
            random: self.random.clone(),
            network: self.network.clone(),
            disks: self.disks.clone(),
            make: self.make.clone(),
            broken: self.broken.clone(),
            ..*self
        }
    }
}

/// Two benches with the same electors are equal if they have the same future, whatever their past.
impl<E: Elector> PartialEq for Bench<E> {
    fn eq(&self, other: &Self) -> bool {
        let parts = |bench: &Self| (bench.now, bench.timings, bench.disks.clone(), bench.random.clone());
        parts(self) == parts(other)
            && self.seats == other.seats
            && self.network == other.network
            && self.under_way() == other.under_way()
    }
}

impl<E: Elector> Eq for Bench<E> {}

impl<E: Elector> Hash for Bench<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.now, &self.seats, &self.network, &self.disks, &self.random, self.under_way()).hash(state);
    }
}
