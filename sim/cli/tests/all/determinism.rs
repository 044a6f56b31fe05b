//! The same plan gives the same bytes in a fresh process as well.

use protocols::election;
use scenarios::{Params, scenario};
use sim::{
    determinism::{self, Check},
    registry::Registry,
    run::{self, Options},
};
use std::path::Path;

/// Every third pair of a scenario and a protocol, beginning with the one at `first`: three tests share them, so that they run
/// beside each other.
fn repeat_themselves(first: usize) {
    let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    let params = Params { rate: 50, ..Params::default() };
    let pairs = election::ALL.into_iter().flat_map(|p| scenario::of(p).map(move |s| (s, p)));
    for (scenario, protocol) in pairs.skip(first).step_by(3) {
        let plan = scenario.compile(&params, protocol, 7).expect("the default parameters make sense");
        let here = run::run(&plan, Options::default()).expect("the run ends");
        match determinism::check(&plan, &Registry::default(), program).expect("the runs end") {
            Check::Same { trace_hash } => assert_eq!(trace_hash, here.trace_hash()),
            Check::Differs { what, where_ } => panic!("{} {}: {what}\n{where_}", scenario.name, protocol.name),
        }
    }
}

#[test]
fn a_third_of_all_scenarios_repeats_itself_on_threads_and_in_a_fresh_process() {
    repeat_themselves(0);
}

#[test]
fn another_third_does() {
    repeat_themselves(1);
}

#[test]
fn and_the_last_third() {
    repeat_themselves(2);
}
