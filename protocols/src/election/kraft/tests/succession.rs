//! Who leads after a leader resigns: the list of successors, and each one's place in it.

use super::*;
use crate::bench::Bench;

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
