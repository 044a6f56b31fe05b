//! The same plans give the same traces: the repository is built with madsim, and a crate of one's own without; and either may
//! be built for debugging or for release.

use crate::world::{plan, run};
use protocols::election;
use scenarios::{
    Params,
    fault::{Fault, Who},
    scenario,
};
use sim::{
    registry::Registry,
    sweep::{Cell, Sizes, Sweep},
};

const RECORDED: &str = include_str!("../../../../../seeds/baseline/scenarios.runs");

#[test]
fn runs_are_the_recorded_ones() {
    let scenarios: Vec<_> =
        ["gc-pause", "partition", "clean-kill", "power-outage"].map(|name| scenario::find(name).unwrap()).into();
    let (registry, params) = (&Registry::default(), &Params { rate: 200, ..Params::default() });
    let (protocols, sizes) = (election::ALL.to_vec(), Sizes::Of(vec![3]));
    let jobs = std::thread::available_parallelism().map_or(1, Into::into);
    let sweep = Sweep { registry, scenarios, protocols, sizes, seeds: 0..1, params, shard: (1, 1), jobs };
    let outcome = sweep.run(|_| ()).unwrap();
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures.first());
    assert!(outcome.moved.is_empty(), "{:?}", outcome.moved.iter().map(|moved| &moved.cell).collect::<Vec<_>>());
    let recorded = |cell: &&Cell| RECORDED.contains(&format!("{} {} {}", cell.scenario, cell.protocol, cell.nodes));
    let compared = outcome.cells.iter().filter(recorded).count();
    assert!(compared > 100, "only {compared} cells were recorded");
}

/// Recorded in a debug build. `cargo test --release traces` compares a release build.
#[test]
fn the_service_does_what_was_recorded_in_every_build() {
    let leader = || Who::Leader;
    let struck: [(&str, Option<Fault>); 4] = [
        ("steady", None),
        ("paused", Some(Fault::Pause { node: leader(), for_ms: 6_000.0 })),
        ("killed", Some(Fault::Kill { node: leader(), restart_after_ms: Some(1_000.0) })),
        ("without power", Some(Fault::PowerLoss { node: leader(), restart_after_ms: Some(1_000.0) })),
    ];
    let mut now = String::new();
    for (what, fault) in struck {
        for seed in 0..3 {
            let run = run(&plan(seed, fault.clone()));
            now += &format!("{what}, seed {seed}: {} lines, trace {}\n", run.printed.len(), run.trace_hash());
        }
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/service.runs");
    if std::env::var_os("FENCEPOST_UPDATE").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    assert_eq!(now, std::fs::read_to_string(&file).unwrap());
}
