//! `chaos`.

use super::{
    args::{Chaos, CutOff, RunArgs, Which},
    block_on, cluster,
};
use crate::terminal::{
    check,
    exit::Stop,
    output::{Show, print},
    parse,
};
use protocols::real::store::{self, Keep, postgres};
use scenarios::{
    fault::{Fault, Who},
    plan::Plan,
    real::{control, director::Director, history},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Carries out one of the commands.
pub fn run(chaos: Chaos) -> Result<u8, Stop> {
    let leader = || Who::Leader;
    let (fault, which) = match chaos {
        Chaos::KillLeader { restart_after, which } => {
            (Fault::Kill { node: leader(), restart_after_ms: Some(restart_after as f64) }, which)
        }
        Chaos::PartitionLeader { secs, from, which } => {
            let to = match from {
                CutOff::Service => vec![Who::Service],
                CutOff::Store => vec![Who::Store],
                CutOff::Both => vec![Who::Service, Who::Store],
            };
            (Fault::Partition { from: vec![leader()], to, one_way: false, for_ms: Some(secs * 1e3) }, which)
        }
        Chaos::GcPauseLeader { ms, which } => (Fault::Pause { node: leader(), for_ms: ms }, which),
        Chaos::ResignLeader { which } => (Fault::Resign { node: leader() }, which),
        Chaos::Run(args) => return play(&args),
    };
    let Which { dir } = which;
    let card = control::card(&dir).map_err(Stop::usage)?;
    let done = control::order(&card, fault).map_err(Stop::harness)?;
    print(&done);
    Ok(0)
}

/// Plays a plan on real processes and judges it.
fn play(args: &RunArgs) -> Result<u8, Stop> {
    let plan = plan(args)?;
    let show = Show::from(&args.show);
    let folder = args.world.dir.clone().unwrap_or_else(|| {
        Path::new("target/fencepost/real").join(&plan.scenario).join(&plan.protocol).join(plan.seed.to_string())
    });
    cluster::fresh(&folder)?;
    let wrong = |e: std::io::Error| Stop::harness(format!("cannot write into {}: {e}", folder.display()));
    fs::write(folder.join("plan.json"), plan.to_json_pretty()).map_err(wrong)?;
    let spec = cluster::spec(&args.world, plan.clone(), folder.clone())?;
    let keep = match &spec.postgres {
        Some(url) => Keep::Postgres(postgres::Settings::from_env(url, None).map_err(Stop::usage)?),
        None => Keep::Embedded(spec.store_data()),
    };
    show.banner(&format!(
        "{} {} seed {}: {} s on real processes, in {}",
        plan.scenario,
        plan.protocol,
        plan.seed,
        plan.duration_ms as f64 / 1e3,
        folder.display()
    ));
    let file = block_on(run_plan(spec, keep, &plan, &folder))?;
    check::judge(&file, Some(&plan), show)
}

async fn run_plan(
    spec: scenarios::real::cluster::Spec,
    keep: Keep,
    plan: &Plan,
    folder: &Path,
) -> Result<PathBuf, Stop> {
    let mut director = Director::new(spec).await.map_err(playing)?;
    let (start_us, end_us) = director.play().await.map_err(Stop::harness)?;
    director.kill().await;
    let audit = folder.join("store.jsonl");
    let out = fs::File::create(&audit).map_err(|e| Stop::harness(format!("cannot write {}: {e}", audit.display())))?;
    store::export(&keep, std::io::BufWriter::new(out)).await.map_err(Stop::harness)?;
    let mut parts = director.parts();
    // A store decides before a client hears of it, and after a leader has asked.
    parts.push(audit);
    let file = folder.join("history.jsonl");
    history::merge(&plan.header(), &parts, start_us, end_us, &file).map_err(Stop::harness)?;
    Ok(file)
}

/// A plan that cannot be played is the user's; everything else is not.
fn playing(why: String) -> Stop {
    if why.contains("for the simulation") || why.contains("not installed") || why.contains("password") {
        Stop::usage(why)
    } else {
        Stop::harness(why)
    }
}

fn plan(args: &RunArgs) -> Result<Plan, Stop> {
    if args.what.ends_with(".json") {
        let text = fs::read_to_string(&args.what);
        let text = text.map_err(|e| Stop::usage(format!("cannot read {}: {e}", args.what)))?;
        return Plan::from_json(&text).map_err(|e| Stop::usage(format!("{}: {e}", args.what)));
    }
    let scenario = parse::scenario(&args.what).map_err(Stop::usage)?;
    let params = args.plan.params().map_err(Stop::usage)?;
    scenario.compile(&params, args.backend, args.seed).map_err(Stop::usage)
}
