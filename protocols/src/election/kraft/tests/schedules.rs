//! Fleets on random schedules: the laws of [`super::super::drill`] are checked at every step, and once faults have
//! ended, one voter leads. And who leads after a leader resigns.

use super::*;
use crate::{
    bench::Bench,
    election::kraft::drill::{CALM, Fleet, QUIET_MS, STORM, Weather},
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

// Who leads after a leader resigns: the list of successors, and each one's place in it.

/// Voters follow one leader, which resigns; at that moment the first `down` of its successors die. Returns the
/// successors, the next leader, and the milliseconds until it leads.
fn succession(voters: u16, down: usize, seed: u64) -> (Vec<NodeId>, NodeId, u64) {
    let mut bench = Bench::new(voters, setup(0, voters, 0, None).timings, seed, Kraft::new);
    bench.network.delay = 200_000..300_000;
    bench.start_all();
    bench.run(10 * SECOND);
    let [leader] = bench.believers()[..] else { panic!("seed {seed}: {:?} lead", bench.believers()) };
    let step = bench.give(leader, Input::Resign);
    let lists: Vec<_> = step.outputs.iter().filter_map(list).collect();
    assert!(
        lists.len() + 1 == usize::from(voters) && lists.iter().all(|list| *list == lists[0]),
        "everybody is told the whole list"
    );
    let successors = lists[0].clone();
    successors.iter().take(down).for_each(|node| bench.crash(*node, 0));
    let resigned = bench.now();
    while bench.believers().is_empty() {
        assert!(bench.next(resigned + 10 * SECOND).is_some(), "seed {seed}, {down} down: nobody leads");
    }
    (successors, bench.believers()[0], (bench.now() - resigned) / MILLISECOND)
}

fn list(output: &Output) -> Option<Vec<NodeId>> {
    match output {
        Output::Send { message: Message::Request { ask: Ask::EndQuorumEpoch { successors }, .. }, .. } => {
            Some(successors.clone())
        }
        _ => None,
    }
}

/// The second of two successors waits half of the longest pause of 1 s.
#[test]
fn of_three_the_first_successor_leads_at_once_and_the_second_when_the_first_is_dead() {
    for seed in 0..20 {
        let (successors, leader, after_ms) = succession(3, 0, seed);
        assert!(leader == successors[0] && after_ms <= 5, "seed {seed}: {leader:?} after {after_ms} ms");
        let (successors, leader, after_ms) = succession(3, 1, seed);
        assert!(leader == successors[1] && (500..=505).contains(&after_ms), "seed {seed}: {after_ms} ms");
    }
}

/// A voter that has fetched from the leader grants no pre-vote during its own pause. So with seven voters the first two
/// successors find no majority yet: together with the resigned leader they are three. The third finds one, and its
/// place in the list tells when: after 1 s halved four times, or three times, twice or once if others before it are
/// dead.
#[test]
fn of_seven_the_third_that_lives_leads_and_sooner_than_those_behind_it() {
    for seed in 0..20 {
        for (down, pause_ms) in [(0, 62), (1, 125), (2, 250), (3, 500)] {
            let (successors, leader, after_ms) = succession(7, down, seed);
            assert_eq!(leader, successors[down + 2], "seed {seed}, {down} down");
            assert!((pause_ms..=pause_ms + 5).contains(&after_ms), "seed {seed}, {down} down: {after_ms} ms");
        }
    }
}
