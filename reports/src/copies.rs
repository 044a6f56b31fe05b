//! Evaluates copies of the data: which acknowledged writes survive to the end, and since when two copies have had
//! different writes under one number.
//!
//! Every leadership writes its own *timeline*, which continues from the end of the copy that it was promoted with. The
//! last timeline counts, with those that it was built on: any other acknowledged write is lost.

use crate::words::Names;
use protocols::{
    history::{Event, Kind},
    message::{Write, WriteVerdict},
    types::{Incarnation, RequestId, Resource},
};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// How many of a timeline's latest writes to a resource are kept; older ones are only counted.
const REMEMBERED: usize = 1 << 15;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CopyFigures {
    /// Writes that some copy acknowledged.
    pub writes_acknowledged: u64,
    /// Those missing from the final data, which is that of the leadership whose write was acknowledged last.
    pub writes_lost: u64,
    /// How long two copies had different acknowledged writes under one number, milliseconds: until the losing copy was
    /// rewound, or until the end.
    pub diverged_ms: f64,
    /// Do they still differ at the end?
    pub still_diverged: bool,
    /// The first number under which they differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_divergence: Option<Divergence>,
}

/// A number under which two copies differ. A write is named by its request and by the leader that acknowledged it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Divergence {
    /// When both were acknowledged, milliseconds.
    pub at_ms: f64,
    pub resource: String,
    pub seq: u64,
    /// The lost write.
    pub lost: String,
    /// The surviving write; `None` if the number was not used again.
    pub kept: Option<String>,
}

/// Folds a history of copies.
#[derive(Default)]
pub(crate) struct Copies {
    timelines: BTreeMap<Incarnation, Timeline>,
    /// The leadership whose write was acknowledged last.
    last: Option<Incarnation>,
    promoted: u64,
}

/// The writes of one leadership.
#[derive(Default)]
struct Timeline {
    /// The timeline that it continues.
    after: Option<Incarnation>,
    /// Where it begins on each resource: the number read by its seal.
    since: BTreeMap<Resource, u64>,
    taken: BTreeMap<Resource, Taken>,
    /// When the copy that it was written to was last rewound.
    rewound_us: Option<u64>,
}

/// Acknowledged writes, in order.
#[derive(Default)]
struct Taken {
    latest: VecDeque<Acknowledged>,
    forgotten: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) seq: u64,
    pub(crate) t_us: u64,
    pub(crate) by: Incarnation,
    pub(crate) request: RequestId,
}

/// What has survived to the end, and what has not.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) acknowledged: u64,
    pub(crate) lost: u64,
    /// Timelines that lost writes, with the number of writes.
    pub(crate) losers: Vec<(Incarnation, u64)>,
    pub(crate) first: Option<First>,
    /// How long two copies differed, microseconds.
    pub(crate) diverged_us: u64,
    /// Do they still differ?
    pub(crate) still: bool,
    pub(crate) promoted: u64,
}

/// The first number under which two copies differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    /// Since when they differ.
    pub(crate) t_us: u64,
    pub(crate) resource: Resource,
    /// The lost write.
    pub(crate) lost: Acknowledged,
    /// The write in its place, if there is one.
    pub(crate) kept: Option<Acknowledged>,
}

/// What survives: timelines, each with its last surviving number on each resource.
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

    /// How many writes have a higher number, and the first of them.
    fn beyond(&self, seq: u64) -> (u64, Option<Acknowledged>) {
        let kept = self.latest.partition_point(|write| write.seq <= seq);
        let beyond = (self.latest.len() - kept) as u64;
        // Numbers rise by one, so the forgotten writes beyond `seq` can be counted.
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

    /// The last timeline, and those that it was built on.
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

    /// The surviving write with this number.
    fn kept(&self, chain: &Chain, resource: Resource, seq: u64) -> Option<Acknowledged> {
        chain.iter().find_map(|(by, limits)| {
            let counts = limits.get(&resource).is_none_or(|limit| seq <= *limit);
            self.timelines.get(by)?.taken.get(&resource)?.at(seq).filter(|_| counts)
        })
    }

    /// The outcome at the end of the history.
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

/// The total time covered by the spans.
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
    /// The write's request, and who acknowledged it.
    pub(crate) fn said(&self, names: &Names) -> String {
        let RequestId { client, number } = self.request;
        format!("{}:{number} by {}", names.node(client), names.incarnation(self.by))
    }
}
