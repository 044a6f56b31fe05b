//! `drill`: somebody else's processes under our scenarios.

use super::{
    args::DrillArgs,
    cluster,
    process::{asked_to_end, block_on},
};
use crate::terminal::{
    check,
    exit::{Stop, USAGE},
    output::{Show, print},
};
use ::logs::{Judged, Messages, Says};
use reports::Verdict;
use sim_real::{
    drill::{self, Drilled, Ear, File, Held, Places, Plan, Said, Scenario},
    stalls::Excuse,
};
use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
};

/// A run, judged.
struct Run {
    plan: Plan,
    judged: Judged,
    drilled: Drilled,
    excuse: Option<Excuse>,
}

/// The scenarios that are not part of the verdict, and why not.
#[derive(Default)]
struct LeftOut(Vec<(Scenario, String)>);

impl LeftOut {
    fn add(&mut self, scenario: Scenario, why: &str, show: Show) {
        show.banner(&format!("{} is left out: {why}", scenario.name()));
        self.0.push((scenario, why.to_owned()));
    }

    fn names(&self) -> String {
        self.0.iter().map(|(scenario, _)| scenario.name()).collect::<Vec<_>>().join(", ")
    }

    fn json(&self) -> Vec<serde_json::Value> {
        self.0.iter().map(|(scenario, why)| serde_json::json!({ "scenario": scenario.name(), "why": why })).collect()
    }
}

/// Plays the scenarios one after the other, each on servers and processes of its own.
pub fn run(args: &DrillArgs) -> Result<u8, Stop> {
    let Some(path) = args.file.as_ref().filter(|_| !args.list) else {
        let rows = Scenario::ALL.map(|scenario| format!("{:<24} {}", scenario.name(), scenario.about()));
        print(&rows.join("\n"));
        return Ok(0);
    };
    let file = File::read(path)?;
    let show = Show::from(&args.show);
    let mut left_out = LeftOut::default();
    let scenarios = scenarios(args, &file, &mut left_out)?;
    // Wrong patterns are told before anything is started.
    drop(ear(&file)?);
    let folder = args.dir.clone().unwrap_or_else(|| Path::new("target/fencepost/drill").join(file.title()));
    let wrong = |e: std::io::Error| Stop::harness(format!("cannot make {}: {e}", folder.display()));
    fs::create_dir_all(&folder).map_err(wrong)?;
    let folder = folder.canonicalize().map_err(wrong)?;
    let tools = folder.join("tools");
    let keeper = std::env::current_exe().map_err(|e| Stop::harness(format!("cannot find this program: {e}")))?;
    let _alone = Alone::in_folder(&folder)?;
    until_asked(async { Ok(drill::set_up(&file, &keeper, &tools).await?) })?;
    // The setup may have built the program.
    let scenarios = movable(scenarios, args, (&file, &tools), &mut left_out)?;
    let engine = drill::engine(&file)?;
    if let Some((engine, image)) = engine.as_ref().zip(file.fleet.image.as_ref()) {
        show.banner(&format!("the members are containers of {}, run by {}", image.name, engine.program()));
    }
    let seeds = (0..args.times).map(|nth| args.seed.wrapping_add(nth));
    let plans: Vec<Plan> =
        scenarios.iter().flat_map(|scenario| seeds.clone().map(|seed| Plan::draw(*scenario, seed))).collect();
    let alone = plans.len() == 1;
    let mut runs = Vec::new();
    for plan in plans {
        let at = folder.join(plan.scenario.name()).join(plan.seed.to_string());
        show.banner(&format!("{} seed {}: {}", plan.scenario.name(), plan.seed, plan.scenario.about()));
        let run = play(
            &file,
            plan,
            Places { keeper: keeper.clone(), folder: at, tools: tools.clone(), engine: engine.clone() },
            show,
        )?;
        if args.scenarios.is_empty() && run.drilled.unmet && run.judged.judgement.verdict == Verdict::Vacuous {
            // Nothing is wrong with a fleet that does not look at clocks, or whose leader lets go early.
            left_out.add(run.plan.scenario, run.drilled.doubt.as_deref().unwrap_or_default(), show);
            continue;
        }
        if !alone && !args.show.json {
            print(&row(&run));
        }
        runs.push(run);
    }
    report(args, (&mut runs, &left_out), &folder, show)
}

