//! Tests of cores without connections and disks.

mod retried_reads;
mod stopped_leader;

use super::{
    Core,
    drill::{Fleet, goes_on},
};
use crate::service::cluster::{CONSUL, ETCD, ZOOKEEPER};

/// Members agree through stops, crashes, losses and slow disks, and make progress afterwards.
#[test]
fn members_agree_whatever_happens() {
    for (rules, count) in [(ETCD, 3), (ETCD, 5), (CONSUL, 3), (ZOOKEEPER, 3), (ETCD, 2)] {
        let mut elections = 0;
        for seed in 0..20 {
            let fleet = goes_on(rules, count, seed, 6_000);
            elections += fleet.leaders.len();
        }
        assert!(elections > 40, "{count} members: only {elections} elections in 20 runs");
    }
}

/// A leader that nobody hears confirms no reads, and steps down.
#[test]
fn who_is_cut_off_reads_nothing() {
    let mut fleet = Fleet::new(ETCD, 3, 1);
    (0..100).for_each(|_| fleet.step(false));
    let leader = *fleet.leaders.values().next_back().expect("somebody leads");
    for _ in 0..400 {
        fleet.under_way.retain(|_, (from, to, _)| *from != leader && *to != leader);
        fleet.step(false);
    }
    assert!(fleet.reads.keys().any(|(of, _)| *of == leader), "its reads wait");
    assert_ne!(fleet.leaders.values().next_back(), Some(&leader), "another one leads");
    assert_ne!(fleet.seats[leader].core.as_ref().and_then(Core::leader), Some(leader), "it has stepped down");
}
