//! `chaos`: breaks a running cluster, or plays a plan on real processes.

use super::{
    args::{Chaos, CutOff, RunArgs},
    cluster,
    process::block_on,
    words::At,
};
use crate::terminal::{
    check,
    exit::Stop,
    output::{Show, print},
    parse,
};
use protocols::{fence::checks::Fencing, history::Header};
use protocols_real::store::{self, Keep, postgres};
use reports::{
    Judgement, Verdict,
    json::{Report, RunFacts},
    statistics::quantile,
};
use scenarios::{
    fault::{Fault, Who},
    plan::Plan,
    sense,
};
use sim_real::{
    control,
    director::{Director, Played, service_runs_true},
    history,
    spec::Spec,
    stalls::{Excuse, Stalls, Sum},
};
use std::{
    fs, iter,
    path::{Path, PathBuf},
    time::Duration,
};

/// Reads per second in the scenario about reads, all clients together: each is an HTTP request.
const READS_PER_S: u64 = 200;

/// Runs one of the commands.
pub fn run(chaos: Chaos) -> Result<u8, Stop> {
    let which = match chaos {
        Chaos::Run(args) => return play_all(&args),
        Chaos::KillLeader { ref which, .. }
        | Chaos::PartitionLeader { ref which, .. }
        | Chaos::GcPauseLeader { ref which, .. }
        | Chaos::ResignLeader { ref which }
        | Chaos::TransferLeader { ref which, .. } => which,
    };
    let card = control::card(&which.dir)?;
    let (leader, mut at) = (|| Who::Leader, None);
    let fault = match chaos {
        Chaos::KillLeader { restart_after, .. } => {
            Fault::Kill { node: leader(), restart_after_ms: Some(restart_after as f64) }
        }
        Chaos::PartitionLeader { secs, from, .. } => {
            // Without a service, the other nodes elect.
            let electing = if card.service.is_some() { Who::Service } else { Who::Followers };
            let to = match from {
                CutOff::Service => vec![electing],
                CutOff::Store => vec![Who::Store],
                CutOff::Both => vec![electing, Who::Store],
            };
            Fault::Partition { from: vec![leader()], to, one_way: false, for_ms: Some(secs) }
        }
        Chaos::GcPauseLeader { ms, at: At(point), .. } => {
            at = point;
            Fault::Pause { node: leader(), for_ms: ms }
        }
        Chaos::TransferLeader { to, .. } => {
            if !card.nodes.iter().any(|(name, _)| *name == to) {
                let known: Vec<&str> = card.nodes.iter().map(|(name, _)| name.as_str()).collect();
                return Err(Stop::usage(format!("there is no node `{to}`; there are {}", known.join(", "))));
            }
            Fault::Transfer { node: leader(), to: Who::from(to) }
        }
        Chaos::ResignLeader { .. } | Chaos::Run(_) => Fault::Resign { node: leader() },
    };
    let done = control::order(&card, fault, at)?;
    print(&done);
    Ok(0)
}

/// Plays one plan, or several one after the other.
fn play_all(args: &RunArgs) -> Result<u8, Stop> {
    if args.world.tls {
        return Err(Stop::usage(
            "the plan's clients speak plain HTTP; leave --tls out, or try it with `cargo real cluster`",
        ));
    }
    let Some(seeds) = args.seeds.clone() else {
        let plan = plan(args, args.seed)?;
        let (file, stalls) = play(args, &plan)?;
        let mut judged = check::read_for_page(&file)?;
        let excuse = excuse(&mut judged.judgement, &plan, stalls);
        check::write_page(&mut judged, file.parent().unwrap_or(Path::new(".")), Show::from(&args.show))?;
        if args.show.json {
            let facts = RunFacts::default();
            let report = Report::new(judged.header.as_ref(), &facts, &judged.judgement);
            let report = report.with_cause(&judged.highlights.cause).to_text();
            print(&with_real(&report, &judged.judgement, &plan, stalls, excuse)?);
            return Ok(judged.judgement.verdict.exit_code());
        }
        let code = check::report(&judged, &file.display().to_string(), Some(&plan), true, Show::from(&args.show));
        if let Some(excuse) = excuse {
            print(&format!("INCONCLUSIVE: {excuse}; liveness was not judged; run it again on a quiet machine"));
        }
        return Ok(code);
    };
    let (mut rows, mut worst) = (Vec::new(), 0);
    for seed in seeds {
        let plan = plan(args, seed)?;
        let (file, stalls) = play(args, &plan)?;
        let mut judgement = check::read(&file)?.judgement;
        let excuse = excuse(&mut judgement, &plan, stalls).map_or_else(String::new, |excuse| format!(" ({excuse})"));
        let (verdict, metrics) = (judgement.verdict, &judgement.metrics);
        worst = worst.max(verdict.exit_code());
        if !args.show.json {
            print(&format!(
                "seed {seed}: {}{excuse}; believing {}, acting {}, fenced {}, failover {}",
                verdict.name(),
                metrics.leaders_believing_max,
                metrics.leaders_acting_by_effect_max,
                metrics.writes_fenced,
                metrics.failover_ms.iter().map(|ms| format!("{ms:.0} ms")).collect::<Vec<_>>().join(", ")
            ));
        }
        rows.push((seed, judgement));
    }
    sum_up(args, &rows);
    Ok(worst)
}