fn scenarios(args: &DrillArgs, file: &File, left_out: &mut LeftOut) -> Result<Vec<Scenario>, Stop> {
    let named = args.scenarios.iter().map(|name| Scenario::find(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some((scenario, why)) = named.iter().find_map(|scenario| Some((scenario, scenario.impossible(file)?))) {
        return Err(Stop::usage(format!("`{}` cannot be played: {why}", scenario.name())));
    }
    if !named.is_empty() {
        return Ok(named);
    }
    let mut possible = Scenario::ALL.to_vec();
    possible.retain(|scenario| match scenario.impossible(file) {
        Some(why) => {
            left_out.add(*scenario, why, Show::from(&args.show));
            false
        }
        None => true,
    });
    Ok(possible)
}

/// Without those that move clocks, if clocks cannot be moved.
fn movable(
    scenarios: Vec<Scenario>,
    args: &DrillArgs,
    (file, tools): (&File, &Path),
    left_out: &mut LeftOut,
) -> Result<Vec<Scenario>, Stop> {
    let moves = |scenario: &Scenario| scenario.moves_clocks();
    let Some(first) = scenarios.iter().find(|scenario| moves(scenario)) else { return Ok(scenarios) };
    let Some(why) = drill::unmovable(file, tools) else { return Ok(scenarios) };
    if !args.scenarios.is_empty() {
        return Err(Stop::usage(format!("`{}` cannot be played: {why}", first.name())));
    }
    for scenario in scenarios.iter().filter(|scenario| moves(scenario)) {
        left_out.add(*scenario, &why, Show::from(&args.show));
    }
    Ok(scenarios.into_iter().filter(|scenario| !moves(scenario)).collect())
}

/// Listens as the file says.
fn ear(file: &File) -> Result<Ear, Stop> {
    let words = &file.log;
    let wrong = |why: &dyn std::fmt::Display| Stop::usage(format!("`[log]`: {why}"));
    let preset = words.preset.as_deref().map(::logs::preset).transpose().map_err(|why| wrong(&why))?;
    let messages = Messages::new(preset, &words.elected, &words.deposed).map_err(|why| wrong(&why))?;
    let only = |patterns: &[String]| Messages::new(None, patterns, &[]).map_err(|why| wrong(&why));
    let (pauses, ready) = (only(&words.pause_at)?, only(&words.ready)?);
    let started = file.fleet.ready.as_ref().map_or(&[][..], |ready| ready.texts());
    let started = Messages::new(None, started, &[]);
    let started = started.map_err(|why| Stop::usage(format!("`[fleet] ready`: {why}")))?;
    let [accepted, refused] = file.decided();
    let decided = Messages::new(None, accepted, refused);
    let decided = decided.map_err(|why| Stop::usage(format!("`[store] log`: {why}")))?;
    let decided =
        move |line: &str| Some(if decided.of(line)?.says == Says::Elected { Said::Accepted } else { Said::Refused });
    let leads = move |member: &str, line: &str| {
        let message = messages.of(line)?;
        let field =
            |name: &str| message.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        // A member may also say who else leads.
        if field("node").is_some_and(|node| node != member) {
            return None;
        }
        match message.says {
            Says::Elected => Some(Said::Elected(field("token").and_then(|token| token.parse().ok()))),
            Says::Deposed => Some(Said::Deposed),
            Says::Accepted | Says::Refused => None,
        }
    };
    Ok(Box::new(move |member, line| {
        let has = |patterns: &Messages, said| patterns.of(line).map(|_| said);
        let said = [has(&started, Said::Started), decided(line), has(&ready, Said::Ready), has(&pauses, Said::Pause)];
        leads(member, line).into_iter().chain(said.into_iter().flatten()).collect()
    }))
}

fn play(file: &File, plan: Plan, places: Places, show: Show) -> Result<Run, Stop> {
    let folder = &places.folder;
    cluster::fresh(folder)?;
    let wrong = |e: std::io::Error| Stop::harness(format!("cannot write into {}: {e}", folder.display()));
    let text = serde_json::to_string_pretty(&plan).map_err(|e| Stop::harness(e.to_string()))?;
    fs::write(folder.join("plan.json"), text + "\n").map_err(wrong)?;
    let ear = ear(file)?;
    let drilled = until_asked(async { Ok(drill::drill(file, &plan, &places, ear).await?) })?;
    let mut judged = check::read_for_page(&drilled.history)?;
    let mut excuse = None;
    if judged.judgement.verdict == Verdict::Liveness {
        excuse = drilled.stalls.excuse(file.fleet.lease, drilled.lasted);
        if excuse.is_some() {
            judged.judgement.verdict = Verdict::Vacuous;
        }
    }
    if let Some(unheard) = &drilled.unheard {
        let violated = judged.judgement.invariants.iter().filter(|seen| !seen.holds);
        let first_us = violated.filter_map(|seen| seen.violated_us).min();
        // Whoever was elected again counts as its former leadership.
        let may_be_none = unheard.again_us.is_some_and(|again_us| first_us.is_none_or(|first_us| first_us >= again_us));
        if may_be_none && judged.judgement.verdict == Verdict::Safety {
            judged.judgement.depends(unheard.why.clone());
        } else {
            show.banner(&unheard.why);
        }
    }
    if let Some(doubt) = drilled.doubt.as_ref().filter(|_| judged.judgement.verdict == Verdict::Pass) {
        judged.judgement.shows_nothing(doubt.clone());
    }
    check::write_page(&mut judged, folder, Show::default())?;
    Ok(Run { plan, judged, drilled, excuse })
}

/// Does something until it is done, or the process is asked to end. Whatever was started ends with its keeper, whose input
/// closes.
fn until_asked<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    block_on(async {
        let asked = asked_to_end()?;
        tokio::select! {
            biased;
            () = asked => Err(Stop::harness("interrupted; everything that was started is being ended")),
            done = work => done,
        }
    })
}

/// The only drill in a folder: another one would take its runs away.
struct Alone(PathBuf);

impl Alone {
    fn in_folder(folder: &Path) -> Result<Alone, Stop> {
        let mark = folder.join("running");
        let other = fs::read_to_string(&mark).ok().and_then(|pid| pid.trim().parse::<u32>().ok());
        let lives = |pid: &u32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            *pid != std::process::id() && command.split(|byte| *byte == 0).any(|word| word == b"drill")
        };
        if let Some(pid) = other.filter(lives) {
            let folder = folder.display();
            return Err(Stop::usage(format!(
                "process {pid} drills in {folder} already; end it, or give another --dir"
            )));
        }
        fs::write(&mark, std::process::id().to_string())
            .map_err(|e| Stop::harness(format!("cannot write {}: {e}", mark.display())))?;
        Ok(Alone(mark))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // The next drill sees that this process has ended.
        let _ = fs::remove_file(&self.0);
    }
}

