//! Every run of a check, counted by scenario, whatever comes of it.

use crate::{
    Failure,
    failure::Kind,
    measure::measure,
    scenarios::{EVERY_SEND, EXHAUSTIVE},
    trial::Trial,
};
use reports::Verdict;
use scenarios::{Plan, fault::Trigger};
use sim::pool;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// What came of each scenario. Its text is a table.
#[derive(Clone, Debug)]
pub struct Survey {
    /// In the order in which they were run.
    pub scenarios: Vec<Row>,
    /// The virtual time from a leader's death to the first write of another, as measured first.
    pub takeover: Duration,
    /// Calls and requests of the service that are not simulated, each once.
    pub refused: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// One scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub scenario: String,
    pub runs: u64,
    /// Runs in which two leaders took effect, or another invariant of safety was violated.
    pub two_led: u64,
    /// Runs in which nobody wrote for too long, although it was possible.
    pub nobody_led: u64,
    /// Runs in which what the scenario is about did not arise.
    pub inconclusive: u64,
    /// The first run that was broken.
    pub first: Option<First>,
}

/// A run that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct First {
    /// Its seed; for pauses before sends, the number of the send.
    pub number: u64,
    /// The invariants that it violated.
    pub violated: Vec<&'static str>,
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.scenarios.iter().map(|row| row.scenario.len()).max().unwrap_or(0);
        writeln!(f, "{:width$}  runs  two led  nobody led  inconclusive  first", "scenario")?;
        for Row { scenario, runs, two_led, nobody_led, inconclusive, first } in &self.scenarios {
            let first = first.as_ref().map_or(String::new(), First::to_string);
            writeln!(f, "{scenario:width$}  {runs:4}  {two_led:7}  {nobody_led:10}  {inconclusive:12}  {first}")?;
        }
        Ok(())
    }
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.number, self.violated.join(", "))
    }
}

impl Trial {
    pub fn survey(&self) -> Result<Survey, Failure> {
        let started = Instant::now();
        let tempo = measure(self)?;
        let (plans, _) = self.plans(&tempo)?;
        let mut survey = Survey {
            scenarios: Vec::new(),
            takeover: Duration::from_secs_f64(tempo.takeover_ms / 1e3),
            refused: tempo.refused.clone(),
            took: Duration::ZERO,
        };
        let mut stopped = None;
        pool::each(
            plans.len() as u64,
            self.jobs,
            |place| self.one(&plans[place as usize]),
            |place, ran| {
                let scenario = &plans[place as usize].scenario;
                let refused = ran.as_ref().map_or(&[][..], |ran| &ran.refused);
                let new = refused.iter().filter(|sentence| !survey.refused.contains(sentence)).cloned();
                survey.refused.extend(new.collect::<Vec<_>>());
                match ran {
                    Ok(ran) => survey.count(scenario, ran.verdict, number(&ran.plan), ran.violated),
                    Err(why) if why.kind == Kind::Inconclusive => survey.count(scenario, Verdict::Vacuous, 0, vec![]),
                    Err(why) => stopped = Some(why),
                }
                stopped.is_none()
            },
        );
        survey.took = started.elapsed();
        stopped.map_or(Ok(survey), Err)
    }
}

/// What tells a run from the others of its scenario.
fn number(plan: &Plan) -> u64 {
    match plan.faults.first().map(|fault| &fault.when) {
        Some(Trigger::Passage { nth, .. }) if [EVERY_SEND.name, EXHAUSTIVE.name].contains(&&*plan.scenario) => *nth,
        _ => plan.seed,
    }
}

impl Survey {
    fn count(&mut self, scenario: &str, verdict: Verdict, number: u64, violated: Vec<&'static str>) {
        let place = self.scenarios.iter().position(|row| row.scenario == scenario).unwrap_or_else(|| {
            let (scenario, runs, two_led, nobody_led, inconclusive, first) = (scenario.to_owned(), 0, 0, 0, 0, None);
            self.scenarios.push(Row { scenario, runs, two_led, nobody_led, inconclusive, first });
            self.scenarios.len() - 1
        });
        let row = &mut self.scenarios[place];
        row.runs += 1;
        match verdict {
            Verdict::Pass => return,
            Verdict::Vacuous => return row.inconclusive += 1,
            Verdict::Liveness => row.nobody_led += 1,
            _ => row.two_led += 1,
        }
        row.first.get_or_insert(First { number, violated });
    }
}
