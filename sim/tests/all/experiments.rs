//! The reduced set of the experiments gives the committed numbers: whoever changes what a run comes to sees here which
//! number of the findings is no longer true. `fencepost experiments` writes them anew.

use reports::experiments::{Numbers, numbers::SCHEMA};
use sim::{
    experiments::{self, Experiment},
    registry::Registry,
};

fn measured(experiment: &Experiment) -> Numbers {
    let measured = experiments::measure(&Registry::default(), experiment, true, 1, |_| ()).expect("runs");
    Numbers { schema: SCHEMA, cells: measured.cells, refusals: measured.refusals, ..Numbers::default() }
}

fn compare(number: u8) {
    let experiment = experiments::find(&[number]).expect("there is one").remove(0);
    let numbers = measured(&experiment);
    assert!(!numbers.cells.is_empty());
    assert_eq!(numbers.difference(&experiments::committed(true).expect("numbers")), None);
    assert_eq!(reports::experiments::slo::broken(&numbers), [""; 0]);
}

#[test]
fn a_clean_kill_comes_to_the_committed_numbers() {
    compare(1);
}

#[test]
fn the_ttl_sweep_comes_to_the_committed_numbers() {
    compare(2);
}

#[test]
fn a_partition_comes_to_the_committed_numbers() {
    compare(3);
}

#[test]
fn a_pause_comes_to_the_committed_numbers() {
    compare(4);
}

#[test]
fn without_fencing_the_committed_numbers_come() {
    compare(5);
}

#[test]
fn churn_comes_to_the_committed_numbers() {
    compare(6);
}

#[test]
fn a_step_down_comes_to_the_committed_numbers() {
    compare(7);
}

#[test]
fn shards_come_to_the_committed_numbers() {
    compare(9);
}

#[test]
fn frontiers_come_to_the_committed_numbers() {
    compare(10);
}

#[test]
fn other_seeds_are_other_numbers_and_the_first_is_named() {
    let mut experiment = experiments::find(&[4]).expect("there is one").remove(0);
    experiment.reduced.truncate(1);
    experiment.reduced[0].protocols = vec!["raft-core".to_owned()];
    experiment.reduced[0].seeds = (1, 4);
    let mut committed = experiments::committed(true).expect("numbers");
    committed.cells.retain(|cell| cell.key() == "4/gc-pause/raft-core");
    let says = measured(&experiment).difference(&committed).expect("a difference");
    assert!(says.starts_with("4/gc-pause/raft-core: "), "{says}");
}
