//! Nights of a swarm: what failed in earlier nights is run again, a canary must fail, and then come seeds that no
//! earlier night had. A night is one line of [`FILE`], and the last line has all that the next night needs.

use crate::{
    artifacts,
    identity::identity,
    interrupt::{self, GIVEN_UP},
    outcome::{Failure, telling},
    pool,
    swarm::{Swarm, Swept},
    sweep::{Cell, Outcome},
};
use protocols::election::Protocol;
use reports::statistics::{quantile, rounded};
use scenarios::{
    generate::{self, Choice},
    plan::Plan,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The file of all nights, one line each.
pub const FILE: &str = "nights.ndjson";
/// The folder, beside it, of the plans that failed.
pub const FAILURES: &str = "failures";
/// The version of a line.
const SCHEMA: u32 = 1;
/// So many new failures of a night are kept, the first of each cause before all others.
pub const KEPT_MAX: usize = 100;

/// Why a file is not one of nights.
#[derive(Debug, thiserror::Error)]
pub enum NoNights {
    #[error("line {line} is no night: {why}")]
    Line { line: usize, why: serde_json::Error },
    #[error("line {line} has schema {is}, and this program reads {SCHEMA}")]
    Schema { line: usize, is: Value },
    #[error("no seeds are left after {0}")]
    Exhausted(u64),
}

/// A night.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Night {
    pub schema: u32,
    /// When it ended, in UTC.
    pub ended: String,
    pub version: String,
    pub commit: String,
    /// Whether there were uncommitted changes.
    pub dirty: bool,
    /// The protocols, as they were asked for.
    pub protocols: String,
    /// All other options that plans depend on.
    pub options: String,
    /// Why its results are not believed, if they are not.
    pub worthless: Option<String>,
    pub interrupted: bool,
    /// The first new seed, and the one after the last.
    pub seeds: [u64; 2],
    /// The number of new seeds that were run.
    pub runs: u64,
    /// The number of new seeds whose runs broke a promise.
    pub broken: u64,
    /// The number of earlier failures that were run again.
    pub retried: u64,
    /// Earlier failures that broke no promise in this night.
    pub fixed: Vec<Open>,
    /// What has failed in this or an earlier night, and has not passed since.
    pub open: Vec<Open>,
    pub figures: Figures,
    /// Figures far outside their baseline, in words.
    pub moved: Vec<String>,
    pub jobs: u64,
    pub wall_s: f64,
    /// The exit code.
    pub exit: u8,
}

/// A failure and its plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Open {
    /// When the night ended that found it.
    pub since: String,
    /// The file of its plan, within the folder of the nights.
    pub file: String,
    /// Whether the program that ran it last draws the same plan from its seed.
    pub redrawn: bool,
    /// Why its plan could not be read in the last night, if so.
    pub unread: Option<String>,
    pub failure: Failure,
}

/// What is compared with earlier nights; of the new seeds only.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    pub runs_per_s: Option<f64>,
    pub failover_ms_p50: Option<f64>,
    pub failover_ms_p95: Option<f64>,
    pub election_time_ms_p50: Option<f64>,
    pub dark_ms_p50: Option<f64>,
    /// The number of places in the code that some run reached.
    pub marks: Option<u64>,
}

impl Night {
    /// A night in which nothing has been run yet.
    pub fn of_this_build(protocols: &str, swarm: &Swarm) -> Night {
        let identity = identity();
        Night {
            schema: SCHEMA,
            version: identity.version.to_owned(),
            commit: identity.commit.to_owned(),
            dirty: identity.dirty,
            protocols: protocols.to_owned(),
            options: swarm.figure_options(),
            seeds: [swarm.seeds.start; 2],
            jobs: swarm.jobs as u64,
            ..Night::default()
        }
    }

    /// Adds the new seeds' results, and returns the failures to keep.
    pub fn add(&mut self, swept: &Swept, seconds: f64) -> Vec<Open> {
        let failures = &swept.outcome.failures;
        (self.runs, self.broken) = (swept.runs, failures.len() as u64);
        self.seeds[1] = self.seeds[0] + swept.runs;
        self.interrupted = swept.outcome.interrupted;
        self.moved = swept.outcome.moved.iter().map(ToString::to_string).collect();
        self.figures = Figures::of(swept, seconds);
        let open = |place: usize| {
            let failure = failures[place].clone();
            let file = format!("{FAILURES}/{}.json", failure.seed);
            Open { since: self.ended.clone(), file, redrawn: true, unread: None, failure }
        };
        telling(failures).into_iter().take(KEPT_MAX).map(open).collect()
    }

