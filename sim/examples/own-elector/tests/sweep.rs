//! Holds this crate's protocols and scenario to their promises, as Fencepost's own are.

use own_elector::{elector, leaseholder, registry, scenario, service};
use protocols::{election, election::Protocol, fence::checks::Fencing};
use scenarios::{Artifact, Params, Scenario, generate::Choice};
use sim::{
    artifacts,
    registry::Registry,
    run::{self, Options},
    swarm::Swarm,
    sweep::{Cell, Outcome, Sizes, Sweep},
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Seeds per cell; the command can sweep more.
const SEEDS: u64 = 1;

const OWN: [&Protocol; 2] = [&elector::PROTOCOL, &leaseholder::PROTOCOL];

fn sweep(scenarios: Vec<&'static Scenario>, protocols: Vec<&'static Protocol>, params: &Params) -> Outcome {
    let (registry, sizes) = (registry(), Sizes::Usual);
    let sweep =
        Sweep { registry: &registry, scenarios, protocols, sizes, seeds: 0..SEEDS, params, shard: (1, 1), jobs: 2 };
    sweep.run(|_| {}).expect("the parameters make sense")
}

fn is_kept(outcome: &Outcome) {
    let all = outcome.failures.iter().chain(&outcome.inconclusive);
    let why: Vec<_> = all.map(|failure| format!("{}: {}", failure.repro, failure.why)).collect();
    assert!(why.is_empty(), "{}", why.join("\n"));
}

fn usual(fencing: Fencing) -> Params {
    Params { rate: 100, fencing, ..Params::default() }
}

#[test]
fn every_scenario_that_applies_is_kept_with_fencing_and_without() {
    for fencing in [Fencing::On, Fencing::Off] {
        let outcome = sweep(registry().plans.scenarios, OWN.to_vec(), &usual(fencing));
        is_kept(&outcome);
        let runs = |protocol: &Protocol, scenario: &str| {
            let of = |cell: &&Cell| (&*cell.scenario, &*cell.protocol) == (scenario, protocol.name);
            outcome.cells.iter().filter(of).map(|cell| cell.runs).sum::<u64>()
        };
        // With three candidates and with five.
        for scenario in [scenario::SCENARIO.name, "gc-pause", "power-outage"] {
            assert_eq!(OWN.map(|protocol| runs(protocol, scenario)), [2 * SEEDS; 2], "{scenario}");
        }
        // The first two need a service, the third candidates that elect among themselves.
        for (scenario, runs_of) in
            [("lost-lease", [0, 2 * SEEDS]), ("service-restart", [0, 2 * SEEDS]), ("quorum-loss", [2 * SEEDS, 0])]
        {
            assert_eq!(OWN.map(|protocol| runs(protocol, scenario)), runs_of, "{scenario}");
        }
        assert_eq!(OWN.map(|protocol| runs(protocol, "ring-break")), [0; 2]);
    }
}

#[test]
fn two_never_believe_at_one_time_unless_one_is_stopped() {
    let bounded = elector::PROTOCOL.belief_overlap;
    let plan = scenario::SCENARIO.compile(&usual(Fencing::On), &elector::PROTOCOL, 1).expect("it makes sense");
    assert_eq!(plan.dual_belief_bound_ms, Some(0.0), "clocks that are 100 ppm off are good enough");
    let fast = election::Conditions { fast_ppm: 50_000, ..election::Conditions::default() };
    let overlap = bounded(&plan.resolved(&elector::PROTOCOL), &fast).unwrap_or_default();
    assert!(overlap > 100_000_000, "clocks that are 5 % fast are not: {overlap} ns");
}

#[test]
fn fencepost_s_own_protocols_keep_their_promises_in_this_scenario() {
    let ours =
        ["redis-fenced", "etcd-election", "raft", "kraft", "zab-fle"].map(|name| election::find(name).expect("one"));
    is_kept(&sweep(vec![&scenario::SCENARIO], ours.to_vec(), &usual(Fencing::On)));
}

#[test]
fn drawn_plans_are_kept() {
    let choice = Choice { protocols: OWN.to_vec(), ..Choice::default() };
    let swarm = Swarm { registry: registry(), choice, seeds: 0..50, shard: (1, 1), jobs: 2, until_stable: false };
    let swept = swarm.run(|_| {}).expect("the baseline is readable");
    is_kept(&swept.outcome);
    let mark = "own-elector: a vote is refused, the term is not a newer one";
    assert!(swept.coverage.marks.contains(mark), "{:#?}", swept.coverage.marks);
    assert!(swept.outcome.without_baseline.contains(&format!("comes to \"{mark}\"")));
}

/// A folder for this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-elector")).args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_failing_run_leaves_artifacts_that_replay_and_says_how_to_repeat_it() {
    let out = folder("artifacts");
    let out_text = out.display().to_string();
    let arguments = ["gc-pause", "--protocol", "majority-lease", "--fencing", "off", "--seed", "3"];
    let failed = command(&[&["scenario"], &arguments[..], &["--out", &out_text]].concat());
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    let here = env!("CARGO_MANIFEST_DIR");
    let repro =
        format!("(cd {here} && cargo run -- scenario {}", "gc-pause --protocol majority-lease --seed 3 --fencing off)");
    assert!(text(&failed.stdout).contains(&repro), "{}", text(&failed.stdout));
    let kept = out.join("gc-pause/majority-lease-fencing-off/3");
    for file in ["plan.json", "capsule.json", "history.jsonl", "timeline.html", "report.json", "repro.sh"] {
        assert!(kept.join(file).is_file(), "{file}");
    }
    let capsule = kept.join("capsule.json").display().to_string();
    let again = command(&["replay", "--no-artifacts", "--strict", &capsule]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("same trace, same verdict"), "{}", text(&again.stderr));
    let history = kept.join("history.jsonl").display().to_string();
    assert_eq!(command(&["check", &history]).status.code(), Some(1));
    let ours = Artifact::from_json(&std::fs::read_to_string(&capsule).expect("a capsule")).err();
    assert!(
        ours.is_some_and(|why| why.to_string().contains("majority-lease")),
        "Fencepost itself does not know the protocol"
    );
}

