//! The outcome of each scenario with each protocol: the same plan with and without fencing, and where the two runs
//! part.
//!
//! | word | means |
//! |---|---|
//! | holds | safety held, with fencing and without |
//! | by-fencing | safety held with fencing, and the same plan violates it without |
//! | broken | safety was violated although the store fenced what it could |
//! | unavailable | safe, but no leader acted in time |
//! | untried | the situation under test never arose |
//!
//! A cell shows its worst seed, in the order broken, by-fencing, unavailable, holds, untried.

use crate::{
    determinism::Shared,
    error::Failed,
    interrupt, pool,
    registry::Registry,
    repro,
    run::{self, Options, Run},
};
use protocols::{election::Protocol, fence::checks::Fencing};
use reports::Verdict;
use scenarios::{Params, Plan, Scenario, plan::Invalid, scenario, sense};
use serde::Serialize;
use serde_json::Value;
use std::ops::Range;

/// A cell's outcome, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// The situation under test never arose.
    Untried,
    /// Safe with fencing and without.
    Holds,
    Unavailable,
    /// Safe only because the store fences.
    ByFencing,
    Broken,
}

impl Came {
    /// All outcomes, from best to worst.
    pub const ALL: [Came; 5] = [Came::Untried, Came::Holds, Came::Unavailable, Came::ByFencing, Came::Broken];

    pub const fn words(self) -> &'static str {
        match self {
            Came::Untried => "untried",
            Came::Holds => "holds",
            Came::Unavailable => "unavailable",
            Came::ByFencing => "holds only with fencing",
            Came::Broken => "broken",
        }
    }

    /// One character, for tables.
    pub const fn sign(self) -> char {
        match self {
            Came::Untried => '?',
            Came::Holds => '+',
            Came::Unavailable => '-',
            Came::ByFencing => 'F',
            Came::Broken => 'X',
        }
    }
}

/// Where the runs with and without fencing part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parting {
    /// In microseconds of true time.
    pub t_us: u64,
    /// The event with fencing.
    pub fenced: String,
    /// The event without fencing.
    pub unfenced: String,
}

/// The outcome of a scenario with a protocol.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cell {
    pub scenario: &'static str,
    pub protocol: &'static str,
    pub outcome: Came,
    /// The first seed with this outcome.
    pub seed: u64,
    /// The invariants that its run violated; if the outcome is [`Came::ByFencing`], the run without fencing.
    pub violated: Vec<&'static str>,
    /// What the first of them found, or why nothing was tried: one sentence. Empty if all holds.
    pub why: String,
    /// Where the two runs part, if the outcome is [`Came::ByFencing`].
    pub parts: Option<Parting>,
    /// The command that shows the cell.
    pub command: String,
    /// The command for its run alone; if the outcome is [`Came::ByFencing`], without fencing.
    pub show: String,
    /// The run's artifacts, if kept.
    pub artifacts: Option<String>,
    /// What happened in the run, in a few sentences, if determined.
    pub cause: Option<String>,
}

pub struct Matrix<'a> {
    pub registry: &'a Registry,
    pub scenarios: Vec<&'static Scenario>,
    pub protocols: Vec<&'static Protocol>,
    /// Seeds of each cell.
    pub seeds: Range<u64>,
    /// The parameters of every run, except fencing.
    pub params: &'a Params,
    /// The number of parallel runs.
    pub jobs: usize,
}

/// The result of one seed.
struct Seen {
    came: Came,
    seed: u64,
    violated: Vec<&'static str>,
    why: String,
}

