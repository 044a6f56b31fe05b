//! Running one plan and reporting it: what `scenario` and `replay` share.

use super::{
    exit::Stop,
    output::{Show, print},
};
use crate::{
    artifacts,
    run::{self, Options, Run},
};
use reports::{Verdict, json::Report, text};
use scenarios::plan::Plan;
use std::path::{Path, PathBuf};

/// What to do with one plan.
pub struct OneRun {
    /// What to print.
    pub show: Show,
    /// Write the trace's text here.
    pub trace: Option<PathBuf>,
    /// Write artifacts below this folder when the run fails; `None`: never.
    pub artifacts: Option<PathBuf>,
    /// The command that repeats the run.
    pub repro: String,
}

/// Where artifacts go when nothing else was said.
pub fn default_out() -> PathBuf {
    Path::new("target").join("fencepost")
}

impl OneRun {
    /// Runs and reports.
    ///
    /// # Errors
    /// The run could not be finished, or what it was to leave behind could not be written.
    pub fn run(&self, plan: &Plan) -> Result<Run, Stop> {
        let trace = self.trace.as_deref().map(artifacts::create).transpose().map_err(Stop::usage)?;
        let options = Options { timeline: !self.show.json && !self.show.quiet, trace, ..Options::default() };
        let run = run::run(plan, options).map_err(Stop::harness)?;
        self.report(&run);
        if let (Verdict::Safety | Verdict::Liveness, Some(out)) = (run.judgement.verdict, &self.artifacts) {
            let folder = artifacts::write(out, plan, run.trace_hash()).map_err(Stop::harness)?;
            self.show.banner(&format!("artifacts: {}", folder.display()));
        }
        Ok(run)
    }

    fn report(&self, run: &Run) {
        if self.show.json {
            return print(&Report::new(Some(&run.header), &run.facts, &run.judgement).to_text());
        }
        if self.show.quiet {
            return print(&verdict_line(run));
        }
        let Some(highlights) = &run.highlights else { return };
        print(&text::render(&text::Run {
            header: Some(&run.header),
            parameters: &parameters(&run.plan),
            highlights,
            judgement: &run.judgement,
            facts: &run.facts,
            replay: Some(&self.repro),
            colour: self.show.colour(),
        }));
    }
}

/// The verdict in one line.
pub fn verdict_line(run: &Run) -> String {
    let failed = run.judgement.invariants.iter().filter(|i| !i.holds).map(|i| i.name).collect::<Vec<_>>().join(", ");
    let colon = if failed.is_empty() { "" } else { ": " };
    format!(
        "{} {} seed {}: {}{colon}{failed}",
        run.plan.scenario,
        run.plan.protocol,
        run.plan.seed,
        run.judgement.verdict.name()
    )
}

/// The plan's parameters, for the head of a report.
pub fn parameters(plan: &Plan) -> Vec<(String, String)> {
    let span = |values: &mut dyn Iterator<Item = i64>| {
        let values: Vec<i64> = values.collect();
        let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
        format!("{low:+}…{high:+}")
    };
    let skew = span(&mut plan.candidates.iter().map(|c| c.wall_offset_ms));
    let drift = span(&mut plan.candidates.iter().map(|c| c.rate_ppm));
    let network = &plan.network;
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let mut rows = vec![
        pair("protocol", plan.protocol.clone()),
        pair("fencing", if plan.fencing { "on" } else { "off: the store accepts anything" }.to_owned()),
        pair("seed", plan.seed.to_string()),
        pair("nodes", format!("{}, clocks off by {skew} ms and {drift} ppm", plan.candidates.len())),
        pair("lease", format!("{} ms, renewed every {} ms", plan.timings.lease_ttl_ms, plan.timings.renew_interval_ms)),
        pair("load", format!("{} requests/s from {} clients", plan.load.rate, plan.load.clients)),
        pair(
            "network",
            format!(
                "{}, {}–{} µs one way",
                network.profile,
                network.latency_us,
                network.latency_us + network.jitter_us
            ),
        ),
        pair("duration", format!("{} s of virtual time", plan.duration_ms as f64 / 1e3)),
    ];
    for fault in &plan.faults {
        rows.push(pair("fault", describe(fault)));
    }
    rows
}

fn describe(fault: &scenarios::fault::PlannedFault) -> String {
    use scenarios::fault::{Fault, Trigger, Who};
    let (from, to): (Vec<&Who>, Vec<&Who>) = match &fault.what {
        Fault::Partition { from, to, .. } | Fault::Latency { from, to, .. } | Fault::Loss { from, to, .. } => {
            (from.iter().collect(), to.iter().collect())
        }
        what => (what.whom(), Vec::new()),
    };
    let names = |group: &[&Who]| {
        let name = |who: &&Who| match who {
            Who::Leader | Who::Trigger => "the leader".to_owned(),
            Who::Followers | Who::Clients => format!("the {who}"),
            Who::Service => "the service".to_owned(),
            Who::Store => "the store".to_owned(),
            who => who.to_string(),
        };
        group.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let what = fault.what.describe(&names(&from), &names(&to));
    match &fault.when {
        Trigger::At { ms } => format!("{what}, at {:.3} s", ms / 1e3),
        Trigger::Passage { point, nth, after: None, .. } => format!("{what}, at passage {nth} of `{point}`"),
        Trigger::Passage { point, delay_ms, after: Some(after), .. } => match &**after {
            Trigger::Passage { point: before, nth, .. } => {
                format!("{what}, at `{point}` {delay_ms:.0} ms after passage {nth} of `{before}`")
            }
            Trigger::At { ms } => format!("{what}, at the next `{point}` after {:.3} s", ms / 1e3),
        },
    }
}
