//! What the store accepted and refused: effect intervals, takeovers, stale writes.

use super::model::{Effect, Refused, Stale, Takeover};
use crate::{by_resource::ByResource, freshness::Freshness, phrases};
use protocols::{
    history::{Event, Header, Kind},
    message::{Write, WriteVerdict},
    types::Resource,
};
use std::collections::BTreeMap;

/// A longer gap, microseconds, splits one leadership's writes into two runs.
const APART_US: u64 = 250_000;
/// Stale or refused writes to one resource within this time of each other, microseconds, are reported together: first
/// for clients' numbers, which come many a second, then for all else, which comes about once a second.
const TOGETHER_US: [u64; 2] = [1_000_000, 5_000_000];
/// Folds issues, seals and the store's decisions.
#[derive(Debug, Default)]
pub(super) struct Writes {
    freshness: Freshness,
    pub(super) effects: Vec<Effect>,
    /// The index in `effects` of each leadership's effect on each resource.
    by_leadership: BTreeMap<(usize, u16), usize>,
    /// Caches the last lookup on each resource: the leadership, and its place in `effects`.
    latest: ByResource<Option<(usize, usize)>>,
    pub(super) stale: Vec<Stale>,
    pub(super) refused: Vec<Refused>,
    pub(super) takeovers: Vec<Takeover>,
    /// The leadership that each resource follows, and since when.
    newest: ByResource<Option<(usize, u64)>>,
    /// Each resource's sequence number.
    at_seq: ByResource<Option<u64>>,
    /// Writes in flight, until the store has decided.
    issued: BTreeMap<(usize, u16, u64), u64>,
    /// How many writes were accepted.
    pub(super) accepted: u64,
    /// The current event's place in the history.
    place: u64,
}

impl Writes {
    pub(super) fn new(header: Option<&Header>) -> Self {
        Writes { freshness: Freshness::new(header), ..Writes::default() }
    }

    /// Takes the event at `place` in the history, a write or a seal of leadership `i`. Returns true if a moment begins
    /// with it.
    pub(super) fn observe(&mut self, event: &Event, i: usize, place: u64) -> bool {
        let told = |writes: &Writes| (writes.effects.len(), writes.stale.len(), writes.refused.len());
        let before = told(self);
        self.place = place;
        let stale = self.freshness.observe(event);
        match &event.kind {
            Kind::Seal { resource, accepted: true, seq, .. } => {
                self.follows(event.t_us, *resource, i);
                self.at_seq.at(*resource).get_or_insert(*seq);
            }
            Kind::Issue { write, .. } => {
                self.issued.entry((i, write.resource.0, write.seq)).or_insert(event.t_us);
            }
            Kind::Apply { write, verdict, .. } => match verdict {
                WriteVerdict::Ok => self.accepted(event.t_us, write, i, stale),
                WriteVerdict::Fenced { highest } => self.fenced(event.t_us, write, i, *highest),
                _ => drop(self.decided(i, write)),
            },
            _ => {}
        }
        told(self) != before
    }

    /// Takes what a stale clean-up has deleted.
    pub(super) fn deleted(&mut self, t: u64, plans: usize) {
        if let Some(stale) = self.stale.last_mut().filter(|stale| stale.to == t) {
            stale.plans += plans as u64;
        }
    }

    /// Takes an election: elections order leaderships without a token.
    pub(super) fn elected(&mut self, event: &Event) {
        self.freshness.observe(event);
    }

    fn follows(&mut self, t: u64, resource: Resource, i: usize) {
        let newest = self.newest.at(resource);
        if newest.is_some_and(|(now, _)| now == i) {
            return;
        }
        *newest = Some((i, t));
        self.takeovers.push(Takeover { i, r: resource.index(), t });
    }

    fn accepted(&mut self, t: u64, write: &Write, i: usize, stale: bool) {
        self.accepted += 1;
        let known = match *self.latest.of(write.resource) {
            Some((latest, known)) if latest == i => known,
            _ => self.effect(t, write, i),
        };
        let effect = &mut self.effects[known];
        effect.places.1 = self.place;
        (effect.to, effect.n, effect.stale) = (t, effect.n + 1, effect.stale + u64::from(stale));
        match effect.runs.last_mut() {
            Some((_, last)) if t - *last <= APART_US => *last = t,
            _ => effect.runs.push((t, t)),
        }
        let issued = self.decided(i, write);
        if stale {
            self.past_write(t, write, i, issued);
        } else {
            self.follows(t, write.resource, i);
            *self.at_seq.at(write.resource) = Some(write.seq);
        }
    }

    /// The index of leadership `i`'s effect on the resource, which is added if it is new.
    fn effect(&mut self, t: u64, write: &Write, i: usize) -> usize {
        let r = write.resource.0;
        let places = (self.place, self.place);
        let known = *self.by_leadership.entry((i, r)).or_insert_with(|| {
            self.effects.push(Effect {
                i,
                r: r.into(),
                from: t,
                to: t,
                n: 0,
                stale: 0,
                runs: vec![(t, t)],
                seq: write.seq,
                places,
            });
            self.effects.len() - 1
        });
        *self.latest.at(write.resource) = Some((i, known));
        known
    }

    /// When the write that the store has now decided was issued.
    fn decided(&mut self, i: usize, write: &Write) -> Option<u64> {
        self.issued.remove(&(i, write.resource.0, write.seq))
    }

    fn past_write(&mut self, t: u64, write: &Write, i: usize, issued: Option<u64>) {
        let r = write.resource.index();
        if let Some(run) = self
            .stale
            .iter_mut()
            .rev()
            .find(|s| (s.i, s.r) == (i, r))
            .filter(|s| t - s.to <= TOGETHER_US[usize::from(r > 0)])
        {
            (run.to, run.n) = (t, run.n + 1);
            return;
        }
        // A newer token that was only refused has not taken over.
        let (over, since) = self.newest.of(write.resource).filter(|(newest, _)| *newest != i).unzip();
        let prev = self.at_seq.of(write.resource).unwrap_or(0);
        let since = since.unwrap_or(0);
        let (seq, place) = (write.seq, self.place);
        self.stale.push(Stale {
            i,
            r,
            from: t,
            to: t,
            n: 1,
            seq,
            prev,
            over,
            since,
            issued,
            numbers: phrases::numbers(write),
            plans: 0,
            place,
        });
    }

    fn fenced(&mut self, t: u64, write: &Write, i: usize, highest: u64) {
        let (r, seq) = (write.resource.index(), write.seq);
        let issued = self.decided(i, write);
        if let Some(run) = self
            .refused
            .iter_mut()
            .rev()
            .find(|s| (s.i, s.r) == (i, r))
            .filter(|s| t - s.to <= TOGETHER_US[usize::from(r > 0)])
        {
            (run.to, run.n) = (t, run.n + 1);
            return;
        }
        let (over, since) = self.newest.of(write.resource).unzip();
        let (highest, since) = (highest.to_string(), since.unwrap_or(0));
        let place = self.place;
        self.refused.push(Refused {
            i,
            r,
            from: t,
            to: t,
            n: 1,
            seq,
            highest,
            issued,
            over,
            since,
            numbers: phrases::numbers(write),
            place,
        });
    }
}
