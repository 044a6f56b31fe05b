//! Checks the committed matrix by running some of its columns again.

use crate::common::root;
use protocols::election;
use scenarios::{Params, scenario};
use sim::{
    matrix::{Came, Matrix},
    registry::Registry,
};
use std::collections::BTreeMap;

/// The columns to run: one that most protocols hold by fencing only, and one caused by the service.
const COLUMNS: [&str; 2] = ["gc-pause", "session-expiry-unnoticed"];

/// The command that made the matrix.
const COMMAND: &str = "cargo run --release -- matrix --why";
const SEEDS: std::ops::Range<u64> = 0..5;
/// The default rate of a sweep and a matrix, in requests per second.
const RATE: u64 = 200;

/// The signs in `docs/matrix.md`, by scenario and protocol.
fn committed() -> BTreeMap<(String, String), char> {
    let text = std::fs::read_to_string(root().join("docs/matrix.md")).expect("docs/matrix.md");
    assert!(text.contains(COMMAND), "docs/matrix.md says how it was made");
    let numbered = |line: &str| -> Vec<(usize, String)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pairs = words.chunks(2).map(|pair| (pair[0].parse().ok(), pair.get(1).map(|name| (*name).to_owned())));
        pairs.map(|(number, name)| number.zip(name)).collect::<Option<_>>().unwrap_or_default()
    };
    let scenarios: BTreeMap<usize, String> = text.lines().flat_map(numbered).collect();
    let mut signs = BTreeMap::new();
    for protocol in election::ALL {
        let row = |line: &&str| line.split_whitespace().next() == Some(protocol.name);
        let row = text.lines().find(row).unwrap_or_else(|| panic!("a row for {}", protocol.name));
        for (number, sign) in row.split_whitespace().skip(1).enumerate() {
            let sign = sign.chars().next().expect("a sign");
            signs.insert((scenarios[&(number + 1)].clone(), protocol.name.to_owned()), sign);
        }
    }
    signs
}

#[test]
fn the_committed_matrix_is_what_comes_of_it_now() {
    let (registry, params) = (Registry::default(), Params { rate: RATE, ..Params::default() });
    let scenarios = COLUMNS.map(|name| scenario::find(name).expect("a scenario of that name")).to_vec();
    let protocols = election::ALL.to_vec();
    let matrix = Matrix { registry: &registry, scenarios, protocols, seeds: SEEDS, params: &params, jobs: 2 };
    let cells = matrix.run(|| {}).expect("runs");
    let committed = committed();
    let wrong: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            let was = committed.get(&(cell.scenario.to_owned(), cell.protocol.to_owned()));
            let is = cell.outcome.sign();
            (was != Some(&is)).then(|| format!("{} {}: {was:?} is {is} now", cell.scenario, cell.protocol))
        })
        .collect();
    assert_eq!(wrong, [""; 0], "`{COMMAND}` makes docs/matrix.md anew");
    // A matrix in which nothing breaks shows nothing.
    for came in [Came::Broken, Came::ByFencing, Came::Holds] {
        assert!(cells.iter().any(|cell| cell.outcome == came), "no cell is `{}`", came.words());
    }
}