    /// Throws the results away: the next night begins where this one did, with the same failures.
    pub fn give_up(&mut self, why: String, open: Vec<Open>) {
        (self.worthless, self.open, self.fixed) = (Some(why), open, Vec::new());
        (self.seeds[1], self.runs, self.broken) = (self.seeds[0], 0, 0);
        (self.figures, self.moved) = (Figures::default(), Vec::new());
    }

    /// All failures that are open, for the exit code.
    pub fn outcome(&self, swept: Outcome) -> Outcome {
        let open = self.open.iter().map(|open| open.failure.clone());
        Outcome { failures: swept.failures.into_iter().chain(open).collect(), ..swept }
    }
}

impl Figures {
    fn of(swept: &Swept, seconds: f64) -> Figures {
        let all = |values: fn(&Cell) -> &Vec<f64>, q| {
            let mut all: Vec<f64> = swept.outcome.cells.iter().flat_map(values).copied().collect();
            all.sort_by(f64::total_cmp);
            quantile(&all, q)
        };
        Figures {
            runs_per_s: Some(rounded(swept.runs as f64 / seconds)),
            failover_ms_p50: all(|cell| &cell.failovers_ms, 0.5),
            failover_ms_p95: all(|cell| &cell.failovers_ms, 0.95),
            election_time_ms_p50: all(|cell| &cell.election_times_ms, 0.5),
            dark_ms_p50: all(|cell| &cell.darks_ms, 0.5),
            marks: Some(swept.coverage.marks.len() as u64),
        }
    }
}

/// The nights in a file's text.
///
/// # Errors
/// A line is not one of a night that this program knows.
pub fn read(text: &str) -> Result<Vec<Night>, NoNights> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let night = |(line, text): (usize, &str)| {
        let wrong = |why| NoNights::Line { line, why };
        let value: Value = serde_json::from_str(text).map_err(wrong)?;
        match &value["schema"] {
            is if *is != SCHEMA => Err(NoNights::Schema { line, is: is.clone() }),
            _ => serde_json::from_value(value).map_err(wrong),
        }
    };
    lines.map(night).collect()
}

/// The first seed that no night has run, and the one after `runs` more.
///
/// # Errors
/// There are not so many.
pub fn next(nights: &[Night], runs: u64) -> Result<std::ops::Range<u64>, NoNights> {
    let from = nights.iter().map(|night| night.seeds[1]).max().unwrap_or(0);
    from.checked_add(runs).map(|to| from..to).ok_or(NoNights::Exhausted(from))
}

/// What became of a plan that had failed.
pub enum Retried {
    /// The time was over.
    Unrun,
    Kept,
    Broken(Box<Failure>),
}

/// Runs these plans for as long as `goes_on`.
pub fn retry(swarm: &Swarm, plans: &[Plan], goes_on: impl Fn() -> bool + Sync) -> Vec<Retried> {
    let mut all: Vec<Retried> = plans.iter().map(|_| Retried::Unrun).collect();
    let work = |index: u64| swarm.one(&plans[index as usize]).1;
    pool::each(plans.len() as u64, swarm.jobs, work, |index, failure| {
        all[index as usize] = match failure {
            None => Retried::Kept,
            Some(failure) if interrupt::asked() && failure.why == GIVEN_UP => Retried::Unrun,
            Some(failure) => Retried::Broken(Box::new(failure)),
        };
        goes_on() && !interrupt::asked()
    });
    all
}

/// Whether this program draws that plan from its seed, under this choice.
pub fn redrawn(plan: &Plan, protocol: &'static Protocol, choice: &Choice) -> bool {
    generate::swarm(plan.seed, &Choice { protocols: vec![protocol], ..choice.clone() }).digest() == plan.digest()
}

/// The file that repeats a plan which failed: its capsule, or the plan alone if its run does not end.
pub fn capsule(swarm: &Swarm, plan: &Plan) -> String {
    swarm.one(plan).0.map_or_else(|| plan.to_json_pretty(), |run| artifacts::capsule(&run).to_json_pretty())
}
