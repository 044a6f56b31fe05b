//! `nightly`: what failed in earlier nights, a canary, new seeds of a swarm; a line and a page of all nights.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED, exit_code},
    exit::{HARNESS, Stop},
    findings_args::NightlyArgs,
    one_run::is_folder,
    output::{Show, print},
    parse, plan_file,
    progress::Progress,
};
use crate::terminal::exit::ends_with;
use protocols::{election, fence::checks::Fencing, service::kubernetes::micro_time};
use reports::{
    Verdict,
    index::{self, FILE as PAGE},
    statistics::{count, rounded},
    text::paragraph,
};
use scenarios::{Params, plan::Plan};
use sim::{
    artifacts,
    error::FileError,
    interrupt, known,
    nightly::{self, Night, NoNights, Open, Retried},
    registry::Registry,
    repro,
    run::{self, Options},
    swarm::{Swarm, Swept},
    sweep::Outcome,
};
use std::{
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

ends_with! {
    NoNights: usage,
}

/// Without a number of seeds, the time ends a night first.
const RUNS_MAX: u64 = 1 << 40;
const USUAL_LENGTH_MS: u64 = 30 * 60 * 1_000;
/// So many open failures are printed; the page has all.
const PRINTED_MAX: usize = 20;

/// Runs a night, adds its line to the file and writes the page.
///
/// # Errors
/// The arguments make no sense, the file of nights is not one, or a file could not be written.
pub fn run(registry: &Registry, args: &NightlyArgs) -> Result<u8, Stop> {
    let (show, out) = (Show::from(&args.show), args.out.as_path());
    is_folder(out)?;
    let choice = args.plan.choice(parse::protocols(&args.protocol)?)?;
    let canary = canary(registry, args.canary.as_deref())?;
    fs::create_dir_all(out).map_err(FileError::of("make", out))?;
    let _alone = alone(out)?;
    let file = out.join(nightly::FILE);
    let text = match fs::read_to_string(&file) {
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        text => text.map_err(FileError::of("read", &file))?,
    };
    let foreign = |why: NoNights| Stop::usage(format!("{}: {why}", file.display()));
    let mut nights = nightly::read(&text).map_err(foreign)?;
    let seeds = nightly::next(&nights, args.runs.unwrap_or(RUNS_MAX)).map_err(foreign)?;
    ends::listen()?;
    let jobs = jobs_or_cores(args.jobs);
    let swarm = Swarm { registry: registry.clone(), choice, seeds, shard: (1, 1), jobs, until_stable: false };
    let limit_ms = args.limit.or(args.runs.is_none().then_some(USUAL_LENGTH_MS));
    let started = Instant::now();
    let goes_on = || limit_ms.is_none_or(|ms| started.elapsed() < Duration::from_millis(ms));
    let mut night = Night::of_this_build(&args.protocol, &swarm);
    let earlier = nights.last().map(|night| night.open.clone()).unwrap_or_default();
    retry(&swarm, out, &earlier, &mut night, goes_on);
    if interrupt::asked() {
        let why = "interrupted before the canary had run, so nothing is recorded".to_owned();
        return Err(Stop { code: INTERRUPTED, why });
    }
    let ran = run::run(&canary, Options { registry: registry.clone(), ..Options::default() }).map_err(ends::ended)?;
    let mut outcome = Outcome::default();
    match ran.judgement.verdict {
        Verdict::Safety | Verdict::Liveness => {
            let (swept, seconds) = sweep(&swarm, args, show, goes_on)?;
            outcome = add(&swarm, out, &mut night, swept, seconds, earlier)?;
        }
        verdict => night.give_up(format!("the canary, whose plan must fail, ended with `{}`", verdict.name()), earlier),
    }
    if night.ended.is_empty() {
        night.ended = now();
    }
    night.wall_s = rounded(started.elapsed().as_secs_f64());
    night.exit = if night.worthless.is_some() { HARNESS } else { exit_code(&outcome) };
    let line = serde_json::to_string(&night)?;
    let ends = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    replace(&file, &format!("{text}{ends}{line}\n"))?;
    nights.push(night.clone());
    let lines = nights.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    replace(&out.join(PAGE), &index::nights(&lines, &|file| again(out, file)).page())?;
    print(&if show.json { line } else { told(&night, out, show) });
    Ok(night.exit)
}

/// The plan that must fail: a leader paused for longer than its lease, and a store that does not compare tokens.
fn canary(registry: &Registry, file: Option<&Path>) -> Result<Plan, Stop> {
    if let Some(file) = file {
        return Ok(plan_file::read(registry, file)?.plan().clone());
    }
    let params = Params { fencing: Fencing::Off, rate: 200, ..Params::default() };
    Ok(registry.plans.compile(parse::scenario("gc-pause")?, &params, &election::etcd::PROTOCOL, 42)?)
}

/// Keeps other nights out of the folder until it is dropped: both would run the same seeds, and one line would be lost.
fn alone(out: &Path) -> Result<File, Stop> {
    let lock = out.join(".lock");
    let file = File::create(&lock).map_err(FileError::of("write", &lock))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Stop::usage(format!(
            "another night is under way in {}; wait for it, or give another --out",
            out.display()
        ))),
        // Some file systems have no locks.
        _ => Ok(file),
    }
}

