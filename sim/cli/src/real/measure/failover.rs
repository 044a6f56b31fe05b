//! `measure failover`: failover times of real processes, beside the simulated ones.

use super::{simulator::Simulator, trials::RATE};
use crate::{
    real::{args::FailoverArgs, chaos, cluster},
    terminal::{
        check,
        exit::{MOVED, Stop},
        output::{Show, print},
    },
};
use reports::statistics::{self, Distance, quantile, rounded};
use scenarios::{plan::Plan, scenario::clean_kill, sense};
use serde_json::{Value, json};
use sim_real::stalls::Stalls;
use std::path::Path;

/// Kills leaders, on real processes and in the simulation, and compares the failover times.
pub fn run(args: &FailoverArgs) -> Result<u8, Stop> {
    let show = Show::from(&args.show);
    let simulator = Simulator::find(args.simulator.as_deref())?;
    let plan = plan(args, args.seed)?;
    let folder = args.world.dir.clone().unwrap_or_else(|| {
        Path::new("target/fencepost/measure/failover").join(&plan.protocol).join(args.seed.to_string())
    });
    let spec = cluster::spec(&args.world, plan.clone(), folder.clone())?;
    // The simulation comes first, since real runs take longer: a plan that it rejects need not be measured.
    let mut simulated = Vec::new();
    for place in 0..u64::from(args.simulated) {
        let plan = self::plan(args, args.seed.wrapping_add(place))?;
        simulated.extend(simulate(&simulator, &plan)?);
    }
    show.banner(&format!(
        "{} kills of one fleet of {}: {:.0} s on real processes, in {}",
        args.runs,
        plan.protocol,
        plan.duration_ms as f64 / 1e3,
        folder.display()
    ));
    let (file, stalls) = chaos::play_on(spec)?;
    let judgement = check::read(&file)?.judgement;
    let measured = judgement.metrics.failover_ms.clone();
    let Some(apart) = statistics::distance(&measured, &simulated) else {
        return Err(Stop::harness(format!(
            "nothing to compare: {} failovers measured, {} simulated; see {}",
            measured.len(),
            simulated.len(),
            folder.display()
        )));
    };
    let told = Told { args, plan: &plan, verdict: judgement.verdict.name(), measured, simulated, apart, stalls };
    print(&if args.show.json { format!("{:#}", told.json()) } else { told.text() });
    Ok(if apart.distance > args.limit { MOVED } else { judgement.verdict.exit_code() })
}

/// The plan of one fleet.
fn plan(args: &FailoverArgs, seed: u64) -> Result<Plan, Stop> {
    let mut params = args.plan.params()?;
    if params.duration_ms.is_some() {
        return Err(Stop::usage("--duration means nothing here: it takes as long as the kills need; leave it out"));
    }
    if !args.plan.has_rate() {
        params.rate = RATE;
    }
    params.read_lease = params.read_lease.or(Some(false));
    params.reads_per_s = params.reads_per_s.or(Some(0));
    sense::own_timers(&params, args.backend)?;
    sense::timers(&params, args.backend)?;
    clean_kill::repeated(&params, args.backend, seed, args.runs).map_err(Stop::from)
}

/// The failovers of one simulated fleet, milliseconds.
fn simulate(simulator: &Simulator, plan: &Plan) -> Result<Vec<f64>, Stop> {
    let report = simulator.play(plan)?;
    let failovers = report["metrics"]["failover_ms"].as_array();
    let failovers = failovers.ok_or_else(|| Stop::harness("the simulation reports no failovers"))?;
    Ok(failovers.iter().filter_map(Value::as_f64).collect())
}

/// The results.
struct Told<'a> {
    args: &'a FailoverArgs,
    plan: &'a Plan,
    /// The verdict on the real fleet.
    verdict: &'static str,
    measured: Vec<f64>,
    simulated: Vec<f64>,
    apart: Distance,
    stalls: Stalls,
}

impl Told<'_> {
    fn exceeds(&self) -> bool {
        self.apart.distance > self.args.limit
    }

    fn unwell(&self) -> Option<String> {
        chaos::unwell(self.plan, self.stalls).map(|why| why.to_string())
    }

    fn text(&self) -> String {
        let Told { args, plan, verdict, apart, .. } = self;
        let row = |name: &str, sample: &[f64]| {
            let [least, median, p95, most] = figures(sample).map(|ms| format!("{ms:.0} ms"));
            format!("  {name:<12}{:>6}{median:>12}{p95:>12}   {least} to {most}\n", sample.len())
        };
        let granted_ms = plan.election().map_or(0, |p| (p.granted_ttl)(plan.resolved(p).lease_ttl) / 1_000_000);
        let mut text = format!(
            "failover after clean-kill · {} · seed {} · {} nodes · lease {granted_ms} ms, renewed every {} ms\n\n  \
             {:<12}{:>6}{:>12}{:>12}   range\n",
            plan.protocol,
            plan.seed,
            plan.candidates.len(),
            plan.timings.renew_interval_ms,
            "",
            "kills",
            "median",
            "p95",
        );
        text += &row("real", &self.measured);
        text += &row("simulated", &self.simulated);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        text += &format!(
            "\nKolmogorov-Smirnov distance {:.2}, the limit is {}; chance exceeds {:.2} one time in twenty\n",
            apart.distance, args.limit, apart.by_chance
        );
        if self.exceeds() {
            text += &format!(
                "EXCEEDED: furthest apart at {:.0} ms, when {} of the real failovers have ended and {} of the \
                 simulated ones\n",
                apart.at,
                percent(apart.first),
                percent(apart.second)
            );
        }
        if let Some(why) = self.unwell() {
            text += &format!("the real ones may have been late: {why}\n");
        }
        text + &format!("the real fleet's history: {verdict}")
    }

    fn json(&self) -> Value {
        let Told { args, plan, verdict, apart, .. } = self;
        let sample = |sample: &[f64]| {
            let [least, median, p95, most] = figures(sample).map(rounded);
            json!({ "kills": sample.len(), "min": least, "p50": median, "p95": p95, "max": most, "failovers_ms": sample })
        };
        json!({
            "schema": 1, "protocol": plan.protocol, "seed": plan.seed, "plan_digest": plan.digest(), "verdict": verdict,
            "real": sample(&self.measured), "simulated": sample(&self.simulated),
            "distance": rounded(apart.distance), "limit": args.limit, "exceeded": self.exceeds(),
            "by_chance": rounded(apart.by_chance), "furthest_apart_at_ms": rounded(apart.at),
            "real_share_there": rounded(apart.first), "simulated_share_there": rounded(apart.second),
            "machine_unwell": self.unwell(),
        })
    }
}

/// The minimum, the median, the 95th percentile and the maximum.
fn figures(sample: &[f64]) -> [f64; 4] {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    [0.0, 0.5, 0.95, 1.0].map(|q| quantile(&sorted, q).unwrap_or_default())
}
