//! `assess`: whether it is safe, by what margin, what breaks first, and what to change.

mod change;
mod sentence;
mod text;

use super::{
    advice_args::AssessArgs,
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::{INCONCLUSIVE, Stop, VIOLATED},
    output::{Show, print},
};
use change::Change;
use protocols::{fence::checks::Fencing, types::MILLISECOND};
use scenarios::{Params, plan::Invalid, sense, units::duration_text};
use serde_json::{Value, json};
use sim::{
    advise,
    assess::{Along, Answer, Assessment, Case, Hazards, Outcome, Why},
    error::Failed,
    interrupt::asked as is_asked_to_end,
    registry::Registry,
    repro,
};
use text::Told;

/// Requests of all clients together per lease: the longer the lease, the lower the rate, so that runs take no longer.
/// Their distance is about the resolution of the search along a pause; clients retry each request that nobody serves.
const REQUESTS_A_LEASE: u64 = 500;

/// Assesses. The exit code is 0 for safe, 1 for unsafe, 2 for undecided, and 130 if interrupted.
///
/// # Errors
/// The arguments make no sense, or a run could not be finished.
pub fn run(registry: &Registry, args: &AssessArgs) -> Result<u8, Stop> {
    let given = args.plan.params()?;
    let hazards = Hazards {
        pause_ms: given.pause_ms,
        cut_ms: args.partition,
        drift_ppm: args.plan.clock_drift(),
        skew_ms: args.plan.clock_skew(),
        latency_us: given.latency_us.map(|(_, longest_us)| longest_us),
    };
    if hazards.first().is_none() {
        return Err(Stop::usage("name a hazard: --pause, --partition, --clock-drift, --clock-skew or --latency"));
    }
    not_about(&given)?;
    let params = with_own_timers(&given, args);
    let case = Case { registry, protocol: args.name, params: &params, hazards, jobs: jobs_or_cores(args.jobs) };
    makes_sense(&case)?;
    let show = Show::from(&args.show);
    ends::listen()?;
    let told = |value, fencing: Fencing, outcomes: &[Outcome]| {
        show.banner(&format!("fencing {}: {}", fencing.word(), sentence::outcomes(&case, value, outcomes)));
    };
    let mut seen = case.assess(told).map_err(ends::ended)?;
    let changes = match seen.interrupted {
        true => Vec::new(),
        false => match change::changes(&case, seen.answer == Answer::Safe) {
            Err(_) if is_asked_to_end() => Vec::new(),
            changes => changes?,
        },
    };
    seen.interrupted = is_asked_to_end();
    let commands = commands(&case, &seen);
    let timers_given = given.lease_ttl_ms.is_some()
        || given.renew_interval_ms.is_some()
        || given.election_timeout_ms.is_some()
        || !given.set.is_empty()
        || given.retry_period_ms.is_some();
    let told = Told { case: &case, timers_given, seen: &seen, changes: &changes, commands: &commands };
    match (show.json, show.quiet) {
        (true, _) => print(&reports::json::pretty(&as_json(&told))),
        (false, true) => print(&sentence::answer(&case, &seen)),
        (false, false) => print(&told.text()),
    }
    Ok(match seen.answer {
        _ if seen.interrupted => INTERRUPTED,
        Answer::Safe => 0,
        Answer::NotSafe => VIOLATED,
        Answer::Unknown => INCONCLUSIVE,
    })
}

/// Rejects options that the timers' arithmetic does not cover.
fn not_about(given: &Params) -> Result<(), Invalid> {
    let said = [
        ("--bug", !given.bugs.is_empty()),
        ("--copies", given.copies.is_some()),
        ("--groups", given.groups > 1),
        ("--duration", given.duration_ms.is_some()),
        ("--works", !given.works.is_empty()),
    ];
    match said.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(Invalid(format!("{option} means nothing to `assess`; leave it out, or run a scenario with it")))
        }
        None => Ok(()),
    }
}

/// Applies the reference implementation's lease, unless another is given, and a matching load.
fn with_own_timers(given: &Params, args: &AssessArgs) -> Params {
    let mut params = Params { pause_ms: None, ..given.clone() };
    let protocol = args.name;
    if protocol.election_timeout.is_none() && params.preset_of(protocol).is_none() {
        params.lease_ttl_ms = params.lease_ttl_ms.or(Some(protocol.default_lease_ttl / MILLISECOND));
    }
    if !args.plan.has_rate() {
        params.rate = (REQUESTS_A_LEASE * 1_000 / params.granted_ttl_ms(protocol).max(1)).clamp(20, 200);
    }
    params
}

