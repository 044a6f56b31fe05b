//! What is told of a run that failed.

use crate::{
    Failure,
    failure::{Broken, Kind},
    trial::{Ran, Trial},
};
use reports::{Verdict, text};
use scenarios::Plan;
use sim::{
    artifacts::{self, Again, Look},
    parameters::describe,
    reduce::{self, Ending, Looked, Shrunk},
    run::Run,
};
use std::{fmt::Write, path::Path};

/// How many of the processes' lines the message has.
const LINES: usize = 12;
const WIDTH: usize = 100;

/// A run that was repeated to tell of it.
pub struct Told {
    pub run: Run,
    pub report: String,
}

impl Trial {
    /// The run of a plan once more, with a report.
    pub fn told(&self, plan: &Plan, expected: &str) -> Result<Told, Failure> {
        let run = artifacts::repeat(plan, &self.registry, expected, None).map_err(Failure::harness)?;
        let again = Again { repro: "", meaning: None, next: &[] };
        let report = artifacts::report_text(&run, again, Look { all: true, colour: false, width: WIDTH });
        Ok(Told { run, report: report.unwrap_or_default() })
    }

    /// What is to be said about a run that failed. Its files are written beside.
    pub fn broken(&self, ran: &Ran, runs: u64) -> Failure {
        self.try_broken(ran, runs).unwrap_or_else(|why| why)
    }

    fn try_broken(&self, ran: &Ran, runs: u64) -> Result<Failure, Failure> {
        let out = self.again.folder();
        let folder = artifacts::folder(&out, &ran.plan);
        let file = folder.join("plan.json");
        let command = self.again.command(&file);
        let run = artifacts::repeat(&ran.plan, &self.registry, &ran.trace_hash, None).map_err(Failure::harness)?;
        let written = artifacts::leave(&out, &run, Again { repro: &command, meaning: None, next: &[] });
        let cause = written.map_err(Failure::harness)?.cause;
        save(&folder.join("repro.sh"), &format!("#!/bin/sh\n# Repeats this run, from any folder.\n{command}\n"))?;
        save(&folder.join("output.txt"), &self.printed(&run, None))?;
        let violated: Vec<&'static str> = run.judgement.violated().collect();
        let (kind, what) = match ran.verdict {
            Verdict::Liveness => (Kind::Liveness, "LIVENESS VIOLATED"),
            _ => (Kind::Safety, "SAFETY VIOLATED"),
        };
        let (scenario, seed) = (&ran.plan.scenario, ran.plan.seed);
        let mut text = format!("{what}: {} ({scenario}, seed {seed})\n\n", violated.join(", "));
        text += &text::paragraph(&format!("What happened: {}", cause.text()), WIDTH);
        text += &text::paragraph(&format!("Why it is wrong: {}", cause.rule().unwrap_or_default()), WIDTH);
        text += &self.needs(&ran.plan)?;
        let at_us = run.judgement.invariants.iter().filter_map(|invariant| invariant.violated_us).min();
        let until = at_us.map_or(u64::MAX, |us| us.saturating_mul(1_000));
        let _ = write!(text, "\n{}", self.printed(&run, Some((LINES, until))));
        let (smallest, file) = match self.shrunk(&ran.plan)? {
            Some(shrunk) => {
                let file = folder.join("plan.min.json");
                save(&file, &shrunk.plan.to_json_pretty())?;
                (told_smallest(&shrunk), file)
            }
            None => (String::new(), file),
        };
        let _ = write!(text, "\n{smallest}");
        let _ = writeln!(text, "  timeline   {}", folder.join("timeline.html").display());
        let _ = writeln!(text, "  report     {}", folder.join("report.txt").display());
        let _ = writeln!(text, "  repeat it  {command}");
        if !smallest.is_empty() {
            let _ = writeln!(text, "  smallest   {}", self.again.command(&file));
        }
        let broken = Broken { scenario: scenario.clone(), seed, violated, runs, folder };
        Ok(Failure::new(kind, text).of(broken))
    }

    /// Which of its faults the plan needs to fail, unless that is not to be looked for.
    fn needs(&self, plan: &Plan) -> Result<String, Failure> {
        if self.shrink_runs == 0 {
            return Ok(String::new());
        }
        match reduce::explain(plan, &self.registry, self.jobs).map_err(Failure::harness)? {
            Looked::Failed(explained) => Ok(text::paragraph(&explained.conclusion(plan), WIDTH)),
            Looked::Holds(_) | Looked::Interrupted => Ok(String::new()),
        }
    }

    fn shrunk(&self, plan: &Plan) -> Result<Option<Shrunk>, Failure> {
        if self.shrink_runs == 0 {
            return Ok(None);
        }
        match reduce::shrink(plan, &self.registry, self.shrink_runs, |_, _| {}).map_err(Failure::harness)? {
            Looked::Failed(shrunk) => Ok(Some(shrunk)),
            Looked::Holds(_) | Looked::Interrupted => Ok(None),
        }
    }
}

fn told_smallest(shrunk: &Shrunk) -> String {
    let Shrunk { plan, runs, ending, .. } = shrunk;
    let many = plan.candidates.len();
    let nodes = if many == 1 { "1 process".to_owned() } else { format!("{many} processes") };
    let ended = if *ending == Ending::Smallest { "" } else { " that was found" };
    let faults: String = plan.faults.iter().map(|fault| text::paragraph(&describe(fault), WIDTH)).collect();
    let faults = if faults.is_empty() { "  without any fault\n".to_owned() } else { faults };
    format!("The smallest plan{ended} that fails the same way ({nodes}, {runs} runs):\n{faults}\n")
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    artifacts::save(file, text).map_err(Failure::harness)
}
