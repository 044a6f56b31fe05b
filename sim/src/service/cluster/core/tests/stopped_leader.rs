//! How a leader handles the time in which it did not run.

use crate::service::cluster::{CONSUL, Rules, ZOOKEEPER, core::Core};
use protocols::types::SECOND;

fn leader(rules: Rules) -> Core {
    let mut core = Core::new(0, 3, rules, 1, Core::founded(0));
    core.found(0, 0);
    core
}

fn leads(core: &Core) -> bool {
    core.leader() == Some(0)
}

#[test]
fn who_goes_by_its_clock_has_lost_everybody() {
    let mut core = leader(CONSUL);
    core.tick(30 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn who_counts_its_looks_goes_on_until_its_connections_are_gone() {
    let mut core = leader(ZOOKEEPER);
    core.tick(30 * SECOND);
    assert!(leads(&core));
    (1..3).for_each(|member| core.lost(member));
    core.tick(31 * SECOND);
    assert!(leads(&core), "it looks once a tick");
    core.tick(32 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn a_zookeeper_that_runs_gives_up_after_five_ticks_of_silence() {
    let mut core = leader(ZOOKEEPER);
    for tick in 1..=5 {
        core.tick(tick * 2 * SECOND);
        assert!(leads(&core), "tick {tick}");
    }
    core.tick(12 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn connections_that_are_gone_count_from_the_beginning() {
    let mut core = leader(ZOOKEEPER);
    (1..3).for_each(|member| core.lost(member));
    core.tick(2 * SECOND);
    assert!(!leads(&core));
}
