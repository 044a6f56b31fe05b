//! `exhaust`: every passage of a named point, paused for each of four lengths.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::{INCONCLUSIVE, Stop},
    findings_args::ExhaustArgs,
    one_run::default_out,
    output::{Show, print},
    parse,
    sweep::aligned,
};
use protocols::election::Protocol;
use reports::{Verdict, json::pretty, statistics::count, text::wrap};
use scenarios::{Params, sense};
use serde_json::{Value, json};
use sim::{
    artifacts::{self, Again},
    exhaustive::{BASE, Broken, Came, Exhaustive, Pause, Searched},
    registry::Registry,
    repro,
};
use std::{path::Path, time::Instant};

/// Few requests a second: each of them passes a point.
const RATE: u64 = 10;

/// Searches, prints a row for each protocol, and writes the artifacts of the first unsafe run of each.
///
/// # Errors
/// The arguments make no sense, a run could not be finished, or a file could not be written.
pub fn run(registry: &Registry, args: &ExhaustArgs) -> Result<u8, Stop> {
    let mut params = args.plan.params()?;
    if !args.plan.has_rate() {
        params.rate = RATE;
        params.clients = params.clients.min(RATE as u16);
    }
    let (show, out) = (Show::from(&args.show), args.out.clone().unwrap_or_else(default_out));
    let protocols = parse::protocols(&args.protocol)?;
    if params.duration_ms.is_some() {
        return Err(Stop::usage("--duration: a run is as long as its pauses need; leave it out"));
    }
    if params.nodes < 2 {
        return Err(Stop::usage("--nodes 1: nobody could take over; give at least 2"));
    }
    let base = parse::scenario(BASE)?;
    sense::meant(&params, &protocols.iter().map(|protocol| (base, *protocol)).collect::<Vec<_>>(), args.seed)?;
    ends::listen()?;
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    let (mut broken, mut nothing) = (false, Vec::new());
    for protocol in protocols {
        let started = Instant::now();
        let jobs = jobs_or_cores(args.jobs);
        let search = Exhaustive { registry, protocol, params: &params, seed: args.seed, pairs: args.pairs, jobs };
        let Some(searched) = search.search().map_err(ends::ended)? else {
            print(&table(&rows, show));
            return Ok(INTERRUPTED);
        };
        broken |= searched.promises && searched.singles.unsafe_ + searched.pairs.unsafe_ > 0;
        nothing.extend(searched.shows_nothing().then_some(protocol.name));
        let again = keep(registry, &searched, &out)?;
        show.banner(&format!("{}: {}", protocol.name, said(&searched, started.elapsed().as_secs_f64())));
        found.push(report(protocol, &params, &searched, again.as_deref()));
        rows.push(Row { protocol, searched, again });
    }
    if show.json {
        print(&pretty(
            &json!({ "schema": 1, "fencing": params.fencing.word(), "seed": args.seed, "protocols": found }),
        ));
    } else {
        print(&table(&rows, show));
    }
    if !nothing.is_empty() {
        show.banner(&format!("no pause led to another election, so nothing is shown: {}", nothing.join(", ")));
    }
    Ok(match (broken, nothing.is_empty()) {
        (true, _) => Verdict::Safety.exit_code(),
        (false, true) => 0,
        (false, false) => INCONCLUSIVE,
    })
}

struct Row {
    protocol: &'static Protocol,
    searched: Searched,
    /// The command that repeats the first unsafe run.
    again: Option<String>,
}

/// The first run that violated safety.
fn first_unsafe(searched: &Searched) -> Option<&Broken> {
    searched.singles.first_unsafe.as_ref().or(searched.pairs.first_unsafe.as_ref())
}

/// Writes the artifacts of the first unsafe run; returns the command that repeats it.
fn keep(registry: &Registry, searched: &Searched, out: &Path) -> Result<Option<String>, Stop> {
    let Some(broken) = first_unsafe(searched) else { return Ok(None) };
    let capsule = artifacts::folder(out, &broken.plan).join("capsule.json").display().to_string();
    let again = repro::command(&["replay".to_owned(), capsule]);
    let run = artifacts::repeat(&broken.plan, registry, &broken.trace_hash, None)?;
    artifacts::leave(out, &run, Again { repro: &again, meaning: None, next: &[] })?;
    Ok(Some(again))
}

