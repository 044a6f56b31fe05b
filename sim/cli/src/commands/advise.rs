//! `advise`: which lease meets an availability target, given observed pauses and crashes.

mod told;

use super::{
    advice_args::AdviseArgs,
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::{INCONCLUSIVE, Stop},
    output::{Show, print},
    parse,
    progress::Counter,
};
use protocols::election::Protocol;
use scenarios::{
    Params,
    pauses::{self, Pauses},
    sense,
    units::duration_text,
};
use serde_json::Value;
use sim::{
    advise::{self, Choice, Ladder, Situation, trial},
    interrupt::asked as is_asked_to_end,
    registry::Registry,
};
use std::{fs, io::Read, path::Path};
use told::{Seen, Told, Tried};

const DAY_MS: f64 = 86_400_000.0;

/// Prints the advice; the exit code is 0 if its trial confirms an advice, and 2 otherwise.
///
/// # Errors
/// The arguments make no sense, a log cannot be read, or a run could not be finished.
pub fn run(registry: &Registry, args: &AdviseArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let confirmed = answered(registry, args, |told, confirmed| {
        match (show.json, show.quiet) {
            (true, _) => print(&reports::json::pretty(&told.json())),
            (false, true) => print(&told.advice()),
            (false, false) => print(&told.text()),
        }
        confirmed
    })?;
    if is_asked_to_end() {
        show.banner("INTERRUPTED: the advice is arithmetic alone, and was not tried");
        return Ok(INTERRUPTED);
    }
    Ok(if confirmed { 0 } else { INCONCLUSIVE })
}

/// The advice as JSON.
///
/// # Errors
/// As [`run`].
pub(super) fn json(registry: &Registry, args: &AdviseArgs) -> Result<Value, Stop> {
    answered(registry, args, |told, _| told.json())
}

/// Computes the advice, its trials, and whether a trial confirms it, and hands them to `tell`.
fn answered<T>(registry: &Registry, args: &AdviseArgs, tell: impl FnOnce(&Told, bool) -> T) -> Result<T, Stop> {
    let show = Show::from(&args.show);
    let (seen, situation) = situation(args)?;
    let given = Params { nodes: args.nodes, renew_interval_ms: args.renew_interval, ..Params::default() };
    let params = args.network.params(args.own.add_to(given));
    sense::options(&params)?;
    let wanted = f64::from(args.confidence) / 1e6;
    let protocols = protocols(registry, args)?;
    if let Some(other) = params.set.iter().find(|setting| protocols.iter().all(|of| of.name != setting.owner)) {
        return Err(Stop::usage(format!("--set {other} is of none of the protocols asked about; leave it out")));
    }
    let ladders: Vec<Ladder> = protocols
        .into_iter()
        .map(|protocol| advise::ladder(&situation, protocol, &params, &args.lease_ttl, wanted))
        .collect();
    if ladders.iter().all(|ladder| ladder.steps.is_empty()) {
        return Err(Stop::usage("none of these protocols takes any of these leases; give others with --lease-ttl"));
    }
    let now = now(args, &situation, &params)?;
    let best = advise::best(&ladders);
    let shorter = best.and_then(|(ladder, _)| ladder.steps.get(ladder.advised?.checked_sub(1)?));
    let choices: Vec<&Choice> = [best.map(|(_, choice)| choice), shorter].into_iter().flatten().collect();
    let bar = Counter::new(trial::RUNS_MAX * (choices.len() + usize::from(now.is_some())) as u64, show);
    ends::listen()?;
    let tried = |choice| {
        let trial = || trial::of(registry, &situation, choice, jobs_or_cores(args.jobs), || bar.done());
        match (!args.no_trial).then(trial).transpose() {
            Err(_) if is_asked_to_end() => Ok(Tried { choice, trial: None }),
            trial => trial.map(|trial| Tried { choice, trial }).map_err(Stop::from),
        }
    };
    let all = choices.into_iter().map(tried).collect::<Result<Vec<_>, _>>()?;
    let now = now.as_ref().map(tried).transpose()?;
    bar.finish();
    let told = Told { args, seen: &seen, situation: &situation, ladders: &ladders, tried: &all, now: now.as_ref() };
    // A trial in which no pause struck confirms nothing about the given pauses.
    let confirms = |trial: trial::Trial| trial.dark <= situation.may_be_dark && (trial.pauses > 0 || seen.number == 0);
    let confirmed = all.first().is_some_and(|tried| tried.trial.is_none_or(confirms));
    Ok(tell(&told, confirmed))
}