/// Withdraws a liveness or vacuous verdict that the machine, not the protocol, may have caused, and returns the reason.
/// A safety violation stands whatever the machine did.
fn excuse(judgement: &mut Judgement, plan: &Plan, stalls: Stalls) -> Option<Excuse> {
    if judgement.verdict != Verdict::Liveness && judgement.verdict != Verdict::Vacuous {
        return None;
    }
    let excuse = unwell(plan, stalls)?;
    judgement.verdict = Verdict::Vacuous;
    Some(excuse)
}

/// The machine's problem, if there was one, whatever the verdict.
pub fn unwell(plan: &Plan, stalls: Stalls) -> Option<Excuse> {
    let lease = Duration::from_millis(plan.timings.lease_ttl_ms);
    stalls.excuse(lease, Duration::from_millis(plan.duration_ms))
}

/// Of the clients' requests: how many there were, how many got a number, and the share; `null` without requests. A
/// machine that is too slow for the load passes with next to none.
fn requests<'a>(of: impl Iterator<Item = &'a Judgement>) -> serde_json::Value {
    let counted = of.map(|judgement| (judgement.metrics.requests_invoked, judgement.metrics.requests_answered));
    let (made, answered) = counted.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let share = (made > 0).then(|| answered as f64 / made as f64);
    serde_json::json!({ "made": made, "answered": answered, "answered_share": share })
}

/// The report, with the share of answered requests and the machine's behaviour added.
fn with_real(
    report: &str,
    judgement: &Judgement,
    plan: &Plan,
    stalls: Stalls,
    excuse: Option<Excuse>,
) -> Result<String, Stop> {
    let wrong = |e: serde_json::Error| Stop::harness(format!("the report is no JSON: {e}"));
    let mut report: serde_json::Map<String, serde_json::Value> = serde_json::from_str(report).map_err(wrong)?;
    let of = |sum: Sum| serde_json::json!({ "longest_ms": sum.longest.as_millis() as u64, "total_ms": sum.total.as_millis() as u64 });
    let machine = serde_json::json!({
        "stalled": of(stalls.processors), "cluster_waited": of(stalls.cluster), "disk_stalled": of(stalls.disk),
        "unwell": unwell(plan, stalls).map(|unwell| unwell.to_string()),
        "inconclusive": excuse.map(|excuse| excuse.to_string()),
    });
    report.insert("machine".to_owned(), machine);
    report.insert("requests".to_owned(), requests(iter::once(judgement)));
    serde_json::to_string_pretty(&report).map_err(wrong)
}

fn sum_up(args: &RunArgs, rows: &[(u64, Judgement)]) {
    let mut failovers: Vec<f64> = rows.iter().flat_map(|(_, j)| j.metrics.failover_ms.iter().copied()).collect();
    failovers.sort_by(f64::total_cmp);
    let (median, p95) = (quantile(&failovers, 0.5), quantile(&failovers, 0.95));
    let with = |verdict: Verdict| rows.iter().filter(|(_, j)| j.verdict == verdict).count();
    if args.show.json {
        let fenced: u64 = rows.iter().map(|(_, j)| j.metrics.writes_fenced).sum();
        return print(&format!(
            "{:#}",
            serde_json::json!({
                "schema": 1, "scenario": args.what, "protocol": args.backend.name, "runs": rows.len(),
                "pass": with(Verdict::Pass), "safety": with(Verdict::Safety), "liveness": with(Verdict::Liveness),
                "vacuous": with(Verdict::Vacuous), "writes_fenced": fenced, "failovers_ms": failovers,
                "failover_ms_p50": median, "failover_ms_p95": p95, "requests": requests(rows.iter().map(|(_, j)| j)),
            })
        ));
    }
    let ms = |value: Option<f64>| value.map_or("–".to_owned(), |ms| format!("{ms:.0} ms"));
    print(&format!(
        "{} runs on real processes: {} pass, {} safety, {} liveness, {} vacuous; failover {}, p95 {}",
        rows.len(),
        with(Verdict::Pass),
        with(Verdict::Safety),
        with(Verdict::Liveness),
        with(Verdict::Vacuous),
        ms(median),
        ms(p95)
    ));
}

