//! What copies of the data make of a history: which acknowledged writes are left in the end, and since when two copies say
//! different things under one number.
//!
//! Every leadership writes a *timeline* of its own, which goes on where the copy that it was promoted with ended. In the end the
//! last of them counts, with what it was built on: whatever was acknowledged beside that is lost.

use crate::words::Names;
use protocols::{
    history::{Event, Kind},
    message::{Write, WriteVerdict},
    types::{Incarnation, RequestId, Resource},
};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// So many of a timeline's latest writes to a resource are remembered: those before are counted and cannot be told any more.
const REMEMBERED: usize = 1 << 15;

/// The figures of copies of the data.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CopyFigures {
    /// Writes that some copy acknowledged.
    pub writes_acknowledged: u64,
    /// Those of them that are not in what counts in the end: what the leadership has whose write was acknowledged last.
    pub writes_lost: u64,
    /// For how long two copies had different acknowledged writes under one number, milliseconds: up to when the one that loses
    /// was rewound, or to the end.
    pub diverged_ms: f64,
    /// Do they still differ at the end?
    pub still_diverged: bool,
    /// The first number under which they differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_divergence: Option<Divergence>,
}

/// A number under which two copies differ. Writes are named by whom they served, and by whom they were acknowledged.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Divergence {
    /// Since when: both were acknowledged. Milliseconds.
    pub at_ms: f64,
    /// Of which resource.
    pub resource: String,
    /// The number.
    pub seq: u64,
    /// The write that is lost.
    pub lost: String,
    /// The one that stays; `None` when nobody took the number again.
    pub kept: Option<String>,
}

/// Folds a history of copies.
#[derive(Default)]
pub(crate) struct Copies {
    timelines: BTreeMap<Incarnation, Timeline>,
    /// Whose write was acknowledged last.
    last: Option<Incarnation>,
    promoted: u64,
}

/// What one leadership has written.
#[derive(Default)]
struct Timeline {
    /// What it goes on from.
    after: Option<Incarnation>,
    /// Where it begins at each resource: the number that its seal has read.
    since: BTreeMap<Resource, u64>,
    taken: BTreeMap<Resource, Taken>,
    /// When the copy that it was written to was rewound for the last time.
    rewound_us: Option<u64>,
}

/// Acknowledged writes, in order.
#[derive(Default)]
struct Taken {
    latest: VecDeque<Acknowledged>,
    forgotten: u64,
}

/// One acknowledged write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) seq: u64,
    pub(crate) t_us: u64,
    pub(crate) by: Incarnation,
    pub(crate) request: RequestId,
}

/// What is left of a history, and what is not.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) acknowledged: u64,
    pub(crate) lost: u64,
    /// Timelines that have lost something, each with how much.
    pub(crate) losers: Vec<(Incarnation, u64)>,
    pub(crate) first: Option<First>,
    /// For how long two copies said different things, microseconds.
    pub(crate) diverged_us: u64,
    /// Do they still?
    pub(crate) still: bool,
    pub(crate) promoted: u64,
}

/// The first number under which two copies say different things.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    /// Since when.
    pub(crate) t_us: u64,
    pub(crate) resource: Resource,
    /// What is lost.
    pub(crate) lost: Acknowledged,
    /// What stands in its place, if anything does.
    pub(crate) kept: Option<Acknowledged>,
}

/// What counts in the end: timelines, and up to which number of each resource each does.
type Chain = BTreeMap<Incarnation, BTreeMap<Resource, u64>>;

impl Taken {
    fn add(&mut self, write: Acknowledged) {
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
            self.forgotten += 1;
        }
        self.latest.push_back(write);
    }

    fn count(&self) -> u64 {
        self.forgotten + self.latest.len() as u64
    }

    /// How many have a higher number, and the first of them.
    fn beyond(&self, seq: u64) -> (u64, Option<Acknowledged>) {
        let kept = self.latest.partition_point(|write| write.seq <= seq);
        let beyond = (self.latest.len() - kept) as u64;
        // Numbers rise one by one: what was forgotten and is beyond can be counted.
        let first = self.latest.front().map_or(0, |first| first.seq.saturating_sub(seq + 1));
        let forgotten = if kept == 0 { first.min(self.forgotten) } else { 0 };
        (beyond + forgotten, self.latest.get(kept).copied())
    }

    fn at(&self, seq: u64) -> Option<Acknowledged> {
        let place = self.latest.binary_search_by_key(&seq, |write| write.seq).ok()?;
        self.latest.get(place).copied()
    }
}