impl Matrix<'_> {
    /// The cells: each scenario with each protocol that it applies to.
    pub fn pairs(&self) -> Vec<(&'static Scenario, &'static Protocol)> {
        scenario::pairs(&self.scenarios, &self.protocols, self.params)
    }

    /// The number of plans, each of which runs with and without fencing.
    pub fn plans(&self) -> u64 {
        self.pairs().len() as u64 * (self.seeds.end - self.seeds.start)
    }

    /// Refuses parameters that make no sense, and a matrix without cells, before anything runs.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.params.fencing != Fencing::On {
            return Err(Invalid("a matrix runs every plan with fencing and without; leave --fencing out".to_owned()));
        }
        let pairs = self.pairs();
        if pairs.is_empty() {
            let none = "nothing to run: none of these scenarios applies to any of these protocols";
            return Err(Invalid(none.to_owned()));
        }
        for (scenario, protocol) in &pairs {
            sense::timers(self.params, protocol)?;
            self.registry.plans.compile(scenario, self.params, protocol, self.seeds.start)?;
        }
        sense::meant(self.params, &pairs, self.seeds.start)
    }

    /// Runs everything; `done` is called after each plan. Cells are ordered by scenario, then protocol; some are
    /// missing if the command was asked to end.
    ///
    /// # Errors
    /// A run could not be finished.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Vec<Cell>, Failed> {
        let (pairs, seeds) = (self.pairs(), self.seeds.end - self.seeds.start);
        let place = |index: u64| (pairs[(index / seeds) as usize], self.seeds.start + index % seeds);
        let mut worst: Vec<Result<Option<Seen>, Failed>> = pairs.iter().map(|_| Ok(None)).collect();
        let work = |index: u64| {
            let ((scenario, protocol), seed) = place(index);
            let seen = self.look(scenario, protocol, seed);
            done();
            seen
        };
        pool::each(self.plans(), self.jobs, work, |index, seen| {
            let cell = &mut worst[(index / seeds) as usize];
            match (seen, &*cell) {
                (Err(why), _) => *cell = Err(why),
                (Ok(seen), Ok(known)) if known.as_ref().is_none_or(|known| known.came < seen.came) => {
                    *cell = Ok(Some(seen));
                }
                _ => {}
            }
            cell.is_ok() && !interrupt::asked()
        });
        let mut cells = Vec::new();
        for ((scenario, protocol), seen) in pairs.into_iter().zip(worst) {
            if let Some(seen) = seen? {
                cells.push(self.cell(scenario, protocol, seen)?);
            }
        }
        Ok(cells)
    }

    fn plan(&self, scenario: &Scenario, protocol: &Protocol, seed: u64) -> Result<Plan, Invalid> {
        self.registry.plans.compile(scenario, self.params, protocol, seed)
    }

    fn ran(&self, plan: &Plan, options: Options) -> Result<Run, Failed> {
        run::run(plan, Options { registry: self.registry.clone(), ..options })
    }

    fn look(&self, scenario: &Scenario, protocol: &Protocol, seed: u64) -> Result<Seen, Failed> {
        let plan = self.plan(scenario, protocol, seed)?;
        let fenced = self.ran(&plan, Options::default())?;
        let seen = |came, run: &Run| Seen { came, seed, violated: run.judgement.violated().collect(), why: why(run) };
        if fenced.judgement.verdict == Verdict::Safety {
            return Ok(seen(Came::Broken, &fenced));
        }
        let unfenced = self.ran(&without_fencing(&plan), Options::default())?;
        if unfenced.judgement.verdict == Verdict::Safety {
            return Ok(seen(Came::ByFencing, &unfenced));
        }
        Ok(match fenced.judgement.verdict {
            Verdict::Liveness => seen(Came::Unavailable, &fenced),
            Verdict::Vacuous => seen(Came::Untried, &fenced),
            _ => seen(Came::Holds, &fenced),
        })
    }

    fn cell(&self, scenario: &'static Scenario, protocol: &'static Protocol, seen: Seen) -> Result<Cell, Failed> {
        let Seen { came, seed, violated, why } = seen;
        let parts = match came {
            Came::ByFencing => {
                let plan = self.plan(scenario, protocol, seed)?;
                parting(&self.history(&plan)?, &self.history(&without_fencing(&plan))?)
            }
            _ => None,
        };
        let seeds = format!("{seed}..{}", seed + 1);
        let mut words =
            ["matrix", scenario.name, "--protocol", protocol.name, "--seeds", &seeds].map(str::to_owned).to_vec();
        let concerning = |params| sense::concerning(params, (scenario, protocol), seed);
        words.extend(repro::options(&concerning(self.params)));
        let command = repro::command(&words);
        let params = concerning(&self.params_of(came));
        Ok(Cell {
            scenario: scenario.name,
            protocol: protocol.name,
            outcome: came,
            seed,
            violated,
            why,
            parts,
            command,
            show: repro::of_run(scenario.name, protocol.name, &params, seed),
            artifacts: None,
            cause: None,
        })
    }

    /// The parameters of the run that the cell shows.
    fn params_of(&self, came: Came) -> Params {
        let fencing = if came == Came::ByFencing { Fencing::Off } else { self.params.fencing };
        Params { fencing, ..self.params.clone() }
    }

    /// The plan of the run that the cell shows.
    ///
    /// # Errors
    /// The cell belongs to another matrix.
    pub fn plan_of(&self, cell: &Cell) -> Result<Plan, Failed> {
        let same = |(scenario, protocol): &(&'static Scenario, &'static Protocol)| {
            (scenario.name, protocol.name) == (cell.scenario, cell.protocol)
        };
        let (scenario, protocol) = self.pairs().into_iter().find(same).ok_or("no such cell")?;
        Ok(self.registry.plans.compile(scenario, &self.params_of(cell.outcome), protocol, cell.seed)?)
    }

    fn history(&self, plan: &Plan) -> Result<String, Failed> {
        let text = Shared::default();
        self.ran(plan, Options { history: Some(Box::new(text.clone())), ..Options::default() })?;
        Ok(text.text())
    }
}

