//! `frontier`: where a scenario becomes unsafe along two parameters, beside the prediction.

use super::{
    args::jobs_or_cores,
    ends::{self, INTERRUPTED},
    exit::Stop,
    one_run::is_folder,
    output::{Show, print},
    parse,
    search_args::FrontierArgs,
};
use crate::terminal::options::SWEEP_RATE;
use reports::{
    Verdict,
    json::pretty,
    plot::frontier::{Bound, Figures, Point},
    statistics::count,
};
use scenarios::{
    Params, Plan,
    axis::{Axis, Span},
    plan::Invalid,
    sense,
};
use sim::{
    frontier::Frontier,
    probe::{Probe, Seen},
    registry::Registry,
    repro,
};

/// Searches, draws and prints the result.
///
/// # Errors
/// The arguments make no sense, a run could not be finished, or the plots cannot be written.
pub fn run(registry: &Registry, args: &FrontierArgs) -> Result<u8, Stop> {
    let mut params = args.plan.params()?;
    if !args.plan.has_rate() {
        params.rate = SWEEP_RATE;
    }
    let probe = Probe {
        registry,
        scenario: parse::scenario(&args.name)?,
        protocol: args.protocol,
        seeds: args.seeds.clone(),
        jobs: jobs_or_cores(args.plot.jobs),
    };
    let (x, y) = (args.x.0, args.y);
    let xs = args.x.1.list(args.points);
    given_twice(args, &params)?;
    makes_sense(&probe, &params, (x, &xs), y)?;
    is_folder(&args.plot.out)?;
    let show = Show::from(&args.plot.show);
    let frontier = Frontier { probe, params: &params, x, y };
    let tried = |at, value, seen: &Seen| show.banner(&said(x.text(at), y.axis.text(value), seen));
    ends::listen()?;
    let figures = frontier.search(&xs, tried).map_err(ends::ended)?;
    if figures.points.len() < xs.len() {
        let ending = format!("INTERRUPTED after {} of {} values of {}", figures.points.len(), xs.len(), x.name());
        print(&if show.json { pretty(&figures) } else { format!("{}\n{ending}", table(&figures)) });
        return Ok(INTERRUPTED);
    }
    let name = format!("frontier-{}-{}-{}-by-{}", figures.scenario, figures.protocol, figures.y.axis, figures.x.axis);
    let name = if figures.fencing == "on" { name } else { format!("{name}-fencing-{}", figures.fencing) };
    std::fs::create_dir_all(&args.plot.out)
        .map_err(|e| Stop::usage(format!("cannot make {}: {e}", args.plot.out.display())))?;
    args.plot.leave(&name, &figures, &table(&figures))?;
    Ok(if figures.points.iter().any(|p| p.contradicted) { Verdict::Safety.exit_code() } else { 0 })
}

/// Rejects an axis that is also given as an option, and the same axis twice.
fn given_twice(args: &FrontierArgs, params: &Params) -> Result<(), Stop> {
    let (x, y) = (args.x.0, args.y.axis);
    if x == y {
        return Err(Stop::usage(format!("--x and --y are both {}; they must be two", x.name())));
    }
    let is_given = |axis: &Axis| match axis {
        Axis::Ttl => params.lease_ttl_ms.is_some(),
        Axis::Drift => args.plan.clock_drift().is_some(),
        Axis::Pause => params.pause_ms.is_some(),
        Axis::Latency => params.latency_us.is_some(),
    };
    match [x, y].into_iter().find(is_given) {
        Some(axis) => Err(Stop::usage(format!("{} is what {} varies; leave it out", axis.option(), axis.name()))),
        None => Ok(()),
    }
}

