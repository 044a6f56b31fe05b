//! The same plan gives the same bytes in a fresh process. The tests of promises compare every cell with recorded
//! digests; this test runs one scenario of each protocol, also on threads.

use protocols::election;
use scenarios::{Params, scenario};
use sim::{
    determinism::{self, Check},
    registry::Registry,
};
use std::path::Path;

#[test]
fn a_run_repeats_itself_on_threads_and_in_a_fresh_process() {
    let program = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    let params = Params { rate: 50, ..Params::default() };
    for (place, protocol) in election::ALL.into_iter().enumerate() {
        let scenarios: Vec<_> = scenario::of(protocol).collect();
        let scenario = scenarios[place * 7 % scenarios.len()];
        let plan = scenario.compile(&params, protocol, 7).expect("the default parameters make sense");
        match determinism::check(&plan, &Registry::default(), program).expect("the runs end") {
            Check::Same { .. } => {}
            Check::Differs { what, where_ } => panic!("{} {}: {what}\n{where_}", scenario.name, protocol.name),
        }
    }
}