/// Runs again what earlier nights left open, with this night's bugs instead of those it failed with.
fn retry(swarm: &Swarm, out: &Path, earlier: &[Open], night: &mut Night, goes_on: impl Fn() -> bool + Sync) {
    let (mut plans, mut opens) = (Vec::new(), Vec::new());
    for open in earlier {
        let mut open = Open { unread: None, ..open.clone() };
        match read(&swarm.registry, out, &open) {
            Ok(plan) => {
                plans.push(Plan { bugs: swarm.choice.bugs_of(&plan.protocol), ..plan });
                opens.push(open);
            }
            Err(why) => {
                open.unread = Some(why.why);
                night.open.push(open);
            }
        }
    }
    for ((mut open, plan), came) in opens.into_iter().zip(&plans).zip(nightly::retry(swarm, &plans, goes_on)) {
        night.retried += u64::from(!matches!(came, Retried::Unrun));
        let protocol = swarm.registry.plans.protocol(&plan.protocol);
        open.redrawn = protocol.is_ok_and(|protocol| nightly::redrawn(plan, protocol, &swarm.choice));
        match came {
            Retried::Kept => night.fixed.push(open),
            Retried::Unrun => night.open.push(open),
            Retried::Broken(failure) => night.open.push(Open { failure: *failure, ..open }),
        }
    }
}

/// The plan of an earlier failure.
fn read(registry: &Registry, out: &Path, open: &Open) -> Result<Plan, Stop> {
    let file = out.join(&open.file);
    let plan = plan_file::read(registry, &file)?.plan().clone();
    match (plan.seed, &plan.protocol) == (open.failure.seed, &open.failure.protocol) {
        true => Ok(plan),
        false => Err(Stop::usage(format!("{} is the plan of another failure", file.display()))),
    }
}

/// Runs the new seeds; returns the result and the time that it took, in seconds.
fn sweep(
    swarm: &Swarm,
    args: &NightlyArgs,
    show: Show,
    goes_on: impl Fn() -> bool + Sync,
) -> Result<(Swept, f64), Stop> {
    let started = Instant::now();
    let progress = args.runs.map(|runs| Progress::new(runs, show)).transpose()?;
    if progress.is_none() {
        show.banner(&format!("new seeds, from {} on, until the time is over", swarm.seeds.start));
    }
    let swept = swarm.run_while(goes_on, |ended| progress.iter().for_each(|progress| progress.done(ended)))?;
    progress.iter().for_each(Progress::finish);
    Ok((swept, started.elapsed().as_secs_f64()))
}

/// Adds the new seeds' results to the night, and keeps the plans that failed; returns what decides the exit code.
fn add(
    swarm: &Swarm,
    out: &Path,
    night: &mut Night,
    swept: Swept,
    seconds: f64,
    earlier: Vec<Open>,
) -> Result<Outcome, Stop> {
    if let Some(wrong) = swept.outcome.failures.iter().find(|failure| failure.verdict == known::VERDICT) {
        night.give_up(format!("the judge gives a wrong answer in {}: {}", wrong.scenario, wrong.why), earlier);
        return Ok(swept.outcome);
    }
    night.ended = now();
    let kept = night.add(&swept, seconds);
    let folder = out.join(nightly::FAILURES);
    if !kept.is_empty() {
        fs::create_dir_all(&folder).map_err(FileError::of("make", &folder)).map_err(unwritten)?;
    }
    for open in kept {
        if let Some(plan) = &open.failure.plan {
            artifacts::save(&out.join(&open.file), &nightly::capsule(swarm, plan)).map_err(unwritten)?;
        }
        night.open.push(open);
    }
    Ok(night.outcome(swept.outcome))
}

/// Writes a file aside and renames it, so that a night that is killed leaves the earlier one.
fn replace(file: &Path, text: &str) -> Result<(), Stop> {
    let aside = file.with_extension("new");
    let written = artifacts::save(&aside, text);
    let written = written.and_then(|()| fs::rename(&aside, file).map_err(FileError::of("write", file)));
    written.map_err(unwritten)
}

/// The night's results could not be written: it may be run again.
fn unwritten(why: FileError) -> Stop {
    Stop::harness(why.to_string())
}

/// The command that repeats a failure.
fn again(out: &Path, file: &str) -> String {
    repro::command(&["replay".to_owned(), plan_file::whole_path(&out.join(file))])
}

/// The time in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = micro_time::written(since.as_micros() as u64);
    format!("{}Z", &micros[.."2026-11-29T22:00:00".len()])
}

/// The day of a time.
fn day(time: &str) -> String {
    time.chars().take("2026-11-29".len()).collect()
}

fn told(night: &Night, out: &Path, show: Show) -> String {
    let Night { seeds: [from, to], runs, broken, retried, fixed, open, .. } = night;
    let mut text = match &night.worthless {
        Some(why) => format!("WORTHLESS: {why}. Nothing of this night counts: the next one begins where it did.\n"),
        None => {
            let again = match retried {
                0 => String::new(),
                retried => format!("{} run again, {} fixed; ", count(*retried, "earlier failure"), fixed.len()),
            };
            let new = count(*runs, "new seed");
            let end = if night.interrupted { "INTERRUPTED; " } else { "" };
            format!("{end}{again}the canary failed, as it must; {new}, {from}..{to}: {broken} broken\n")
        }
    };
    night.moved.iter().for_each(|moved| text += &format!("MOVED {moved}\n"));
    for Open { since, file, unread, failure, .. } in open.iter().take(PRINTED_MAX) {
        let why =
            unread.as_ref().map_or_else(|| failure.why.clone(), |why| format!("this program cannot run it: {why}"));
        text += &format!("OPEN {} seed {}, since {}\n", failure.protocol, failure.seed, day(since));
        text += &format!("{}  run it: {}\n", paragraph(&why, show.width()), again(out, file));
    }
    if open.len() > PRINTED_MAX {
        text += &format!("… and {} more, in the page\n", open.len() - PRINTED_MAX);
    }
    text + &format!("{} open; the page: {}\n", count(open.len() as u64, "failure"), out.join(PAGE).display())
}
