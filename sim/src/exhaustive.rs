//! Exhaustive search over pauses, where the space is small: a run without faults shows which named points each node
//! passes and how often; then every such passage is paused for each of four lengths around the lease, in a run of its
//! own. Pairs of pauses are tried within a budget.

use crate::{
    error::Failed,
    interrupt, pool,
    registry::Registry,
    run::{self, Options},
};
use protocols::{
    election::{Promise, Protocol, hazard::PAUSE_BEYOND_LEASE},
    fence::checks::Fencing,
    point::Point,
};
use reports::Verdict;
use scenarios::{
    Params,
    fault::{Fault, PlannedFault, Trigger, Who},
    plan::Plan,
    scenario::{self, settled_ms},
};
use std::collections::BTreeMap;

/// How much shorter and longer than a lease two of the pauses are, milliseconds.
const EPSILON_MS: u64 = 100;
/// The scenario whose fleet is paused.
pub const BASE: &str = "steady";

/// What to search.
pub struct Exhaustive<'a> {
    pub registry: &'a Registry,
    pub protocol: &'static Protocol,
    pub params: &'a Params,
    pub seed: u64,
    /// How many pairs of pauses to try at most.
    pub pairs: u64,
    /// The number of parallel runs.
    pub jobs: usize,
}

/// The nth passage of a point by a node, counted from 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Passage {
    pub node: String,
    pub point: Point,
    pub nth: u64,
}

/// A passage, and how long its node is paused there, milliseconds.
pub type Pause = (Passage, u64);

/// A run that violated safety.
#[derive(Clone, Debug)]
pub struct Broken {
    pub plan: Plan,
    pub pauses: Vec<Pause>,
    pub trace_hash: String,
    pub violated: Vec<&'static str>,
}

/// What the runs of some schedules came to.
#[derive(Clone, Default, Debug)]
pub struct Came {
    /// Schedules that exist, and those that were run.
    pub schedules: u64,
    pub runs: u64,
    /// Runs in which each of the pauses happened: an earlier one may change the course so that a later passage never
    /// comes.
    pub struck: u64,
    /// Runs in which the store refused a former leader's write.
    pub refused: u64,
    /// Runs in which two nodes believed at once.
    pub two_believed: u64,
    /// Runs that violated safety, and the first of them.
    pub unsafe_: u64,
    pub first_unsafe: Option<Broken>,
    /// Runs in which nobody led in time.
    pub leaderless: u64,
    /// Runs in which somebody was elected after the first leader.
    pub succeeded: u64,
}

/// The result for one protocol.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The passages of each point, of all nodes together.
    pub passages: BTreeMap<&'static str, u64>,
    /// The lengths of the pauses, milliseconds.
    pub lengths_ms: Vec<u64>,
    pub singles: Came,
    pub pairs: Came,
    /// Whether the protocol promises safety under such pauses.
    pub promises: bool,
}

impl Searched {
    /// Whether no run could have shown two leaders: nothing was paused, or nobody ever succeeded a leader.
    pub fn shows_nothing(&self) -> bool {
        self.singles.succeeded + self.pairs.succeeded == 0
    }
}

