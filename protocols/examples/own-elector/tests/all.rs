//! Holds this crate's protocol and scenario to their promises, as Fencepost's own are, and its command line to account.

use own_elector::{elector::PROTOCOL, registry};
use protocols::types::SECOND;
use scenarios::{Plan, plan::Given};
use sim::{
    registry::Registry,
    run::{self, Options},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The exit code and what was printed, on both outputs.
fn command(arguments: &str) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_own-elector")).args(arguments.split(' ')).output().expect("it starts");
    (ran.status.code(), [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn sweep(of: &str) -> (Option<i32>, String) {
    command(&format!("sweep {of} --out {}", folder("sweep").display()))
}

#[test]
fn every_scenario_that_applies_is_kept_with_fencing_and_without() {
    for fencing in ["on", "off"] {
        let (code, said) = sweep(&format!("all --protocol margin-lease --seeds 0..1 --rate 100 --fencing {fencing}"));
        assert!(code == Some(0) && said.contains(" 0 broken, 0 inconclusive"), "{said}");
        // With three candidates and with five. A ring does not apply.
        let cells = |name: &str| said.lines().filter(|line| line.starts_with(&format!("{name} "))).count();
        let of = ["successor-dies", "gc-pause", "lost-lease", "service-restart", "ring-break"];
        assert_eq!(of.map(cells), [2, 2, 2, 2, 0], "{said}");
    }
}

#[test]
fn drawn_plans_are_kept_and_come_to_the_mark() {
    let (code, said) = sweep("swarm --protocol margin-lease --seeds 0..50");
    assert!(code == Some(0) && said.contains("50 kept, 0 broken"), "{said}");
    let mark = "own-elector: an attempt may have left a key that nobody believes in";
    assert!(said.contains(&format!("comes to \"{mark}\"")), "{said}");
}

#[test]
fn a_failing_run_leaves_artifacts_that_replay_and_says_how_to_repeat_it() {
    let out = folder("artifacts");
    let _ = std::fs::remove_dir_all(&out);
    let of = "gc-pause --protocol margin-lease --seed 3 --fencing off";
    let (code, said) = command(&format!("scenario {of} --out {}", out.display()));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("(cd {} && cargo run -- scenario {of}", env!("CARGO_MANIFEST_DIR"))), "{said}");
    let kept = out.join("gc-pause/margin-lease-fencing-off/3");
    let (code, said) = command(&format!("replay --no-artifacts --strict {}/capsule.json", kept.display()));
    assert!(code == Some(1) && said.contains("same trace, same verdict"), "{said}");
    assert_eq!(command(&format!("check {}/history.jsonl", kept.display())).0, Some(1));
    let text = std::fs::read_to_string(kept.join("plan.json")).expect("a plan");
    let plan = registry().plans.read(&text).expect("its own registry knows the protocol");
    assert!(Plan::from_json(&text).is_err_and(|why| why.to_string().contains("margin-lease")), "Fencepost does not");
    let refused = run::run(&plan, Options { registry: Registry::default(), ..Options::default() });
    assert!(refused.is_err(), "nor does it run the plan");
}

#[test]
fn the_command_line_knows_what_was_added() {
    let (_, listed) = command("list all");
    for name in ["margin-lease", "successor-dies", "etcd-election", "gc-pause"] {
        assert!(listed.contains(&format!("\n  {name} ")), "{name}");
    }
    let (code, said) = command("scenario successor-dies --protocol margin-leas");
    assert!(code == Some(64) && said.contains("did you mean `margin-lease`?"), "{said}");
    let (code, said) = sweep("successor-die --seeds 0..1");
    assert!(code == Some(64) && said.contains("did you mean `successor-dies`?"), "{said}");
    // Fencepost's own protocols keep their promises in this scenario, too.
    let protocols = "margin-lease,redis-fenced,etcd-election,raft,kraft,zab-fle";
    let (code, said) = sweep(&format!("successor-dies --protocol {protocols} --seeds 0..1"));
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = command("determinism successor-dies --protocol margin-lease --seeds 0..2");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn its_parameter_reaches_the_plan_and_the_protocol() {
    let plan =
        |set: &str| command(&format!("plan steady --protocol margin-lease --seed 3 --set margin-lease.margin={set}"));
    let read = |set: &str| registry().plans.read(&plan(set).1).expect("it prints what it reads");
    for (set, percent) in [("1", 1), ("20", 20)] {
        let (believes, key_lasts) = PROTOCOL.read_lease.expect("it has a lease")(&read(set).resolved(&PROTOCOL));
        assert_eq!((believes, key_lasts), (3 * SECOND / 100 * (100 - percent), 3 * SECOND));
    }
    let mut wrong = read("20");
    wrong.set.get_mut("margin-lease").expect("its values").insert("margin".to_owned(), Given::Number(51));
    let why = registry().plans.validate(&wrong).expect_err("it is too much").to_string();
    assert_eq!(why, "set.margin-lease.margin is not a value that `margin` takes");
    let (code, said) = plan("51");
    assert!(code == Some(64) && said.contains("margin-lease.margin: `51` must be 0 to 50"), "{said}");
    let (_, said) = command("plan steady --protocol bully --set margin-lease.margin=5");
    assert!(said.contains("means nothing to `steady` with `bully`"), "{said}");
    assert!(command("list parameters").1.contains("margin-lease.margin"));
}
