//! Helpers for tests of whole runs.

use protocols::election::{self, Protocol};
use scenarios::{Params, Plan, Scenario, scenario};
use sim::{
    determinism::Shared,
    run::{self, Options, Run},
};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// The workspace's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("sim/tests/ lies in the workspace").to_owned()
}

/// Every scenario with every protocol.
pub fn pairs() -> impl Iterator<Item = (&'static Scenario, &'static Protocol)> {
    election::ALL.into_iter().flat_map(|p| scenario::of(p).map(move |s| (s, p)))
}

/// Does `work` for every scenario and protocol, on two threads; failures there fail the test.
pub fn for_each_pair(work: impl Fn(&'static Scenario, &'static Protocol) + Sync) {
    let pairs: Vec<_> = pairs().collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((scenario, protocol)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(scenario, protocol);
                }
            });
        }
    });
}

/// A light plan of a scenario at a seed.
pub fn plan(scenario: &Scenario, protocol: &Protocol, seed: u64, fencing: bool) -> Plan {
    let params = Params { rate: 200, fencing: fencing.into(), ..Params::default() };
    scenario.compile(&params, protocol, seed).expect("the default parameters make sense")
}

/// The same by names, with default parameters.
pub fn named(scenario: &str, protocol: &str, seed: u64, fencing: bool) -> Plan {
    let scenario = scenario::find(scenario).expect("a scenario");
    let protocol = election::find(protocol).expect("a protocol");
    let params = Params { fencing: fencing.into(), ..Params::default() };
    scenario.compile(&params, protocol, seed).expect("the default parameters make sense")
}

pub fn run(plan: &Plan) -> Run {
    run::run(plan, Options::default()).expect("the run ends")
}

/// Runs a plan and returns its history.
pub fn run_with_history(plan: &Plan, options: Options) -> (Run, String) {
    let text = Shared::default();
    let options = Options { history: Some(Box::new(text.clone())), ..options };
    (run::run(plan, options).expect("the run ends"), text.text())
}

/// Whether to rewrite data files.
pub fn updating() -> bool {
    std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1")
}