/// The current setup, from `--now`.
fn now(args: &AdviseArgs, situation: &Situation, params: &Params) -> Result<Option<Choice>, Stop> {
    let Some((protocol, ttl_ms)) = args.now else { return Ok(None) };
    let ladder = advise::ladder(situation, protocol, params, &[ttl_ms], 0.0);
    let takes_none = || format!("--now: `{}` takes no lease of {}", protocol.name, duration_text(ttl_ms));
    ladder.steps.into_iter().next().map(Some).ok_or_else(|| Stop::usage(takes_none()))
}

/// The observations, and the situation that follows from them.
fn situation(args: &AdviseArgs) -> Result<(Seen, Situation), Stop> {
    let (mut lengths_ms, mut seen, mut over_ms) = (Vec::new(), Vec::new(), None);
    if let Some(path) = &args.pauses {
        let text = read(path)?;
        let Pauses { lengths_ms: logged, over_ms: span_ms, form } =
            pauses::read(&text).map_err(|why| Stop::usage(format!("{}: {why}", path.display())))?;
        seen.push(format!("{form}, {}", path.display()));
        lengths_ms = logged;
        over_ms = span_ms;
    }
    for entry in &args.pause {
        let by_hand = pauses::read(entry).map_err(|_| {
            Stop::usage(format!("--pause is `{entry}`; write a duration, such as 1.2s, or several of it, as 3x 1.2s"))
        })?;
        lengths_ms.extend(by_hand.lengths_ms);
    }
    if !args.pause.is_empty() {
        seen.push("by hand".to_owned());
    }
    lengths_ms.sort_by(f64::total_cmp);
    let pauses_over_ms = match (args.over.map(|ms| ms as f64).or(over_ms), lengths_ms.is_empty()) {
        (Some(ms), _) => ms,
        (None, true) => DAY_MS,
        (None, false) => {
            return Err(Stop::usage("give the time over which these pauses were seen: --over, such as --over 7d"));
        }
    };
    let paused_ms: f64 = lengths_ms.iter().sum();
    if paused_ms >= pauses_over_ms {
        let text = "the pauses add up to more than the time in which they were seen; check --over";
        return Err(Stop::usage(text));
    }
    let (crashes, crashes_over_ms) = args.crashes;
    let number = lengths_ms.len();
    lengths_ms.retain(|length_ms| *length_ms >= args.unnoticed as f64);
    let situation = Situation {
        pauses_ms: lengths_ms,
        pauses_over_ms,
        crashes,
        crashes_over_ms: crashes_over_ms as f64,
        warm_up_ms: args.warm_up as f64,
        may_be_dark: f64::from(args.slo) / 1e6,
    };
    Ok((Seen { sources: seen.join("; "), number }, situation))
}

fn read(path: &Path) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ()),
        _ => fs::read(path).map(|content| bytes = content),
    };
    read.map_err(|e| Stop::usage(format!("cannot read {}: {e}", path.display())))?;
    // A log may contain anything; bytes that are no text are no pause.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn protocols(registry: &Registry, args: &AdviseArgs) -> Result<Vec<&'static Protocol>, Stop> {
    match &args.protocol {
        None => {
            let all = registry.plans.protocols.iter().copied();
            Ok(all.filter(|protocol| advise::is_safe(protocol) && advise::is_deployable(protocol)).collect())
        }
        Some(names) => {
            let asked = parse::protocols(names)?;
            match asked.iter().find(|protocol| !advise::is_safe(protocol)) {
                Some(unsafe_one) => Err(Stop::usage(format!(
                    "`{}` lets two leaders take effect when one is paused, whatever its lease; choose a protocol with a \
                     fencing token",
                    unsafe_one.name
                ))),
                None => Ok(asked),
            }
        }
    }
}