impl Exhaustive<'_> {
    /// Searches; `None` if the program was asked to end.
    ///
    /// # Errors
    /// The parameters make no sense, or a run could not be finished.
    pub fn search(&self) -> Result<Option<Searched>, Failed> {
        let lengths_ms = self.lengths_ms();
        let plan = self.plan(&lengths_ms)?;
        let passages = self.passages(&plan)?;
        let alone: Vec<Pause> =
            passages.iter().flat_map(|one| lengths_ms.iter().map(move |ms| (one.clone(), *ms))).collect();
        let count = alone.len() as u64;
        let Some(singles) = self.all(&plan, count, count, |nth| vec![alone[nth as usize].clone()])? else {
            return Ok(None);
        };
        let lengths = lengths_ms.len() as u64;
        // Of two passages, the earlier comes first: by their numbers, with each of the lengths for each.
        let of = passages.len() as u64;
        let every = of * of.saturating_sub(1) / 2 * lengths * lengths;
        let pair = |nth: u64| {
            let (first, second) = nth_pair(nth / (lengths * lengths));
            let (one, other) = ((nth / lengths) % lengths, nth % lengths);
            [(first, one), (second, other)]
                .map(|(passage, length)| (passages[passage as usize].clone(), lengths_ms[length as usize]))
                .to_vec()
        };
        let Some(pairs) = self.all(&plan, every, self.pairs.min(every), pair)? else { return Ok(None) };
        let mut counted = BTreeMap::new();
        for passage in &passages {
            *counted.entry(passage.point.name()).or_default() += 1;
        }
        let promises =
            (self.protocol.promise)(PAUSE_BEYOND_LEASE, self.params.fencing != Fencing::Off) == Promise::Holds;
        Ok(Some(Searched { passages: counted, lengths_ms, singles, pairs, promises }))
    }

    /// A little shorter than a lease, a lease, a little longer, and three; or as long as a successor may take, if that is
    /// longer.
    fn lengths_ms(&self) -> Vec<u64> {
        let ttl_ms = self.params.granted_ttl_ms(self.protocol);
        let longest_ms = (3 * ttl_ms).max(ttl_ms + self.params.takeover_max_ms(self.protocol) + EPSILON_MS);
        let mut lengths = vec![ttl_ms.saturating_sub(EPSILON_MS).max(1), ttl_ms, ttl_ms + EPSILON_MS, longest_ms];
        lengths.dedup();
        lengths
    }

    /// A run without faults that is long enough for a pause at its last passage, and for what comes of it.
    fn plan(&self, lengths_ms: &[u64]) -> Result<Plan, Failed> {
        let (params, protocol) = (self.params, self.protocol);
        let steady = scenario::find(BASE).ok_or("there is no steady scenario")?;
        let mut plan = steady.compile(params, protocol, self.seed)?;
        let longest_ms = lengths_ms.iter().max().copied().unwrap_or(0);
        plan.duration_ms = self.horizon_ms() + 2 * longest_ms + params.aftermath_ms(protocol);
        plan.requires.clear();
        self.registry.plans.validate(&plan)?;
        Ok(plan)
    }

    /// Until when passages count, milliseconds: the first leader has renewed twice.
    fn horizon_ms(&self) -> u64 {
        settled_ms(self.params, self.protocol) + self.params.timings(self.protocol).renew_interval_ms
    }

    /// Every passage until the horizon, in order of time.
    fn passages(&self, plan: &Plan) -> Result<Vec<Passage>, Failed> {
        let run =
            run::run(plan, Options { registry: self.registry.clone(), count_points: true, ..Options::default() })?;
        let mut counts = BTreeMap::new();
        let candidates = plan.candidates.len();
        let mut passages = Vec::new();
        for passed in run.passed.iter().filter(|passed| passed.node.index() < candidates && passed.group == 0) {
            let nth = counts.entry((passed.node, passed.point)).or_insert(0);
            *nth += 1;
            if passed.now <= self.horizon_ms() * 1_000_000 {
                let node = plan.candidates[passed.node.index()].name.clone();
                passages.push(Passage { node, point: passed.point, nth: *nth });
            }
        }
        Ok(passages)
    }

    /// Runs `runs` of `schedules` schedules, evenly chosen; `None` if asked to end.
    fn all(
        &self,
        plan: &Plan,
        schedules: u64,
        runs: u64,
        of: impl Fn(u64) -> Vec<Pause> + Sync,
    ) -> Result<Option<Came>, Failed> {
        let mut came = Came { schedules, ..Came::default() };
        let mut stopped = None;
        let work = |place: u64| {
            let pauses = of(evenly(place, runs, schedules));
            self.one(plan, &pauses).map(|run| (pauses, run))
        };
        pool::each(runs, self.jobs, work, |_, one| {
            match one {
                Ok((pauses, run)) => came.count(pauses, run),
                Err(error) => stopped = Some(error),
            }
            stopped.is_none() && !interrupt::asked()
        });
        match stopped {
            Some(error) => Err(error),
            None => Ok((came.runs == runs).then_some(came)),
        }
    }

    fn one(&self, plan: &Plan, pauses: &[Pause]) -> Result<run::Run, Failed> {
        let fault = |(passage, ms): &Pause| PlannedFault {
            when: Trigger::Passage {
                point: passage.point.name().to_owned(),
                node: Who::Named(passage.node.clone()),
                nth: passage.nth,
                matching: None,
                after: None,
                delay_ms: 0.0,
            },
            what: Fault::Pause { node: Who::Trigger, for_ms: *ms as f64 },
            group: 0,
        };
        let plan = Plan { faults: pauses.iter().map(fault).collect(), ..plan.clone() };
        run::run(&plan, Options { registry: self.registry.clone(), ..Options::default() })
    }
}

impl Came {
    fn count(&mut self, pauses: Vec<Pause>, run: run::Run) {
        let (judgement, of) = (&run.judgement, pauses.len() as u64);
        self.runs += 1;
        self.struck += u64::from(run.faults >= of);
        self.refused += u64::from(judgement.metrics.writes_fenced > 0);
        self.succeeded += u64::from(judgement.metrics.elections > 1);
        self.two_believed += u64::from(judgement.metrics.leaders_believing_max > 1);
        let violated = judgement.violated().collect();
        let broken = Broken { plan: (*run.plan).clone(), pauses, trace_hash: run.trace_hash().to_owned(), violated };
        match judgement.verdict {
            Verdict::Safety => {
                self.unsafe_ += 1;
                self.first_unsafe.get_or_insert(broken);
            }
            Verdict::Liveness => self.leaderless += 1,
            _ => {}
        }
    }
}

/// Of `all`, the number of the one at this place of `runs` that are evenly chosen.
pub fn evenly(place: u64, runs: u64, all: u64) -> u64 {
    (u128::from(place) * u128::from(all) / u128::from(runs.max(1))) as u64
}

/// The nth of all pairs of different numbers, the smaller first, by the larger: (0, 1), (0, 2), (1, 2), (0, 3) …
fn nth_pair(nth: u64) -> (u64, u64) {
    // The largest `second` with `second · (second - 1) / 2` not above `nth`.
    let mut second = (((8 * nth + 1) as f64).sqrt() as u64).div_ceil(2);
    while second * second.saturating_sub(1) / 2 > nth {
        second -= 1;
    }
    while (second + 1) * second / 2 <= nth {
        second += 1;
    }
    (nth - second * second.saturating_sub(1) / 2, second)
}

#[cfg(test)]
mod tests {
    use super::nth_pair;

    #[test]
    fn every_pair_comes_once() {
        let mut expected = Vec::new();
        for second in 1..60 {
            expected.extend((0..second).map(|first| (first, second)));
        }
        let got: Vec<(u64, u64)> = (0..expected.len() as u64).map(nth_pair).collect();
        assert_eq!(got, expected);
        let (first, second) = nth_pair(u64::from(u32::MAX));
        assert!(first < second && second * (second - 1) / 2 + first == u64::from(u32::MAX));
    }
}
