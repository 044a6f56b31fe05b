//! `bisect`: the smallest clock drift at which a scenario breaks, beside the predicted one.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::Stop,
    output::{Show, print},
    parse,
    search_args::BisectArgs,
};
use reports::statistics::count;
use scenarios::{
    Params,
    plan::PPM_MAX,
    read_lease::{self, Bound},
    sense,
};
use serde_json::json;
use sim::{
    bisect::{Bisect, Break, Found},
    registry::Registry,
    repro,
};

/// Searches and prints the result.
///
/// # Errors
/// The arguments make no sense, or a run could not be finished.
pub fn run(registry: &Registry, args: &BisectArgs) -> Result<u8, Stop> {
    if args.plan.clock_drift().is_some() {
        return Err(Stop::usage("--clock-drift is what bisect looks for; leave it out"));
    }
    let params = args.plan.params()?;
    let bisect = Bisect {
        registry,
        scenario: parse::scenario(&args.name)?,
        protocol: args.protocol,
        seeds: args.seeds.clone(),
        params: &params,
        jobs: jobs_or_cores(args.jobs),
    };
    let show = Show::from(&args.show);
    // Invalid parameters are usage errors; a run that fails is not.
    sense::timers(&params, bisect.protocol)?;
    bisect.scenario.compile(&params, bisect.protocol, bisect.seeds.start)?;
    sense::meant(&params, &[(bisect.scenario, bisect.protocol)], bisect.seeds.start)?;
    ends::listen()?;
    let found = bisect.search(|ppm, found| show.banner(&tried(ppm, found))).map_err(ends::ended)?;
    let bound = bound(&bisect, &params);
    let text = if show.json {
        report(&bisect, &found, bound.as_ref(), &command(&bisect, &found))
    } else if show.quiet {
        let edge = found.breaks.as_ref().map_or("nothing breaks".to_owned(), |b| b.ppm.to_string());
        if found.interrupted_after.is_some() { format!("INTERRUPTED; so far: {edge}") } else { edge }
    } else {
        words(&bisect, &found, bound.as_ref(), &command(&bisect, &found))
    };
    print(&text);
    Ok(if found.interrupted_after.is_some() { INTERRUPTED } else { 0 })
}

fn tried(ppm: u64, found: Option<&Break>) -> String {
    match found {
        Some(Break { seed, violated, .. }) => format!("±{ppm} ppm: seed {seed} violates {}", violated.join(", ")),
        None => format!("±{ppm} ppm: no violation"),
    }
}

/// The analytic bound, if the scenario is about clock drift.
fn bound(bisect: &Bisect, params: &Params) -> Option<Bound> {
    let is_about_it = bisect.scenario.hazard.reads_memory && params.read_lease != Some(false);
    let timings = params.resolved(bisect.protocol);
    read_lease::bound(bisect.protocol, &timings, &params.network()).filter(|_| is_about_it)
}

fn words(bisect: &Bisect, found: &Found, bound: Option<&Bound>, command: &str) -> String {
    let (name, protocol) = (bisect.scenario.name, bisect.protocol.name);
    let seeds = format!("{}..{}", bisect.seeds.start, bisect.seeds.end);
    let mut text = match (&found.breaks, found.holds_ppm) {
        _ if found.interrupted_after.is_some() => format!("{name} · {protocol}: {}, seeds {seeds}\n", so_far(found)),
        (None, _) => {
            format!(
                "{name} · {protocol}: nothing breaks at any of the drifts tried up to ±{PPM_MAX} ppm, seeds {seeds}\n"
            )
        }
        (Some(_), None) => format!("{name} · {protocol}: breaks without any clock drift, seeds {seeds}\n"),
        (Some(found), Some(holds)) => {
            let ppm = found.ppm;
            format!("{name} · {protocol}: breaks from ±{ppm} ppm on, and holds at ±{holds} ppm, seeds {seeds}\n")
        }
    };
    if let Some(Break { seed, violated, .. }) = &found.breaks {
        text += &format!("  measured    seed {seed} violates {}\n", violated.join(", "));
    }
    if let Some(bound) = bound {
        text += &format!("  arithmetic  {}\n", bound.words());
    }
    if found.breaks.is_some() {
        text += &format!("  see it      {command}\n");
    }
    if let Some(drifts) = found.interrupted_after {
        text += &format!("INTERRUPTED after {}\n", count(drifts, "drift"));
    }
    text
}

/// What an interrupted search knows.
fn so_far(found: &Found) -> String {
    match (&found.breaks, found.holds_ppm) {
        (None, _) => "nothing breaks at any of the drifts tried so far".to_owned(),
        (Some(Break { ppm, .. }), None) => format!("breaks at ±{ppm} ppm; no smaller drift was tried"),
        (Some(Break { ppm, .. }), Some(holds)) => {
            format!("breaks at ±{ppm} ppm, and holds at ±{holds} ppm; nothing between them was tried")
        }
    }
}

fn report(bisect: &Bisect, found: &Found, bound: Option<&Bound>, command: &str) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let bound = bound.map(|b| {
        json!({
            "leader_ms": ms(b.leader), "others_ms": ms(b.others), "takeover_min_ms": ms(b.takeover),
            "holds_up_to_ppm": b.holds_up_to_ppm,
        })
    });
    let breaks = found.breaks.as_ref();
    let report = json!({
        "schema": 1,
        "scenario": bisect.scenario.name,
        "protocol": bisect.protocol.name,
        "seeds": [bisect.seeds.start, bisect.seeds.end],
        "breaks_at_ppm": breaks.map(|b| b.ppm),
        "holds_at_ppm": found.holds_ppm,
        "seed": breaks.map(|b| b.seed),
        "violated": breaks.map_or(&[][..], |b| &b.violated),
        "read_lease": bound,
        "interrupted": found.interrupted_after.is_some(),
        "command": breaks.map(|_| command),
    });
    reports::json::pretty(&report)
}

/// The command that shows the violating seed.
fn command(bisect: &Bisect, found: &Found) -> String {
    let shows = |found: &Break| {
        let params = Params { clock_drift_ppm: found.ppm, ..bisect.params.clone() };
        repro::of_run(bisect.scenario.name, bisect.protocol.name, &params, found.seed)
    };
    found.breaks.as_ref().map(shows).unwrap_or_default()
}
