//! The same plan gives the same bytes in a fresh process as well.

use protocols::election;
use scenarios::{Params, Scenario, scenario};
use sim::{
    determinism::{self, Check},
    registry::Registry,
    run::{self, Options},
};
use std::{collections::BTreeSet, path::Path};

#[test]
fn every_scenario_repeats_itself_on_threads_and_in_a_fresh_process() {
    let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    let params = Params { rate: 50, ..Params::default() };
    let pairs = election::ALL.into_iter().enumerate().flat_map(|(column, protocol)| {
        // A third of all pairs, in which every scenario and every protocol has its turns.
        let turns = scenario::of(protocol).enumerate().filter(move |(row, _)| (row + column) % 3 == 1);
        turns.map(move |(_, scenario)| (scenario, protocol))
    });
    let pairs: Vec<_> = pairs.collect();
    let scenarios: BTreeSet<_> = pairs.iter().map(|(scenario, _)| scenario.name).collect();
    let of_few = |scenario: &Scenario| election::ALL.iter().filter(|p| scenario.needs.met_by(p)).count() < 3;
    let left_out = scenario::ALL.iter().find(|scenario| !scenarios.contains(scenario.name) && !of_few(scenario));
    assert_eq!(left_out.map(|scenario| scenario.name), None);
    for (scenario, protocol) in pairs {
        let plan = scenario.compile(&params, protocol, 7).expect("the default parameters make sense");
        let here = run::run(&plan, Options::default()).expect("the run ends");
        match determinism::check(&plan, &Registry::default(), program).expect("the runs end") {
            Check::Same { trace_hash } => assert_eq!(trace_hash, here.trace_hash()),
            Check::Differs { what, where_ } => panic!("{} {}: {what}\n{where_}", scenario.name, protocol.name),
        }
    }
}
