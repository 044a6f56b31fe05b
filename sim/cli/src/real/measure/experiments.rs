//! `measure experiments`: the findings' experiments on real processes, each figure beside the simulation's.

use super::{
    simulator::Simulator,
    trials::{self, Shows, Trial},
};
use crate::{
    real::{
        args::{ExperimentsArgs, WorldArgs},
        chaos, cluster,
    },
    terminal::{
        check,
        exit::{INCONCLUSIVE, Stop, VIOLATED},
        output::{Show, print},
    },
};
use protocols::{election::Protocol, service::postgres};
use reports::{
    Verdict,
    json::{Report, RunFacts},
    statistics::{count, quantile, rounded},
};
use scenarios::plan::Plan;
use serde_json::{Value, json};
use sim_real::service;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Refused writes listed per protocol.
const LISTED: usize = 3;
/// How many times a fleet's leader is killed per requested run.
const KILLS: u32 = 4;

/// Runs of one trial with one protocol.
struct Row {
    protocol: &'static str,
    is_real: bool,
    runs: usize,
    violated: usize,
    /// Runs in which the situation under test never arose, or nobody led in time on a machine that stalled.
    inconclusive: usize,
    /// Runs in which nobody led in time.
    leaderless: usize,
    /// Runs on a machine that stalled.
    unwell: usize,
    metrics: Vec<Value>,
}

/// The results of a trial.
struct Told {
    trial: &'static Trial,
    rows: Vec<Row>,
    refusals: Vec<Refusal>,
}

/// A write that a real store refused.
struct Refusal {
    protocol: &'static str,
    seed: u64,
    event: Value,
}

/// Plays the trials.
pub fn run(args: &ExperimentsArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let simulator = Simulator::find(args.simulator.as_deref())?;
    let asked: Vec<&'static Trial> =
        trials::ALL.iter().filter(|trial| args.only.is_empty() || args.only.contains(&trial.number)).collect();
    if let Some(number) = args.only.iter().find(|number| trials::ALL.iter().all(|trial| trial.number != **number)) {
        let which = "only 1, 3, 4, 5 and 7 are run on real processes";
        return Err(Stop::usage(format!("experiment {number}: {which}")));
    }
    let started = |protocol: &&Protocol| protocol.service.process.is_some() && !is_database(protocol);
    for protocol in args.backend.iter().copied().filter(started) {
        service::program(protocol.service)?;
    }
    let plans = plans(&asked, args)?;
    let real_ms = plans.iter().flat_map(|(_, _, plans)| plans).map(|plan| plan.duration_ms).sum();
    let of = count(plans.iter().map(|(_, _, plans)| plans.len() as u64).sum(), "run");
    show.banner(&format!("{of} on real processes, {} altogether", about(real_ms)));
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from("target/fencepost/measure/experiments"));
    let mut told: Vec<Told> =
        asked.iter().map(|trial| Told { trial, rows: Vec::new(), refusals: Vec::new() }).collect();
    for (place, protocol, plans) in &plans {
        let trial = asked[*place];
        show.banner(&format!("{}. {}: {}", trial.number, trial.title, protocol.name));
        let row = simulated(&simulator, trial, protocol, args)?;
        told[*place].rows.extend(row);
        let (row, refusals) = on_processes(trial, protocol, plans, &folder, show)?;
        told[*place].rows.push(row);
        told[*place].refusals.extend(refusals);
    }
    let text = markdown(&told);
    if let Some(file) = &args.out {
        fs::write(file, &text).map_err(|e| Stop::harness(format!("cannot write {}: {e}", file.display())))?;
    }
    print(&if args.show.json { format!("{:#}", in_json(&told)) } else { text });
    let wrong = wrong(&told);
    for (_, sentence) in &wrong {
        show.banner(sentence);
    }
    Ok(wrong.iter().map(|(code, _)| *code).filter(|code| *code > 0).min().unwrap_or(0))
}