/// Plays a plan on real processes. Returns the file with its history, and the machine's stalls.
fn play(args: &RunArgs, plan: &Plan) -> Result<(PathBuf, Stalls), Stop> {
    let folder = args.world.dir.clone().unwrap_or_else(|| {
        Path::new("target/fencepost/real").join(&plan.scenario).join(&plan.protocol).join(plan.seed.to_string())
    });
    let spec = cluster::spec(&args.world, plan.clone(), folder.clone())?;
    if args.seeds.is_none() {
        Show::from(&args.show).banner(&format!(
            "{} {} seed {}: {} s on real processes, in {}",
            plan.scenario,
            plan.protocol,
            plan.seed,
            plan.duration_ms as f64 / 1e3,
            folder.display()
        ));
    }
    play_on(spec)
}

/// Plays a cluster's plan in its folder.
pub fn play_on(spec: Spec) -> Result<(PathBuf, Stalls), Stop> {
    let (folder, plan) = (spec.folder.clone(), spec.plan.clone());
    cluster::fresh(&folder)?;
    let wrong = |e: std::io::Error| Stop::harness(format!("cannot write into {}: {e}", folder.display()));
    fs::write(folder.join("plan.json"), plan.to_json_pretty()).map_err(wrong)?;
    let keep = match &spec.postgres {
        Some(url) => Keep::Postgres(postgres::PostgresSettings::from_env(url, None)?),
        None => Keep::Embedded(spec.store_data()),
    };
    block_on(run_plan(spec, keep, &plan, &folder))
}

async fn run_plan(spec: Spec, keep: Keep, plan: &Plan, folder: &Path) -> Result<(PathBuf, Stalls), Stop> {
    let mut director = Director::new(spec).await?;
    let Played { start_us, end_us, stalls } = director.play().await?;
    director.kill().await;
    let audit = folder.join("store.jsonl");
    let out = fs::File::create(&audit).map_err(|e| Stop::harness(format!("cannot write {}: {e}", audit.display())))?;
    store::export(&keep, std::io::BufWriter::new(out)).await?;
    let mut parts = director.parts();
    // A store decides after a leader has asked, and before a client hears of it.
    parts.push(audit);
    let file = folder.join("history.jsonl");
    history::merge(&header(plan), &parts, start_us, end_us, &file)?;
    Ok((file, stalls))
}

/// A real process takes a moment to notice that it was paused, and its own clock dates the history: dual belief may
/// exceed the protocol's arithmetic by this, microseconds.
const NOTICES_WITHIN_US: u64 = 250_000;

/// The judge's header for a plan that was played on real processes.
fn header(plan: &Plan) -> Header {
    let header = plan.header().expect("the plan is valid");
    let dual_belief_bound_us = header.dual_belief_bound_us.map(|bound| bound.saturating_add(NOTICES_WITHIN_US));
    Header { dual_belief_bound_us, ..header }
}

fn plan(args: &RunArgs, seed: u64) -> Result<Plan, Stop> {
    if args.what.ends_with(".json") {
        let text = fs::read_to_string(&args.what);
        let text = text.map_err(|e| Stop::usage(format!("cannot read {}: {e}", args.what)))?;
        return Plan::from_json(&text).map_err(|e| Stop::usage(format!("{}: {e}", args.what)));
    }
    let scenario = parse::scenario(&args.what)?;
    let mut params = args.plan.params()?;
    // By default, clients of real processes only read in the scenario about reads, or with `--read-lease`.
    let reads = scenario.hazard.reads_memory || params.read_lease == Some(true);
    params.read_lease = params.read_lease.or(Some(reads));
    params.reads_per_s = params.reads_per_s.or(Some(if reads { READS_PER_S } else { 0 }));
    if !matches!(params.fencing, Fencing::On | Fencing::Off) {
        return Err(Stop::usage("a real store checks everything or nothing: --fencing is on or off here"));
    }
    sense::own_timers(&params, args.backend)?;
    sense::timers(&params, args.backend)?;
    let mut plan = scenario.compile(&params, args.backend, seed)?;
    if service_runs_true(&mut plan) {
        Show::from(&args.show)
            .banner("the coordination service uses the machine's clock: only the nodes' clocks are changed");
    }
    Ok(plan)
}