#[test]
fn artifacts_of_the_library_are_of_the_registry_s_plans() {
    let plan = scenario::SCENARIO.compile(&usual(Fencing::On), &elector::PROTOCOL, 5).expect("it makes sense");
    let registry = registry();
    let ran = run::run(&plan, Options { registry: registry.clone(), ..Options::default() }).expect("it runs");
    let again = artifacts::Again { repro: "the command", meaning: None, next: &[] };
    let kept = artifacts::write(&folder("library"), &plan, &registry, ran.trace_hash(), again).expect("written").folder;
    let text = std::fs::read_to_string(kept.join("plan.json")).expect("a plan");
    assert_eq!(registry.plans.read(&text).as_ref(), Ok(&plan));
    assert!(run::run(&plan, Options { registry: Registry::default(), ..Options::default() }).is_err());
}

#[test]
fn the_command_line_knows_what_was_added() {
    let listed = text(&command(&["list", "all"]).stdout);
    for name in ["majority-lease", "lease-holder", "successor-dies", "etcd-election", "gc-pause"] {
        assert!(listed.contains(&format!("\n  {name} ")), "{name}");
    }
    let mistyped = command(&["scenario", "successor-dies", "--protocol", "majority-leas"]);
    assert_eq!(mistyped.status.code(), Some(64));
    assert!(text(&mistyped.stderr).contains("did you mean `majority-lease`?"), "{}", text(&mistyped.stderr));
    let mistyped = command(&["sweep", "successor-die", "--seeds", "0..1"]);
    assert!(text(&mistyped.stderr).contains("did you mean `successor-dies`?"), "{}", text(&mistyped.stderr));
    let out = folder("sweep").display().to_string();
    let one = ["successor-dies", "--protocol", "majority-lease", "--seeds", "0..2"];
    let swept = command(&[&["sweep"], &one[..], &["--json", "--out", &out]].concat());
    assert_eq!(swept.status.code(), Some(0), "{}", text(&swept.stderr));
    let report: serde_json::Value = serde_json::from_slice(&swept.stdout).expect("one object");
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(2), "{report}");
    let same = command(&[&["determinism"], &one[..]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
}

#[test]
fn what_the_service_grants_is_in_the_history_and_judged() {
    let plan = scenario::SCENARIO.compile(&usual(Fencing::On), &leaseholder::PROTOCOL, 2).expect("it makes sense");
    let ran = run::run(&plan, Options { registry: registry(), ..Options::default() }).expect("it runs");
    let phantom = ran.judgement.invariant("phantom_leader").expect("it is judged");
    assert!(phantom.holds && phantom.could_fail && phantom.detail.contains("granted"), "{phantom:?}");
    let mut without = registry();
    without.models.retain(|model| model.service != service::SERVICE.name);
    let nobody = run::run(&plan, Options { registry: without, ..Options::default() }).expect("it runs");
    assert_eq!(nobody.judgement.metrics.elections, 0, "nobody else answers on that port");
}

#[test]
fn a_parameter_of_its_own_reaches_the_plan_and_the_protocol() {
    let plan = |set: &str| {
        let printed = command(&["plan", "steady", "--protocol", "majority-lease", "--seed", "3", "--set", set]);
        assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
        registry().plans.read(&text(&printed.stdout)).expect("it prints what it reads")
    };
    let lease = 3 * protocols::types::SECOND;
    for (set, percent) in [("majority-lease.margin=1", 1), ("majority-lease.margin=20", 20)] {
        let timings = plan(set).resolved(&elector::PROTOCOL);
        let (believes, _) = elector::PROTOCOL.read_lease.expect("it has a lease")(&timings);
        assert_eq!(believes, lease - lease / 100 * percent);
    }
    let mut wrong = plan("majority-lease.margin=20");
    let own = wrong.set.get_mut("majority-lease").expect("its values");
    own.insert("margin".to_owned(), scenarios::plan::Given::Number(51));
    let why = registry().plans.validate(&wrong).expect_err("it is too much").to_string();
    assert_eq!(why, "set.majority-lease.margin is not a value that `margin` takes");
    let refused = command(&["plan", "steady", "--set", "majority-lease.margin=51"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(text(&refused.stderr).contains("majority-lease.margin: `51` must be 0 to 50"), "{}", text(&refused.stderr));
    let elsewhere = command(&["plan", "steady", "--protocol", "bully", "--set", "majority-lease.margin=5"]);
    assert!(text(&elsewhere.stderr).contains("means nothing to `steady` with `bully`"), "{}", text(&elsewhere.stderr));
    assert!(text(&command(&["list", "parameters"]).stdout).contains("majority-lease.margin"));
}