/// Rejects invalid values, and axes and options without effect. Invalid parameters are usage errors; a run that fails
/// is not.
fn makes_sense(probe: &Probe, params: &Params, (x, xs): (Axis, &[u64]), y: Span) -> Result<(), Invalid> {
    let (scenario, protocol, seed) = (probe.scenario, probe.protocol, probe.seeds.start);
    let at = |x_value, y_value| y.axis.set(&x.set(params, x_value), y_value);
    let plan = |x_value, y_value| -> Result<Plan, Invalid> {
        let params = at(x_value, y_value);
        sense::options(&params)?;
        sense::timers(&params, protocol)?;
        scenario.compile(&params, protocol, seed)
    };
    for x_value in xs {
        for y_value in [y.from, y.to] {
            let place = || format!("{}={}, {}={}", x.name(), x.text(*x_value), y.axis.name(), y.axis.text(y_value));
            plan(*x_value, y_value).map_err(|why| Invalid(format!("at {}: {why}", place())))?;
        }
    }
    let (first, last) = (xs.first().copied().unwrap_or(0), xs.last().copied().unwrap_or(0));
    let same = [
        (x, xs.len() > 1 && plan(first, y.from)? == plan(last, y.from)?),
        (y.axis, plan(first, y.from)? == plan(first, y.to)?),
    ];
    if let Some((axis, _)) = same.into_iter().find(|(_, same)| *same) {
        let (axis, scenario, protocol) = (axis.name(), scenario.name, protocol.name);
        return Err(Invalid(format!("{axis} means nothing to `{scenario}` with `{protocol}`; take another axis")));
    }
    sense::meant(&at(first, y.from), &[(scenario, protocol)], seed)
}

fn said(x: String, y: String, seen: &Seen) -> String {
    match seen {
        Seen::Violated(found) => format!("{x}, {y}: seed {} violates {}", found.seed, found.violated.join(", ")),
        Seen::Held(held) => format!("{x}, {y}: no violation in {}", count(held.seeds(), "seed")),
    }
}

/// The figures as a table, and the commands that show them.
fn table(figures: &Figures) -> String {
    let Figures { scenario, protocol, fencing, seeds: (from, to), x, y, .. } = figures;
    let (x, y) = (&x.axis, &y.axis);
    let mut text = format!("{scenario} · {protocol} · fencing {fencing} · {y} by {x}, seeds {from}..{to}\n\n");
    let heads = ["violates", "no violation", "inconclusive", "seed", "arithmetic"];
    text += &format!(
        "  {x:>8} {:>16} {:>16} {:>13} {:>6} {:>16}   violated\n",
        heads[0], heads[1], heads[2], heads[3], heads[4]
    );
    for point in &figures.points {
        text += &row(point, to - from);
    }
    text += &format!(
        "\nNo violation: none in {} at the values tried. More seeds may violate there, too.\n",
        count(to - from, "seed")
    );
    if let Some(bound_of) = &figures.bound_of {
        text += &format!("\nThe arithmetic is about {bound_of}: no seed can violate it there.\n");
    }
    for point in figures.points.iter().filter(|p| p.contradicted) {
        text += &format!("\nAt {x} {} a seed violates safety where the arithmetic says that none can.\n", point.text);
    }
    for point in figures.points.iter().filter(|p| !p.again.is_empty()) {
        let values: Vec<String> = point.again.iter().map(|value| value.to_string()).collect();
        let unit = &figures.y.unit;
        text += &format!(
            "\nAt {x} {} these are past the edge, but disagree with it: {} {unit}.\n",
            point.text,
            values.join(", ")
        );
    }
    text += "\nThe seeds:\n";
    for point in &figures.points {
        if let Some(found) = &point.violates {
            text += &format!("  {x} {}, {y} {}: {}\n", point.text, found.text, repro::command(&found.arguments));
        }
    }
    text
}

fn row(point: &Point, seeds: u64) -> String {
    let seed = point.violates.as_ref().map_or("–".to_owned(), |found| found.seed.to_string());
    let inconclusive =
        point.holds.as_ref().map_or("–".to_owned(), |held| format!("{} of {seeds}", held.inconclusive));
    let bound = point.bound.as_ref().map_or("–".to_owned(), Bound::words);
    let violated = point.violates.as_ref().map_or(String::new(), |found| found.violated.join(", "));
    let (x, violates, holds) = (&point.text, point.violates_words(), point.holds_words());
    format!("  {x:>8} {violates:>16} {holds:>16} {inconclusive:>13} {seed:>6} {bound:>16}   {violated}\n")
}
