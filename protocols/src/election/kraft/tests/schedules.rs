//! Fleets on random schedules: the laws of [`super::super::drill`] are checked at every step, and once faults have
//! ended, one voter leads.

use super::{
    super::drill::{CALM, Fleet, QUIET_MS, STORM, Weather},
    *,
};
use proptest::prelude::*;

fn settles(fleet: &mut Fleet) {
    fleet.set_weather(CALM);
    fleet.cut_off(None);
    fleet.run(QUIET_MS);
    let believers = fleet.believers();
    assert_eq!(believers.len(), 1, "one leads when all is well");
    assert!(fleet.agree_on(believers[0]), "all follow it");
    let leaders = fleet.leaders.len();
    fleet.run(60_000);
    assert_eq!(fleet.leaders.len(), leaders, "and it stays");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_storm_of_losses_crashes_and_power_losses_breaks_no_law(seed: u64, nodes in 1_u16..=5) {
        let mut fleet = Fleet::new(nodes, seed);
        fleet.set_weather(STORM);
        fleet.run(60_000);
        settles(&mut fleet);
    }

    #[test]
    fn power_is_lost_at_every_other_write(seed: u64) {
        let mut fleet = Fleet::new(3, seed);
        fleet.set_weather(Weather { power: 500, ..CALM });
        for _ in 0..12 {
            fleet.run(5_000);
            fleet.believers().into_iter().for_each(|leader| fleet.stop(leader));
        }
        prop_assert!(fleet.power_losses > 5, "{} losses", fleet.power_losses);
        settles(&mut fleet);
    }

    #[test]
    fn whoever_is_cut_off_the_rest_elects(seed: u64, nodes in 3_u16..=5) {
        let mut fleet = Fleet::new(nodes, seed);
        settles(&mut fleet);
        for _ in 0..4 {
            let leader = fleet.believers()[0];
            fleet.cut_off(Some(leader));
            fleet.run(QUIET_MS);
            let now = fleet.believers();
            prop_assert!(now.len() == 1 && now[0] != leader, "{now:?} after {leader:?}");
            settles(&mut fleet);
        }
    }

    #[test]
    fn a_follower_that_was_cut_off_does_not_depose_the_leader(seed: u64) {
        let mut fleet = Fleet::new(3, seed);
        settles(&mut fleet);
        let leader = fleet.believers()[0];
        let leaders = fleet.leaders.len();
        fleet.cut_off(Some(NodeId((leader.0 + 1) % 3)));
        fleet.run(30_000);
        settles(&mut fleet);
        prop_assert_eq!((fleet.believers(), fleet.leaders.len()), (vec![leader], leaders));
    }
}
