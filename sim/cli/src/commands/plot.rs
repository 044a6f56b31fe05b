//! `plot`: the plots of reports/ as SVG and PNG, with their figures as JSON.

use super::{
    args::{ElectionCdfArgs, MessageCountsArgs, jobs_or_cores},
    ends::{self, INTERRUPTED},
    exit::Stop,
    one_run::is_folder,
    output::{Show, print},
    parse,
    progress::Counter,
    search_args::PlotArgs,
};
use protocols::election::Protocol;
use reports::{
    plot::{
        self, Picture,
        election_cdf::{Curve, ElectionCdf},
        message_counts::{How, MessageCounts},
        ttl_sweep::TtlSweep,
    },
    statistics::quantile,
};
use scenarios::{
    Params, scenario, sense,
    units::{duration_us_text, percent_text},
};
use serde::Serialize;
use sim::{
    artifacts, election_times, interrupt::asked as is_asked_to_end, registry::Registry, ttl_sweep as measurement,
};
use std::{fs, ops::Range};

/// Measures and draws the ttl sweep.
pub fn ttl_sweep(
    registry: &Registry,
    ttls_ms: &[u64],
    protocol: &str,
    seeds: Range<u64>,
    args: &PlotArgs,
) -> Result<u8, Stop> {
    let protocols = parse::protocols(protocol)?;
    let bar = args.bar(measurement::runs(ttls_ms, &protocols, &seeds))?;
    let jobs = jobs_or_cores(args.jobs);
    let sweep = measurement::measure(registry, ttls_ms, &protocols, seeds, jobs, || bar.done())?;
    bar.finish();
    let of = (sweep.points.len(), ttls_ms.len() * protocols.len());
    args.end("ttl-sweep", &sweep, &sweep_table(&sweep), of)
}