/// What became of the write that was held back.
fn told(held: Held) -> &'static str {
    match held {
        Held::Accepted => "the stale write was accepted",
        Held::Refused => "the stale write was refused",
        Held::Unknown => "the stale write was neither accepted nor refused",
        Held::NoSuccessor => "nobody else wrote while the write was held back",
        Held::NoWrite => "the leader did not write",
    }
}

fn row(run: &Run) -> String {
    let Run { judged, drilled, .. } = run;
    let metrics = &judged.judgement.metrics;
    let failover: Vec<String> = metrics.failover_ms.iter().map(|ms| format!("{:.1} s", ms / 1e3)).collect();
    let failover = (!failover.is_empty()).then(|| format!("failover {}", failover.join(", ")));
    let doubt =
        drilled.doubt.clone().filter(|_| drilled.held.is_none() && judged.judgement.verdict == Verdict::Vacuous);
    let parts = [drilled.held.map(|held| told(held).to_owned()), doubt, failover];
    let detail: Vec<String> = parts.into_iter().flatten().collect();
    let name = named(run);
    format!("{name:<32} {:<12} {}", judged.judgement.verdict.name(), detail.join("; ")).trim_end().to_owned()
}

fn named(run: &Run) -> String {
    format!("{} seed {}", run.plan.scenario.name(), run.plan.seed)
}

fn report(args: &DrillArgs, (runs, left_out): (&mut [Run], &LeftOut), folder: &Path, show: Show) -> Result<u8, Stop> {
    // The worst first: a violation of safety, then of liveness, then what shows nothing.
    let rank = |verdict: Verdict| match verdict {
        Verdict::Safety => 3,
        Verdict::Liveness => 2,
        Verdict::Vacuous => 1,
        _ => 0,
    };
    let Some(worst) = runs.iter().max_by_key(|run| rank(run.judged.judgement.verdict)) else {
        return Err(Stop { code: USAGE, why: "no scenario can be played on this fleet".to_owned() });
    };
    let code = worst.judged.judgement.verdict.exit_code();
    if args.show.json && runs.len() > 1 {
        let runs: Vec<_> = runs.iter().map(json).collect();
        print(&format!("{:#}", serde_json::json!({ "schema": 1, "runs": runs, "left_out": left_out.json() })));
        return Ok(code);
    }
    if runs.len() > 1 && rank(worst.judged.judgement.verdict) == 0 {
        let without = if left_out.0.is_empty() { String::new() } else { format!(", without {}", left_out.names()) };
        print(&format!(
            "{} runs, all of them pass{without}; histories and pages are in {}",
            runs.len(),
            folder.display()
        ));
        return Ok(code);
    }
    if !show.quiet && runs.len() > 1 {
        print("");
    }
    check::report(&worst.judged, &shown(&worst.drilled.history), None, true, show);
    if !show.json && !show.quiet {
        worst.drilled.held.into_iter().for_each(|held| print(&format!("Held back: {}.", told(held))));
        if let Some(excuse) = worst.excuse {
            print(&format!("INCONCLUSIVE: {excuse}; liveness was not judged; run it again on a quiet machine"));
        }
        if runs.len() > 1 {
            print(&format!(
                "This was {}; histories, pages and the output of processes of all runs are in {}",
                named(worst),
                folder.display()
            ));
        }
    }
    Ok(code)
}

fn json(run: &Run) -> serde_json::Value {
    let Run { plan, judged, drilled, .. } = run;
    let metrics = &judged.judgement.metrics;
    serde_json::json!({
        "scenario": plan.scenario.name(), "seed": plan.seed, "verdict": judged.judgement.verdict.name(),
        "violated": judged.judgement.violated().collect::<Vec<_>>(),
        "held": drilled.held.map(told), "failover_ms": metrics.failover_ms,
        "leaders_acting_by_effect_max": metrics.leaders_acting_by_effect_max,
        "writes_accepted": metrics.writes_accepted, "writes_fenced": metrics.writes_fenced,
        "history": shown(&drilled.history), "doubt": drilled.doubt,
    })
}

/// A path from here, if that is shorter.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_else(|_| PathBuf::new());
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