/// PostgreSQL's programs are installed in places of their own.
fn is_database(protocol: &Protocol) -> bool {
    protocol.service.process == postgres::SERVICE.process
}

/// The plans that real processes play, by trial and protocol. All are made before anything starts, so that a plan that
/// cannot be played is reported at once.
type Plans = Vec<(usize, &'static Protocol, Vec<Plan>)>;

fn plans(asked: &[&'static Trial], args: &ExperimentsArgs) -> Result<Plans, Stop> {
    let mut plans = Vec::new();
    for (place, trial) in asked.iter().enumerate() {
        for protocol in &args.backend {
            let seeds = if trial.is_repeated { 1 } else { u64::from(args.runs) };
            let of = |seed| trial.plan(protocol, args.seed.wrapping_add(seed), KILLS * args.runs);
            let of_seeds = (0..seeds).map(of).collect::<Result<Vec<Plan>, Stop>>()?;
            for plan in &of_seeds {
                cluster::spec(&WorldArgs::default(), plan.clone(), PathBuf::new())?;
            }
            plans.push((place, *protocol, of_seeds));
        }
    }
    Ok(plans)
}

/// Simulates the same plans, and those of more seeds; nothing if `--simulated` is 0.
fn simulated(
    simulator: &Simulator,
    trial: &Trial,
    protocol: &'static Protocol,
    args: &ExperimentsArgs,
) -> Result<Option<Row>, Stop> {
    let mut row = Row::of(protocol, false);
    for seed in 0..u64::from(args.simulated) {
        let plan = trial.plan(protocol, args.seed.wrapping_add(seed), KILLS * args.runs)?;
        let report = simulator.play(&plan)?;
        row.add(&report, false);
    }
    Ok((row.runs > 0).then_some(row))
}

fn on_processes(
    trial: &Trial,
    protocol: &'static Protocol,
    plans: &[Plan],
    folder: &Path,
    show: Show,
) -> Result<(Row, Vec<Refusal>), Stop> {
    let (mut row, mut refusals) = (Row::of(protocol, true), Vec::new());
    for plan in plans {
        let folder = folder.join(trial.folder()).join(protocol.name).join(plan.seed.to_string());
        show.banner(&format!("  seed {}: {}, in {}", plan.seed, about(plan.duration_ms), folder.display()));
        let spec = cluster::spec(&WorldArgs::default(), plan.clone(), folder)?;
        let (file, stalls) = chaos::play_on(spec)?;
        let judged = check::read(&file)?;
        let report = Report::new(judged.header.as_ref(), &RunFacts::default(), &judged.judgement).to_text();
        let report = serde_json::from_str(&report).map_err(|e| Stop::harness(format!("the report is no JSON: {e}")))?;
        row.add(&report, chaos::unwell(plan, stalls).is_some());
        if trial.lists_refusals && refusals.is_empty() {
            refusals = refused(protocol.name, plan.seed, &file)?;
        }
    }
    Ok((row, refusals))
}

/// A history's first writes that were refused for their token.
fn refused(protocol: &'static str, seed: u64, history: &Path) -> Result<Vec<Refusal>, Stop> {
    let text = fs::read_to_string(history);
    let text = text.map_err(|e| Stop::harness(format!("cannot read {}: {e}", history.display())))?;
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let fenced = events.filter(|event| event["verdict"] == "fenced").take(LISTED);
    Ok(fenced.map(|event| Refusal { protocol, seed, event }).collect())
}

impl Row {
    fn of(protocol: &'static Protocol, is_real: bool) -> Row {
        Row {
            protocol: protocol.name,
            is_real,
            runs: 0,
            violated: 0,
            inconclusive: 0,
            leaderless: 0,
            unwell: 0,
            metrics: Vec::new(),
        }
    }

    fn add(&mut self, report: &Value, was_unwell: bool) {
        self.runs += 1;
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let late = verdict == Verdict::Liveness.name();
        self.violated += usize::from(verdict == Verdict::Safety.name());
        self.inconclusive += usize::from(verdict == Verdict::Vacuous.name() || late && was_unwell);
        self.leaderless += usize::from(late && !was_unwell);
        self.unwell += usize::from(was_unwell);
        self.metrics.push(report["metrics"].clone());
    }

    /// All times of this name, sorted, milliseconds.
    fn times(&self, name: &str) -> Vec<f64> {
        let lists = self.metrics.iter().filter_map(|metrics| metrics[name].as_array());
        let mut times: Vec<f64> = lists.flatten().filter_map(Value::as_f64).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Each run's figure of this name; a report omits figures of 0.
    fn figures(&self, name: &str) -> impl Iterator<Item = u64> + '_ {
        let name = name.to_owned();
        self.metrics.iter().map(move |metrics| metrics[&name].as_u64().unwrap_or(0))
    }

    fn cell(&self, shows: Shows) -> String {
        let most = |name| self.figures(name).max().unwrap_or(0);
        match shows {
            Shows::Most(name) => most(name).to_string(),
            Shows::Sum(name) => self.figures(name).sum::<u64>().to_string(),
            Shows::Count(name) => self.times(name).len().to_string(),
            Shows::Range(name) => match (self.figures(name).min().unwrap_or(0), most(name)) {
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least}–{most}"),
            },
            Shows::Times(name) => {
                let times = self.times(name);
                let at = |q| quantile(&times, q).map(ms);
                match (at(0.5), at(0.0), at(1.0)) {
                    (Some(median), Some(least), Some(most)) if least != most => format!("{median} ({least} to {most})"),
                    (median, ..) => median.unwrap_or_else(|| "–".to_owned()),
                }
            }
        }
    }

    fn json(&self, trial: &Trial) -> Value {
        let mut row = json!({
            "protocol": self.protocol, "real": self.is_real, "runs": self.runs, "violated_safety": self.violated,
            "inconclusive": self.inconclusive, "violated_liveness": self.leaderless, "machine_unwell": self.unwell,
        });
        for (_, shows) in trial.columns {
            let (Shows::Most(name) | Shows::Sum(name) | Shows::Range(name) | Shows::Times(name) | Shows::Count(name)) =
                *shows;
            row[name] = match shows {
                Shows::Times(_) | Shows::Count(_) => self.times(name).into_iter().map(rounded).collect(),
                _ => self.figures(name).collect(),
            };
        }
        row
    }
}

/// A duration in milliseconds, as whole seconds or minutes.
fn about(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// Milliseconds with a sensible number of digits.
fn ms(value: f64) -> String {
    if value.abs() < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A table for each trial.
fn markdown(told: &[Told]) -> String {
    let mut text = String::new();
    for Told { trial, rows, refusals } in told {
        let heads: String = trial.columns.iter().map(|(name, _)| format!(" {name} |")).collect();
        let rules = "---:|".repeat(trial.columns.len());
        text += &format!("## {}. {}\n\n", trial.number, trial.title);
        text += &format!("| protocol | | runs |{heads} runs unsafe |\n|---|---|---:|{rules}---:|\n");
        for row in rows {
            let kind = if row.is_real { "real" } else { "simulated" };
            let cells: String = trial.columns.iter().map(|(_, shows)| format!(" {} |", row.cell(*shows))).collect();
            text += &format!("| {} | {kind} | {} |{cells} {} |\n", row.protocol, row.runs, row.violated);
        }
        text.push('\n');
        if !refusals.is_empty() {
            text += "The first write of each protocol that the real store refused:\n\n";
            text += "| protocol | seed | at, s | write | its token | highest token |\n|---|---:|---:|---|---:|---:|\n";
            text.extend(refusals.iter().map(Refusal::line));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

impl Refusal {
    fn line(&self) -> String {
        let Refusal { protocol, seed, event } = self;
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| event[name].as_u64().unwrap_or_default();
        let at = number("t_us") as f64 / 1e6;
        let write = format!("{}'s seq {} on {}", word("node"), number("seq"), word("resource"));
        format!("| {protocol} | {seed} | {at:.3} | {write} | {} | {} |\n", number("token"), number("highest"))
    }
}

fn in_json(told: &[Told]) -> Value {
    let refusals = |told: &Told| {
        let refused = told.refusals.iter();
        refused.map(|r| json!({ "protocol": r.protocol, "seed": r.seed, "event": r.event })).collect::<Vec<Value>>()
    };
    let experiment = |told: &Told| {
        json!({
            "experiment": told.trial.number, "title": told.trial.title, "fencing": told.trial.fencing,
            "rows": told.rows.iter().map(|row| row.json(told.trial)).collect::<Vec<Value>>(), "refusals": refusals(told),
        })
    };
    json!({ "schema": 1, "experiments": told.iter().map(experiment).collect::<Vec<Value>>() })
}

/// The results that differ from the protocols' promises, with their exit codes.
fn wrong(told: &[Told]) -> Vec<(u8, String)> {
    let mut wrong = Vec::new();
    for Told { trial, rows, .. } in told {
        for row in rows {
            let kind = if row.is_real { "on real processes" } else { "in the simulation" };
            let of = format!("{}. {}: {} {kind}", trial.number, trial.title, row.protocol);
            if trial.fencing && row.violated > 0 {
                wrong.push((VIOLATED, format!("{of}: {} violated safety", count(row.violated as u64, "run"))));
            }
            if row.leaderless > 0 {
                let runs = count(row.leaderless as u64, "run");
                wrong.push((Verdict::Liveness.exit_code(), format!("{of}: nobody led in time in {runs}")));
            }
            if row.inconclusive > 0 {
                let runs = count(row.inconclusive as u64, "run");
                wrong.push((INCONCLUSIVE, format!("{of}: {runs} inconclusive")));
            }
            if trial.must_violate && row.violated == 0 {
                wrong.push((INCONCLUSIVE, format!("{of}: expected a violation, got none")));
            }
            if row.unwell > 0 {
                let runs = count(row.unwell as u64, "run");
                wrong.push((0, format!("{of}: the machine stalled in {runs}, so times may be too long")));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit codes for one run of the trial with this title and verdict.
    fn codes(title: &str, verdict: Verdict, was_unwell: bool) -> Vec<u8> {
        let trial = trials::ALL.iter().find(|trial| trial.title == title).expect("a trial");
        let mut row = Row::of(protocols::election::find("raft").expect("a protocol"), true);
        row.add(&json!({ "verdict": verdict.name(), "metrics": {} }), was_unwell);
        wrong(&[Told { trial, rows: vec![row], refusals: Vec::new() }]).into_iter().map(|(code, _)| code).collect()
    }

    #[test]
    fn no_verdict_passes_for_another() {
        let (fenced, unfenced) = ("A pause beyond the lease", "The pause without fencing");
        assert_eq!(codes(fenced, Verdict::Pass, false), [0; 0]);
        assert_eq!(codes(fenced, Verdict::Safety, false), [VIOLATED]);
        assert_eq!(codes(fenced, Verdict::Vacuous, false), [INCONCLUSIVE]);
        assert_eq!(codes(fenced, Verdict::Liveness, false), [Verdict::Liveness.exit_code()]);
        // The machine may be to blame for a late leader, and for nothing else.
        assert_eq!(codes(fenced, Verdict::Liveness, true), [INCONCLUSIVE, 0]);
        assert_eq!(codes(fenced, Verdict::Safety, true), [VIOLATED, 0]);
        assert_eq!(codes(unfenced, Verdict::Safety, false), [0; 0]);
        assert_eq!(codes(unfenced, Verdict::Pass, false), [INCONCLUSIVE]);
    }
}
