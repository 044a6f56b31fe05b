//! Measures the ttl trade-off: the time of failover after a clean kill, and how often pauses alone change the leader,
//! for each protocol and lease.

use crate::{
    advise::predict::Lease,
    error::Failed,
    interrupt,
    registry::Registry,
    run::{self, Options},
    seeds,
    sweep::{Sizes, Sweep},
};
use protocols::{election::Protocol, types::SECOND};
use rand_core::RngCore;
use reports::{
    metrics::Metrics,
    plot::ttl_sweep::{Point, TtlSweep},
};
use scenarios::{
    Params, Plan,
    fault::{Fault, PlannedFault, Trigger, Who},
    scenario, streams,
};
use std::ops::Range;

/// The pause profile in words, for the picture.
pub const PAUSE_PROFILE: &str = "the leader pauses every 20 s on average; P(longer than d) = 50 ms / d, up to 60 s";
/// The mean time between pauses, in milliseconds.
const PAUSE_EVERY_MS: f64 = 20_000.0;
/// The shortest and the longest pause, in milliseconds.
const PAUSE_MS: (f64, f64) = (50.0, 60_000.0);
/// No shorter pause ends any lease of the sweep that is renewed on time, in milliseconds.
const LONG_MS: f64 = 400.0;
/// Virtual time per seed under the pause profile, in milliseconds.
const PAUSED_RUN_MS: u64 = 1_800_000;
/// One run under the pause profile per this many kills, since it lasts much longer.
const KILLS_PER_PAUSED_RUN: u64 = 10;
/// Requests per second: enough to measure a failover to ±5 ms.
const RATE: u64 = 200;

/// The pauses of the profile that strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strikes {
    /// All pauses, so that availability is that of the profile.
    All,
    /// Only those that may end a lease, one after the other, without the time between: a run then has the failovers of
    /// many hours of the profile.
    Long,
}

impl Strikes {
    fn shortest_ms(self) -> f64 {
        if self == Strikes::All { PAUSE_MS.0 } else { LONG_MS }
    }

    /// The hours of the profile that contain this many such pauses.
    fn hours(self, pauses: usize) -> f64 {
        let mean_ms = PAUSE_MS.0 * (1.0 + (PAUSE_MS.1 / PAUSE_MS.0).ln());
        pauses as f64 * self.shortest_ms() / PAUSE_MS.0 * (PAUSE_EVERY_MS + mean_ms) / 3_600_000.0
    }
}