fn without_fencing(plan: &Plan) -> Plan {
    Plan { fencing: Fencing::Off, ..plan.clone() }
}

/// What the first violated invariant found.
fn why(run: &Run) -> String {
    run.judgement.invariants.iter().find(|i| !i.holds).map(|i| i.detail.to_string()).unwrap_or_default()
}

/// The first event that differs between two histories; their headers always differ.
fn parting(fenced: &str, unfenced: &str) -> Option<Parting> {
    let mut lines = fenced.lines().skip(1).zip(unfenced.lines().skip(1));
    let (fenced, unfenced) = lines.find(|(fenced, unfenced)| fenced != unfenced)?;
    let event = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
    let (fenced, unfenced) = (event(fenced), event(unfenced));
    Some(Parting { t_us: fenced["t_us"].as_u64().unwrap_or(0), fenced: words(&fenced), unfenced: words(&unfenced) })
}

fn words(event: &Value) -> String {
    let text = |field: &str| event[field].as_str().unwrap_or("?").to_owned();
    match event["event"].as_str() {
        Some("apply") => {
            let ended = match event["verdict"].as_str() {
                Some("ok") => "is applied".to_owned(),
                Some("fenced") => format!("is refused: the highest token is {}", event["highest"]),
                Some(verdict) => format!("is answered `{verdict}`"),
                None => "is answered".to_owned(),
            };
            let (resource, node) = (text("resource"), text("node"));
            format!("{resource}: {node}'s write of {} with token {} {ended}", event["seq"], event["token"])
        }
        Some("seal") => {
            let ended = if event["accepted"] == Value::Bool(true) { "is accepted" } else { "is refused" };
            format!("{}: {}'s seal with token {} {ended}", text("resource"), text("node"), event["token"])
        }
        Some(other) => format!("{}: {other}", text("node")),
        None => "the history ends".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix<'a>(registry: &'a Registry, params: &'a Params, protocols: &[&str]) -> Matrix<'a> {
        let known = |name: &&str| registry.plans.protocol(name).expect("a protocol of that name");
        Matrix {
            registry,
            scenarios: ["steady", "gc-pause"].into_iter().filter_map(scenario::find).collect(),
            protocols: protocols.iter().map(known).collect(),
            seeds: 0..2,
            params,
            jobs: 2,
        }
    }

    #[test]
    fn a_token_that_is_checked_holds_by_that_only_and_none_is_broken() {
        let (registry, params) = (Registry::default(), Params { rate: 50, ..Params::default() });
        let cells = matrix(&registry, &params, &["redis-lease", "redis-fenced"]).run(|| {}).expect("runs");
        let seen: Vec<_> = cells.iter().map(|cell| (cell.scenario, cell.protocol, cell.outcome)).collect();
        assert_eq!(
            seen,
            [
                ("steady", "redis-lease", Came::Holds),
                ("steady", "redis-fenced", Came::Holds),
                ("gc-pause", "redis-lease", Came::Broken),
                ("gc-pause", "redis-fenced", Came::ByFencing),
            ]
        );
        let parts = cells[3].parts.as_ref().expect("two histories that differ");
        assert!(parts.fenced.contains("is refused: the highest token is"), "{parts:?}");
        assert!(parts.unfenced.contains("is applied"), "{parts:?}");
        assert!(cells[2].violated.contains(&"leaders_acting_by_effect"), "{:?}", cells[2]);
        assert!(cells[3].command.contains("matrix gc-pause --protocol redis-fenced --seeds "), "{}", cells[3].command);
    }

    #[test]
    fn it_says_what_it_cannot_do() {
        let registry = Registry::default();
        let params = Params { fencing: Fencing::Off, ..Params::default() };
        assert!(
            matrix(&registry, &params, &["etcd-key"]).check().is_err_and(|why| why.0.contains("leave --fencing out"))
        );
        let params = Params::default();
        let none = Matrix { scenarios: Vec::new(), ..matrix(&registry, &params, &["etcd-key"]) };
        assert!(none.check().is_err_and(|why| why.0.contains("nothing to run")));
    }
}
