//! The repository is built with madsim, and a crate of one's own without: the same plans give the same traces.

use protocols::election;
use scenarios::{Params, scenario};
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