/// Measures every point, or as many as are finished before the program is interrupted. `done` is called after each run.
///
/// # Errors
/// A ttl makes no sense, or a run could not be finished.
pub fn measure(
    registry: &Registry,
    ttls_ms: &[u64],
    protocols: &[&'static Protocol],
    seeds: Range<u64>,
    jobs: usize,
    done: impl Fn() + Sync,
) -> Result<TtlSweep, Failed> {
    let mut points = Vec::new();
    for (protocol, ttl_ms) in protocols.iter().flat_map(|protocol| ttls_ms.iter().map(move |ttl_ms| (protocol, ttl_ms)))
    {
        let point = point(registry, *ttl_ms, protocol, seeds.clone(), jobs, &done);
        // An interrupted point is incomplete, so it is dropped.
        if interrupt::asked() {
            break;
        }
        points.push(point?);
    }
    let seeds = format!("{}..{}", seeds.start, seeds.end);
    Ok(TtlSweep { schema: 1, points, pause_profile: PAUSE_PROFILE.to_owned(), seeds })
}

/// The number of runs that [`measure`] makes.
pub fn runs(ttls_ms: &[u64], protocols: &[&'static Protocol], seeds: &Range<u64>) -> u64 {
    let kills = seeds.end - seeds.start;
    (ttls_ms.len() * protocols.len()) as u64 * (kills + kills.div_ceil(KILLS_PER_PAUSED_RUN))
}

fn point(
    registry: &Registry,
    ttl_ms: u64,
    protocol: &'static Protocol,
    seeds: Range<u64>,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Point, Failed> {
    let params = Params { lease_ttl_ms: Some(ttl_ms), rate: RATE, ..Params::default() };
    let kill = scenario::find("clean-kill").ok_or("there is no scenario clean-kill")?;
    let work = Sweep {
        registry,
        scenarios: vec![kill],
        protocols: vec![protocol],
        sizes: Sizes::Of(vec![params.nodes]),
        seeds: seeds.clone(),
        params: &params,
        shard: (1, 1),
        jobs,
    };
    let mut outcome = work.run(|_| done())?;
    if let Some(failure) = outcome.failures.first().or(outcome.inconclusive.first()) {
        return Err(Failed::Harness(format!("{}: {}", failure.repro, failure.why)));
    }
    let paused = seeds.start..seeds.start + (seeds.end - seeds.start).div_ceil(KILLS_PER_PAUSED_RUN);
    let Paused { changes, hours, served_ppm, .. } =
        pauses(registry, &params, protocol, paused, Strikes::All, (jobs, done))?;
    // Computed, not measured: the lease as granted plus the longest takeover.
    let bound_ms = (params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol)) as f64;
    Ok(Point {
        protocol: protocol.name.to_owned(),
        ttl_ms,
        failover_ms: outcome.cells.iter_mut().flat_map(|c| std::mem::take(&mut c.failovers_ms)).collect(),
        failover_censored: outcome.cells.iter().map(|c| c.failover_censored).sum(),
        bound_ms,
        false_failovers_per_hour: changes as f64 / hours,
        false_failovers: Some(changes),
        paused_hours: Some(hours),
        paused_served_ppm: served_ppm,
        runs: seeds.end - seeds.start,
    })
}

/// The result of pauses.
pub(crate) struct Paused {
    /// Changes of leader without a crash.
    pub(crate) changes: u64,
    /// The changes expected of these pauses by the lease's arithmetic.
    pub(crate) expected: f64,
    /// The hours of the profile that contain this many pauses.
    pub(crate) hours: f64,
    /// The share of requests served in time, in parts per million.
    pub(crate) served_ppm: Option<u64>,
    /// Requests to the service, over all runs.
    pub(crate) requests: u64,
}

/// Runs fleets whose leader pauses repeatedly.
///
/// # Errors
/// The parameters make no sense, or a run could not be finished.
pub(crate) fn pauses(
    registry: &Registry,
    params: &Params,
    protocol: &'static Protocol,
    seeds: Range<u64>,
    strikes: Strikes,
    (jobs, done): (usize, &(impl Fn() + Sync)),
) -> Result<Paused, Failed> {
    let runs = seeds.end - seeds.start;
    let one = |seed| {
        let plan = paused_plan(registry, params, protocol, seed, strikes)?;
        let lengths_ms: Vec<u64> = plan.faults.iter().filter_map(|fault| length_ms(&fault.what)).collect();
        let run = run::run(&plan, Options { registry: registry.clone(), ..Options::default() })?;
        Ok::<_, Failed>((run.judgement.metrics, lengths_ms))
    };
    let ran: Vec<(Metrics, Vec<u64>)> = seeds::each(seeds, jobs, one, done)?;
    let lease = Lease::of(params, protocol);
    let sum = |of: fn(&Metrics) -> u64| ran.iter().map(|(metrics, _)| of(metrics)).sum::<u64>();
    let shares: Vec<f64> = ran.iter().filter_map(|(metrics, _)| metrics.availability).collect();
    let mean = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
    Ok(Paused {
        changes: sum(|metrics| metrics.false_failovers + metrics.avoidable_failovers),
        expected: ran.iter().flat_map(|(_, lengths_ms)| lengths_ms).map(|ms| lease.lost(*ms as f64)).sum(),
        hours: match strikes {
            Strikes::All => runs as f64 * PAUSED_RUN_MS as f64 / 3_600_000.0,
            Strikes::Long => strikes.hours(ran.iter().map(|(_, lengths_ms)| lengths_ms.len()).sum()),
        },
        served_ppm: mean.map(|share| (share * 1e6).round() as u64),
        requests: sum(|metrics| metrics.requests_to_service.unwrap_or(0)),
    })
}

fn length_ms(fault: &Fault) -> Option<u64> {
    if let Fault::Pause { for_ms, .. } = fault { Some(*for_ms as u64) } else { None }
}

/// A quiet world in which the leader pauses repeatedly.
fn paused_plan(
    registry: &Registry,
    params: &Params,
    protocol: &Protocol,
    seed: u64,
    strikes: Strikes,
) -> Result<Plan, Failed> {
    let steady = scenario::find("steady").ok_or("there is no scenario steady")?;
    // Counting leaders takes few requests.
    let (stream, rate) = if strikes == Strikes::All { ("pauses", 10) } else { ("long pauses", 1) };
    let params = Params { duration_ms: Some(PAUSED_RUN_MS), rate, ..params.clone() };
    let mut plan = steady.compile(&params, protocol, seed)?;
    for (at_ms, for_ms) in drawn(stream, seed, strikes) {
        let (when, for_ms) = (Trigger::At { ms: at_ms.round() }, for_ms.round());
        plan.faults.push(PlannedFault { when, what: Fault::Pause { node: Who::Leader, for_ms }, group: 0 });
    }
    registry.plans.validate(&plan)?;
    Ok(plan)
}

/// The begin and length of each pause, in milliseconds.
fn drawn(stream: &'static str, seed: u64, strikes: Strikes) -> Vec<(f64, f64)> {
    let mut random = streams::stream(seed, stream);
    // In (0, 1], from 53 bits.
    let mut unit = || ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let (mut at_ms, mut all) = (10_000.0, Vec::new());
    loop {
        at_ms += -unit().ln() * PAUSE_EVERY_MS;
        let for_ms = (strikes.shortest_ms() / unit()).min(PAUSE_MS.1);
        if at_ms + for_ms + (SECOND / 1_000_000 * 90) as f64 > PAUSED_RUN_MS as f64 {
            return all;
        }
        all.push((at_ms, for_ms));
        // One at a time.
        at_ms += for_ms;
    }
}

/// The pauses of the profile in milliseconds, and the time they cover, as input for `advise`.
pub fn profile(seeds: Range<u64>) -> (Vec<f64>, f64) {
    let over_ms = (seeds.end - seeds.start) as f64 * PAUSED_RUN_MS as f64;
    (seeds.flat_map(|seed| drawn("pauses", seed, Strikes::All)).map(|(_, for_ms)| for_ms).collect(), over_ms)
}
