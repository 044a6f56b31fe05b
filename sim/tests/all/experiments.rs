//! The reduced set of the experiments gives the committed numbers: a change of behaviour shows here which numbers of
//! the findings are outdated. `fencepost experiments` records them anew.

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

#[test]
fn a_picture_of_who_led_is_of_one_run_and_has_its_fault_and_its_end() {
    let mut told = experiments::told(experiments::find(&[7]).expect("there is one").remove(0));
    told.full.retain(|set| set.scenario == "graceful-step-down");
    told.full[0].protocols = vec!["raft-core".to_owned()];
    let measured = experiments::measure(&Registry::default(), &told, false, 1, |_| ()).expect("a run");
    let [(scenario, variant, strip)] = &measured.strips[..] else { panic!("{:?}", measured.strips) };
    assert_eq!((scenario.as_str(), variant.as_str(), strip.label.as_str()), ("graceful-step-down", "", "raft-core"));
    assert!(strip.faults == [(0.0, 0.0)] && strip.reigns.len() == 2 && strip.acting == 1, "{strip:?}");
    let last = strip.reigns.iter().filter_map(|reign| reign.acted).map(|(_, to)| to).fold(0.0, f64::max);
    assert!(last > 0.0 && last <= strip.ends, "{strip:?}");
}