impl Copies {
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Promoted { incarnation, after } => {
                self.promoted += 1;
                self.timelines.entry(*incarnation).or_default().after = *after;
            }
            Kind::Seal { resource, incarnation, accepted: true, seq, .. } => {
                let timeline = self.timelines.entry(*incarnation).or_default();
                timeline.since.entry(*resource).or_insert(*seq);
            }
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } => {
                self.acknowledged(event.t_us, write.incarnation(*node), write);
            }
            Kind::Rewound { node, .. } => {
                for timeline in self.timelines.iter_mut().filter(|(by, _)| by.node == *node) {
                    timeline.1.rewound_us = Some(event.t_us);
                }
            }
            _ => {}
        }
    }

    fn acknowledged(&mut self, t_us: u64, by: Incarnation, write: &Write) {
        self.last = Some(by);
        let taken = self.timelines.entry(by).or_default().taken.entry(write.resource).or_default();
        taken.add(Acknowledged { seq: write.seq, t_us, by, request: write.request() });
    }

    /// What the last timeline has, and what it was built on.
    fn chain(&self) -> Chain {
        let mut chain = Chain::new();
        let (mut next, mut limits) = (self.last, BTreeMap::<Resource, u64>::new());
        while let Some((by, timeline)) = next.and_then(|by| Some((by, self.timelines.get(&by)?))) {
            if chain.insert(by, limits.clone()).is_some() {
                break;
            }
            for (resource, since) in &timeline.since {
                let limit = limits.entry(*resource).or_insert(*since);
                *limit = (*limit).min(*since);
            }
            next = timeline.after;
        }
        chain
    }

    /// What counts under a number.
    fn kept(&self, chain: &Chain, resource: Resource, seq: u64) -> Option<Acknowledged> {
        chain.iter().find_map(|(by, limits)| {
            let counts = limits.get(&resource).is_none_or(|limit| seq <= *limit);
            self.timelines.get(by)?.taken.get(&resource)?.at(seq).filter(|_| counts)
        })
    }

    /// What is left when the history ends.
    pub(crate) fn ending(&self, end_us: u64) -> Ending {
        let chain = self.chain();
        let mut ending = Ending { promoted: self.promoted, ..Ending::default() };
        let mut spans = Vec::new();
        for (by, timeline) in &self.timelines {
            let mut lost_here = 0;
            let mut since: Option<u64> = None;
            for (resource, taken) in &timeline.taken {
                ending.acknowledged += taken.count();
                let limit = chain.get(by).map_or(Some(0), |limits| limits.get(resource).copied());
                let Some(limit) = limit else { continue };
                let (lost, first) = taken.beyond(limit);
                lost_here += lost;
                let Some(first) = first else { continue };
                let kept = self.kept(&chain, *resource, first.seq);
                let t_us = kept.map_or(first.t_us, |kept| kept.t_us.max(first.t_us));
                since = Some(since.map_or(t_us, |since| since.min(t_us)));
                if ending.first.is_none_or(|earliest| t_us < earliest.t_us) {
                    ending.first = Some(First { t_us, resource: *resource, lost: first, kept });
                }
            }
            if lost_here > 0 {
                ending.lost += lost_here;
                ending.losers.push((*by, lost_here));
                let since = since.unwrap_or(end_us);
                let until = timeline.rewound_us.filter(|rewound_us| *rewound_us >= since);
                ending.still |= until.is_none();
                spans.push((since, until.unwrap_or(end_us)));
            }
        }
        ending.diverged_us = covered(spans);
        ending
    }
}

/// How long any of these spans lasts.
fn covered(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut sum, mut reached) = (0, 0);
    for (from, to) in spans {
        let from = from.max(reached);
        sum += to.saturating_sub(from);
        reached = reached.max(to);
    }
    sum
}

impl Ending {
    /// As figures.
    pub(crate) fn figures(&self, names: &Names) -> CopyFigures {
        let ms = |us: u64| us as f64 / 1e3;
        CopyFigures {
            writes_acknowledged: self.acknowledged,
            writes_lost: self.lost,
            diverged_ms: ms(self.diverged_us),
            still_diverged: self.still,
            first_divergence: self.first.map(|first| Divergence {
                at_ms: ms(first.t_us),
                resource: names.resource(first.resource).into_owned(),
                seq: first.lost.seq,
                lost: first.lost.said(names),
                kept: first.kept.map(|kept| kept.said(names)),
            }),
        }
    }
}

impl Acknowledged {
    /// Whose write, and by whom it was acknowledged.
    pub(crate) fn said(&self, names: &Names) -> String {
        let RequestId { client, number } = self.request;
        format!("{}:{number} by {}", names.node(client), names.incarnation(self.by))
    }
}