/// Measures and draws election times.
pub fn election_cdf(registry: &Registry, args: &ElectionCdfArgs) -> Result<u8, Stop> {
    let protocols = parse::protocols(&args.protocol)?;
    let ranges = &args.election_timeout;
    if !ranges.is_empty() && protocols.iter().all(|p| p.election_timeout.is_none()) {
        let known: Vec<_> =
            registry.plans.protocols.iter().filter(|p| p.election_timeout.is_some()).map(|p| p.name).collect();
        let known = if known.is_empty() { "none do".to_owned() } else { format!("{} do", known.join(", ")) };
        return Err(Stop::usage(format!("--election-timeout is for protocols that draw election timeouts; {known}")));
    }
    if args.renew_interval.len() > 1 && args.renew_interval.len() != ranges.len() {
        return Err(Stop::usage(format!(
            "--renew-interval is given {} times and --election-timeout {}; give one for all, or as many as ranges",
            args.renew_interval.len(),
            ranges.len()
        )));
    }
    let mut wanted: Vec<(&'static Protocol, Params)> = Vec::new();
    for protocol in protocols {
        let params = |range: Option<(u64, u64)>, renew_interval_ms: Option<u64>| {
            args.own_values.add_to(args.network.params(Params {
                nodes: args.nodes,
                lease_ttl_ms: args.lease_ttl,
                election_timeout_ms: range,
                renew_interval_ms,
                ..Params::default()
            }))
        };
        let renew_of = |place: usize| args.renew_interval.get(place).or(args.renew_interval.first()).copied();
        match protocol.election_timeout {
            Some(_) if !ranges.is_empty() => {
                let curves = ranges.iter().enumerate();
                wanted.extend(curves.map(|(place, range)| (protocol, params(Some(*range), renew_of(place)))));
            }
            _ => wanted.push((protocol, params(None, renew_of(0)))),
        }
    }
    for (protocol, params) in &wanted {
        sense::options(params).and_then(|()| sense::timers(params, protocol))?;
    }
    let kill = scenario::find("clean-kill").ok_or_else(|| Stop::harness("there is no scenario clean-kill"))?;
    let cells: Vec<_> = wanted.iter().map(|(protocol, _)| (kill, *protocol)).collect();
    if let Some((_, params)) = wanted.first() {
        sense::meant(params, &cells, 0)?;
    }
    let bar = args.shared.bar(wanted.len() as u64 * args.runs)?;
    let jobs = jobs_or_cores(args.shared.jobs);
    let mut curves: Vec<Curve> = Vec::new();
    for (protocol, params) in &wanted {
        let curve = election_times::curve(registry, params, protocol, 0..args.runs, jobs, || bar.done());
        if is_asked_to_end() {
            break;
        }
        curves.push(curve?);
    }
    bar.finish();
    let of = (curves.len(), wanted.len());
    let (network, seeds) = (asked_for(args), format!("0..{}", args.runs));
    let cdf = ElectionCdf { schema: 1, nodes: args.nodes, network, seeds, curves };
    args.shared.end("election-cdf", &cdf, &cdf_table(&cdf), of)
}

/// The network and the rules of the curves, in words.
fn asked_for(args: &ElectionCdfArgs) -> String {
    let way = |(from, to): (u64, u64)| match from == to {
        true => format!(" with {} one way", duration_us_text(from)),
        false => format!(" with {} to {} one way", duration_us_text(from), duration_us_text(to)),
    };
    let mut words = args.network.net.name.to_owned() + &args.network.latency.map(way).unwrap_or_default();
    words += &args.network.loss.map(|ppm| format!(", {} lost", percent_text(ppm))).unwrap_or_default();
    args.own_values.set.iter().fold(words, |words, setting| format!("{words}, {setting}"))
}

/// Counts and draws the messages of an election.
pub fn message_counts(registry: &Registry, args: &MessageCountsArgs) -> Result<u8, Stop> {
    let protocols = match args.protocol.as_str() {
        "all" => registry.plans.protocols.iter().copied().filter(|p| p.elects_among_peers()).collect(),
        names => parse::protocols(names)?,
    };
    let bar = args.shared.bar((protocols.len() * args.nodes.len()) as u64 * args.runs)?;
    let jobs = jobs_or_cores(args.shared.jobs);
    let mut points = Vec::new();
    let wanted: Vec<_> = protocols.into_iter().flat_map(|p| args.nodes.iter().map(move |nodes| (p, *nodes))).collect();
    for (protocol, nodes) in &wanted {
        let params = args.network.params(Params { nodes: *nodes, ..Params::default() });
        let point = election_times::messages(registry, &params, protocol, 0..args.runs, jobs, || bar.done());
        if is_asked_to_end() {
            break;
        }
        points.push(point?);
    }
    bar.finish();
    let of = (points.len(), wanted.len());
    let about = format!(
        "Exact: on a silent network, begun by one candidate. Runs: from the kill of the leader until everybody can have \
         heard of the next, seeds 0..{}, network {}. Lines: the fewest and the most.",
        args.runs, args.network.net.name
    );
    let counts = MessageCounts { schema: 1, about, points };
    args.shared.end("message-counts", &counts, &counts_table(&counts), of)
}

impl PlotArgs {
    /// Creates the output folder and a progress bar for this many runs.
    fn bar(&self, runs: u64) -> Result<Counter, Stop> {
        is_folder(&self.out)?;
        fs::create_dir_all(&self.out).map_err(|e| Stop::usage(format!("cannot make {}: {e}", self.out.display())))?;
        ends::listen()?;
        Ok(Counter::new(runs, Show::from(&self.show)))
    }

    /// Writes the plot if all of it was measured. If the program was interrupted, prints what was measured until then.
    fn end(
        &self,
        name: &str,
        picture: &(impl Picture + Serialize),
        table: &str,
        (measured, wanted): (usize, usize),
    ) -> Result<u8, Stop> {
        if measured == wanted {
            return self.leave(name, picture, table);
        }
        match Show::from(&self.show).json {
            true => print(&reports::json::pretty(picture)),
            false => print(&format!("{table}INTERRUPTED after {measured} of {wanted} rows, and nothing is drawn")),
        }
        Ok(INTERRUPTED)
    }

    /// Writes a plot in both formats and its figures, and prints the figures.
    pub(super) fn leave(&self, name: &str, picture: &(impl Picture + Serialize), table: &str) -> Result<u8, Stop> {
        let [svg, png, json] = ["svg", "png", "json"].map(|format| self.out.join(format!("{name}.{format}")));
        // A plot that cannot be drawn is a usage error: with these arguments nobody was elected, say.
        picture.check()?;
        plot::draw_svg(picture, &svg)?;
        plot::draw_png(picture, &png)?;
        let figures = reports::json::pretty(picture);
        artifacts::save(&json, &(figures.clone() + "\n"))?;
        let show = Show::from(&self.show);
        if show.json {
            print(&figures);
        } else {
            if !show.quiet {
                print(table);
            }
            print(&format!("{}\n{}\n{}", svg.display(), png.display(), json.display()));
        }
        Ok(0)
    }
}

/// The plot's figures as a table.
fn sweep_table(sweep: &TtlSweep) -> String {
    let mut text = format!(
        "{:14} {:>6} {:>20} {:>10} {:>22}\n",
        "protocol", "ttl", "failover median, p95", "bound", "pauses' failovers/h"
    );
    for point in &sweep.points {
        let mut failovers = point.failover_ms.clone();
        failovers.sort_by(f64::total_cmp);
        let at = |q| quantile(&failovers, q).map_or("–".to_owned(), |ms| format!("{:.2}", ms / 1e3));
        let failover = format!("{} s, {} s", at(0.5), at(0.95));
        text += &format!(
            "{:14} {:>4} s {failover:>20} {:>8.2} s {:>22.1}\n",
            point.protocol,
            point.ttl_ms as f64 / 1e3,
            point.bound_ms / 1e3,
            point.false_failovers_per_hour
        );
    }
    text
}

fn cdf_table(cdf: &ElectionCdf) -> String {
    let width = cdf.curves.iter().map(|c| c.label().chars().count()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "ms", "runs", "shortest", "median", "p95", "p99", "longest", "mean"
    );
    for curve in &cdf.curves {
        let say = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms:.1}"));
        let [least, median, p95, p99, most] = [0, 50, 95, 99, 100].map(|p| say(curve.percentiles_ms.get(p).copied()));
        let (label, runs, mean) = (curve.label(), curve.n + curve.censored, say(curve.mean_ms));
        text += &format!("{label:width$} {runs:>7} {least:>9} {median:>9} {p95:>9} {p99:>9} {most:>9} {mean:>9}");
        text += &if curve.censored > 0 { format!("   {} without\n", curve.censored) } else { "\n".to_owned() };
    }
    text
}

fn counts_table(counts: &MessageCounts) -> String {
    let [how, mean, range] = ["", "mean", "range"];
    let mut text = format!("{:18} {:>10} {how:>6} {mean:>9} {range:>9}  messages\n", "protocol", "candidates");
    for point in &counts.points {
        let kinds: Vec<_> = point.by_kind.iter().map(|(kind, n)| format!("{kind} {n:.1}")).collect();
        let (protocol, nodes, total) = (&point.protocol, point.nodes, point.total);
        let range = format!("{}–{}", point.total_min, point.total_max);
        let how = if point.how == How::Exact { "exact" } else { "runs" };
        text += &format!("{protocol:18} {nodes:>10} {how:>6} {total:>9.1} {range:>9}  {}\n", kinds.join(", "));
    }
    text
}
