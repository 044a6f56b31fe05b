//! Fleets on random schedules: the laws of [`super::super::drill`] are checked at every step, and once faults have
//! ended, one server leads.

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
    fleet.run(10_000);
    assert_eq!(fleet.leaders.len(), leaders, "and it stays");
}

fn rules() -> impl Strategy<Value = Rules> {
    (any::<bool>(), any::<bool>(), any::<bool>(), 0..6_u8).prop_map(|(pre_vote, check_quorum, leader_lease, manner)| {
        let manner = if manner == 0 { Manner::Hashicorp } else { Manner::Paper };
        Rules { pre_vote, check_quorum, leader_lease, manner }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_storm_of_losses_crashes_and_power_losses_breaks_no_law(seed: u64, nodes in 1_u16..=5) {
        let mut fleet = Fleet::new(nodes, Rules::USUAL, seed);
        fleet.set_weather(STORM);
        fleet.run(20_000);
        settles(&mut fleet);
    }

    #[test]
    fn whatever_rules_are_off_terms_and_logs_keep_their_laws(seed: u64, nodes in 2_u16..=5, rules in rules()) {
        let mut fleet = Fleet::new(nodes, rules, seed);
        fleet.set_weather(STORM);
        fleet.run(10_000);
        settles(&mut fleet);
    }

    #[test]
    fn entries_of_leaders_that_come_and_go_break_no_law(seed: u64, nodes in 2_u16..=5) {
        let mut fleet = Fleet::appending(nodes, Rules::USUAL, Some(20 * MILLISECOND), seed);
        fleet.set_weather(STORM);
        fleet.run(8_000);
        fleet.set_weather(CALM);
        fleet.run(QUIET_MS);
        prop_assert_eq!(fleet.believers().len(), 1);
        // At least as many as in the quiet part, for most of which there was a leader.
        prop_assert!(fleet.committed.last_index() > 100, "{} entries", fleet.committed.last_index());
    }

    #[test]
    fn power_is_lost_at_every_other_write(seed: u64) {
        let mut fleet = Fleet::new(3, Rules::USUAL, seed);
        fleet.set_weather(Weather { power: 500, ..CALM });
        for _ in 0..12 {
            fleet.run(1_000);
            fleet.believers().into_iter().for_each(|leader| fleet.stop(leader));
        }
        prop_assert!(fleet.power_losses > 5, "{} losses", fleet.power_losses);
        settles(&mut fleet);
    }

    #[test]
    fn whoever_is_cut_off_the_rest_elects(seed: u64, nodes in 3_u16..=5) {
        let mut fleet = Fleet::new(nodes, Rules::USUAL, seed);
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
    fn a_follower_that_was_cut_off_deposes_the_leader_only_without_pre_votes(seed: u64, pre_vote: bool) {
        let mut fleet = Fleet::new(3, Rules { pre_vote, ..Rules::USUAL }, seed);
        settles(&mut fleet);
        let leader = fleet.believers()[0];
        let leaders = fleet.leaders.len();
        fleet.cut_off(Some(NodeId((leader.0 + 1) % 3)));
        fleet.run(10_000);
        settles(&mut fleet);
        match pre_vote {
            true => prop_assert_eq!((fleet.believers(), fleet.leaders.len()), (vec![leader], leaders)),
            false => prop_assert!(fleet.leaders.len() > leaders),
        }
    }
}

#[test]
fn a_lease_is_worth_nothing_where_votes_are_not_kept() {
    let two_believed = |check_quorum| {
        let of = |seed| {
            let mut fleet = Fleet::new(3, Rules { check_quorum, pre_vote: false, ..Rules::USUAL }, seed);
            settles(&mut fleet);
            let leader = fleet.believers()[0];
            // The server that was cut off stands as soon as it is back, in a higher term, and at that moment the leader
            // is cut off.
            fleet.cut_off(Some(NodeId((leader.0 + 1) % 3)));
            fleet.run(1_000 + 10 * seed);
            fleet.cut_off(Some(leader));
            fleet.run(1_000);
            u32::from(fleet.two_believed > 0)
        };
        (0..40).map(of).sum::<u32>()
    };
    assert_eq!(two_believed(true), 0);
    assert!(two_believed(false) > 5);
}