/// One protocol's result, in a line.
fn said(searched: &Searched, seconds: f64) -> String {
    let Searched { singles, pairs, .. } = searched;
    let runs = singles.runs + pairs.runs;
    format!("{} in {seconds:.1} s, {} unsafe", count(runs, "run"), singles.unsafe_ + pairs.unsafe_)
}

fn table(rows: &[Row], show: Show) -> String {
    let head = [
        "protocol",
        "passages",
        "alone",
        "pairs",
        "struck",
        "two believed",
        "refused",
        "nobody led",
        "unsafe",
        "promised",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    for Row { protocol, searched, .. } in rows {
        let Searched { singles, pairs, passages, promises, .. } = searched;
        let both = |of: fn(&Came) -> u64| (of(singles) + of(pairs)).to_string();
        lines.push([
            protocol.name.to_owned(),
            passages.values().sum::<u64>().to_string(),
            singles.runs.to_string(),
            if pairs.schedules == 0 || pairs.runs == 0 {
                "–".to_owned()
            } else {
                format!("{} of {}", pairs.runs, pairs.schedules)
            },
            both(|came| came.struck),
            both(|came| came.two_believed),
            both(|came| came.refused),
            both(|came| came.leaderless),
            both(|came| came.unsafe_),
            if *promises { "safe" } else { "nothing" }.to_owned(),
        ]);
    }
    let mut text = aligned(lines, |column| (1..=8).contains(&column));
    let all =
        |of: fn(&Came) -> u64| rows.iter().map(|row| of(&row.searched.singles) + of(&row.searched.pairs)).sum::<u64>();
    let summary = format!(
        "{} of one pause, at every named point passed until the first leader had renewed twice, and {} of two: {} unsafe, {} \
         without a leader in time.",
        count(rows.iter().map(|row| row.searched.singles.runs).sum(), "run"),
        count(rows.iter().map(|row| row.searched.pairs.runs).sum(), "run"),
        all(|came| came.unsafe_),
        all(|came| came.leaderless)
    );
    text += &format!("\n{}\n", wrap(&summary, show.width()).join("\n"));
    let at_once = |row: &&Row| row.searched.singles.two_believed + row.searched.pairs.two_believed > 0;
    let quiet: Vec<&str> = rows.iter().filter(|row| !at_once(row)).map(|row| row.protocol.name).collect();
    if !quiet.is_empty() {
        let what =
            format!("Two nodes never believed at once, so the store had nothing to refuse: {}.", quiet.join(", "));
        text += &format!("{}\n", wrap(&what, show.width()).join("\n"));
    }
    for row in rows.iter().filter(|row| row.again.is_some()) {
        let Some(broken) = first_unsafe(&row.searched) else { continue };
        let pauses: Vec<String> = broken.pauses.iter().map(words).collect();
        let what = format!("{}: {}; {}", row.protocol.name, pauses.join(", and "), broken.violated.join(", "));
        text +=
            &format!("\n{}\n  {}\n", wrap(&what, show.width()).join("\n"), row.again.as_deref().unwrap_or_default());
    }
    text
}

/// A pause, in words.
fn words((passage, ms): &Pause) -> String {
    format!("{} paused for {ms} ms at its passage {} of `{}`", passage.node, passage.nth, passage.point.name())
}

fn report(protocol: &Protocol, params: &Params, searched: &Searched, again: Option<&str>) -> Value {
    let came = |came: &Came| {
        json!({
            "schedules": came.schedules,
            "runs": came.runs,
            "struck": came.struck,
            "another_elected": came.succeeded,
            "two_believed": came.two_believed,
            "refused": came.refused,
            "nobody_led": came.leaderless,
            "unsafe": came.unsafe_,
        })
    };
    let first = first_unsafe(searched);
    json!({
        "protocol": protocol.name,
        "lease_ttl_ms": params.granted_ttl_ms(protocol),
        "pauses_ms": searched.lengths_ms,
        "passages": searched.passages,
        "alone": came(&searched.singles),
        "pairs": came(&searched.pairs),
        "promises_safety": searched.promises,
        "first_unsafe": first.map(|broken| json!({
            "pauses": broken.pauses.iter().map(words).collect::<Vec<_>>(),
            "violated": broken.violated,
            "repro": again,
        })),
    })
}
