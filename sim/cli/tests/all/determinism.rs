//! The same plan gives the same bytes in a fresh process as well.

use protocols::election;
use scenarios::{Params, scenario};
use sim::{
    determinism::{self, Check},
    registry::Registry,
    run::{self, Options},
};
use std::path::Path;

#[test]
fn every_scenario_repeats_itself_on_threads_and_in_a_fresh_process() {
    let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    let params = Params { rate: 50, ..Params::default() };
    // Every third pair; what is left out differs from protocol to protocol.
    let pairs = election::ALL.into_iter().flat_map(|p| scenario::of(p).map(move |s| (s, p))).step_by(3);
    for (scenario, protocol) in pairs {
        let plan = scenario.compile(&params, protocol, 7).expect("the default parameters make sense");
        let here = run::run(&plan, Options::default()).expect("the run ends");
        match determinism::check(&plan, &Registry::default(), program).expect("the runs end") {
            Check::Same { trace_hash } => assert_eq!(trace_hash, here.trace_hash()),
            Check::Differs { what, where_ } => panic!("{} {}: {what}\n{where_}", scenario.name, protocol.name),
        }
    }
}