/// Rejects parameters without a valid plan, and options without effect.
fn makes_sense(case: &Case) -> Result<(), Failed> {
    let params = Params { pause_ms: case.hazards.pause_ms, ..case.params.clone() };
    sense::options(&params)?;
    sense::timers(&params, case.protocol)?;
    sense::own_timers(&params, case.protocol)?;
    let scenario = case.scenario()?;
    case.plan(params.fencing, 0)?;
    Ok(sense::meant(&params, &[(scenario, case.protocol)], 0)?)
}

fn commands(case: &Case, seen: &Assessment) -> Vec<String> {
    let Case { protocol, params, hazards, .. } = case;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut all = vec![words(&["matrix", "--protocol", protocol.name])];
    if let Some(pause_ms) = hazards.pause_ms {
        if let Some(command) = frontier(case, pause_ms) {
            all.push(command);
        }
        if advise::is_safe(protocol) && advise::is_deployable(protocol) {
            let pause = duration_text(pause_ms);
            let advise = ["advise", "--slo", "99.9%", "--pause", &pause, "--over", "7d", "--protocol", protocol.name];
            all.push(words(&advise));
        }
    }
    let shown = match seen.why {
        Why::Violated { at, seed } => Some((at, seed)),
        _ => None,
    };
    if let (Some((at, seed)), false) = (shown, case.is_patched()) {
        let hazards = case.with(at);
        if let Ok(scenario) = case.scenario() {
            all.push(repro::arguments(scenario.name, protocol.name, &hazards, seed));
        }
    } else if hazards.pause_ms.is_none()
        && let Ok(scenario) = case.scenario()
    {
        all.push(repro::arguments(scenario.name, protocol.name, params, shown.map_or(0, |(_, seed)| seed)));
    }
    all.iter().map(|words| repro::command(words)).collect()
}

/// Where along lease and pause it becomes unsafe; `None` if the two are unrelated.
fn frontier(case: &Case, pause_ms: u64) -> Option<Vec<String>> {
    let Case { protocol, params, hazards, .. } = case;
    if protocol.service.outlasts_pauses || protocol.election_timeout.is_some() || hazards.cut_ms.is_some() {
        return None;
    }
    let ttl_ms = params.lease_ttl_ms?;
    let longest_ms = (2 * params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol)).max(2 * pause_ms);
    let others = Params {
        lease_ttl_ms: None,
        pause_ms: None,
        rate: Params::default().rate,
        fencing: Fencing::Off,
        ..(*params).clone()
    };
    let mut words: Vec<String> = ["frontier", "gc-pause", "--protocol", protocol.name].map(str::to_owned).to_vec();
    words.extend(["--x".to_owned(), format!("ttl={},{}", duration_text(ttl_ms), duration_text(2 * ttl_ms))]);
    words.extend(["--y".to_owned(), format!("pause=500ms..{}", duration_text(longest_ms.div_ceil(1_000) * 1_000))]);
    words.extend(["--seeds", "0..5"].map(str::to_owned));
    words.extend(repro::options(&others));
    Some(words)
}

fn as_json(told: &Told) -> Value {
    let Told { case, seen, .. } = told;
    let along = match case.along() {
        Along::Pause => "pause_ms",
        Along::Cut => "partition_ms",
        Along::Drift => "clock_drift_ppm",
        Along::Skew => "clock_skew_ms",
        Along::Latency => "latency_us",
    };
    let asked = case.asked() as f64;
    let edges: Vec<Value> = told
        .rows()
        .into_iter()
        .map(|row| json!({ "event": row.id, "at": row.at, "margin": row.at.map(|at| at - asked) }))
        .collect();
    let changes: Vec<Value> = told
        .changes
        .iter()
        .map(|Change { what, options, runs, violated }| {
            json!({ "what": what, "options": options, "runs": runs, "violated": violated })
        })
        .collect();
    json!({
        "schema": 1,
        "protocol": case.protocol.name,
        "fencing": case.params.fencing.word(),
        "token": case.protocol.tokened,
        "lease_ttl_ms": case.params.granted_ttl_ms(case.protocol),
        "along": along,
        "asked": case.asked(),
        "answer": match seen.answer {
            Answer::Safe => "safe",
            Answer::NotSafe => "not-safe",
            Answer::Unknown => "unknown",
        },
        "because": sentence::because(case, seen),
        "waits_ms": seen.clearance.waits_ms,
        "stops_believing_before_takeover_ms": seen.belief_ms,
        "edges": edges,
        "looked_up_to": seen.most,
        "breaks_first": sentence::first(case, seen),
        "changes": changes,
        "interrupted": seen.interrupted,
        "runs": seen.runs,
        "runs_at_asked": seen.asked.len(),
        "unsafe_at_asked": seen.asked.iter().filter(|outcome| !outcome.violated.is_empty()).count(),
        "takeovers_at_asked": seen.asked.iter().filter(|outcome| outcome.takeover_ms.is_some()).count(),
        "commands": told.commands,
    })
}
