//! `zab-fle`: the rules of the election and the handshake one by one, and whole fleets under arbitrary schedules.

mod fleet;
mod handshake;

use fleet::{Fleet, Reign, Trouble};
use proptest::prelude::*;
use protocols::{
    election::zab_fle::{Election, Epochs, Notification, Quorum, State, Vote},
    types::NodeId,
};
use std::collections::BTreeMap;

// The election's rules, each with what would happen without it.

fn vote(epoch: u32, zxid: u64, leader: u16) -> Vote {
    Vote { epoch, zxid, leader: NodeId(leader) }
}

fn says(state: State, vote: Vote, round: u64) -> Notification {
    Notification { state, vote, round }
}

/// Node 0 of so many equals, looking in that round, with nothing to its name.
fn looking(count: usize, round: u64) -> (Quorum, Election) {
    let quorum = Quorum::of_equals(count);
    let election = Election::new(&quorum, NodeId(0), vote(0, 0, 0), round);
    (quorum, election)
}

#[test]
fn the_newest_epoch_goes_before_the_newest_transaction_before_the_highest_id() {
    let worse_to_better =
        [vote(0, 9, 2), vote(1, 0, 1), vote(1, 0, 2), vote(1, 5, 0), vote(1, 5, 1), vote(2, 0, 0), vote(2, 0, 2)];
    for (place, mine) in worse_to_better.iter().enumerate() {
        for (other_place, other) in worse_to_better.iter().enumerate() {
            let quorum = Quorum::of_equals(3);
            let mut election = Election::new(&quorum, NodeId(0), *mine, 1);
            let outcome = election.heard(&quorum, NodeId(1), says(State::Looking, *other, 1));
            assert_eq!(outcome.announce, other_place > place, "{other:?} against {mine:?}");
            assert_eq!(election.proposal, *mine.max(other));
        }
    }
}

#[test]
fn a_quorum_is_believed_after_silence_only() {
    let (quorum, mut election) = looking(3, 1);
    assert!(election.heard(&quorum, NodeId(1), says(State::Looking, vote(0, 0, 1), 1)).announce);
    // A better one comes while better ones are waited for.
    let outcome = election.heard(&quorum, NodeId(2), says(State::Looking, vote(0, 0, 2), 1));
    assert!(outcome.announce && outcome.elected.is_none());
    assert_eq!(election.silence(&quorum).elected, Some(vote(0, 0, 2)));
}

#[test]
fn a_better_vote_of_an_older_round_only_delays() {
    let (quorum, mut election) = looking(3, 4);
    election.heard(&quorum, NodeId(1), says(State::Looking, vote(0, 0, 0), 4));
    // While a better vote is waited for, its round is not looked at: so the reference has it.
    let outcome = election.heard(&quorum, NodeId(2), says(State::Looking, vote(5, 0, 2), 3));
    assert_eq!(outcome, Default::default());
    let outcome = election.silence(&quorum);
    assert!(outcome.announce && outcome.elected.is_none());
    assert_eq!(election.silence(&quorum).elected, Some(vote(0, 0, 0)));
}

#[test]
fn votes_of_an_older_round_do_not_count() {
    let (quorum, mut election) = looking(5, 7);
    for node in 1..5 {
        // They are of a newer epoch, which must not be taken for a newer round.
        let outcome = election.heard(&quorum, NodeId(node), says(State::Looking, vote(9, 9, 4), 6));
        assert_eq!(outcome, Default::default());
    }
    assert_eq!((election.proposal, election.round), (vote(0, 0, 0), 7));
    assert!(election.silence(&quorum).elected.is_none());
}

#[test]
fn a_newer_round_forgets_the_votes_of_the_older() {
    let (quorum, mut election) = looking(5, 1);
    election.heard(&quorum, NodeId(1), says(State::Looking, vote(3, 0, 4), 1));
    assert_eq!(election.proposal, vote(3, 0, 4));
    // Newer round, older epoch: we vote for ourselves again, or for the better of the two.
    assert!(election.heard(&quorum, NodeId(2), says(State::Looking, vote(0, 0, 2), 2)).announce);
    assert_eq!((election.proposal, election.round), (vote(0, 0, 2), 2));
    election.heard(&quorum, NodeId(3), says(State::Looking, vote(3, 0, 4), 2));
    // Nodes 0 and 3 want node 4 in this round. Node 1 did in the last, and they would be three of five.
    assert!(election.silence(&quorum).elected.is_none());
    election.heard(&quorum, NodeId(1), says(State::Looking, vote(3, 0, 4), 2));
    assert_eq!(election.silence(&quorum).elected, Some(vote(3, 0, 4)));
}

#[test]
fn who_weighs_nothing_neither_wins_nor_counts() {
    let quorum = Quorum::weighted(vec![1, 1, 1, 0, 0]);
    let mut election = Election::new(&quorum, NodeId(0), vote(0, 0, 0), 1);
    for node in [3, 4] {
        let outcome = election.heard(&quorum, NodeId(node), says(State::Looking, vote(8, 8, node), 1));
        assert!(!outcome.announce, "nobody wants node {node}");
        election.heard(&quorum, NodeId(node), says(State::Looking, vote(0, 0, 0), 1));
    }
    assert!(election.silence(&quorum).elected.is_none(), "three of five, but one of three that count");
    election.heard(&quorum, NodeId(1), says(State::Looking, vote(0, 0, 0), 1));
    assert_eq!(election.silence(&quorum).elected, Some(vote(0, 0, 0)));

    // It wants itself, but does not elect itself, whoever else without weight agrees; it follows.
    let mut witness = Election::new(&quorum, NodeId(4), vote(8, 8, 4), 1);
    witness.heard(&quorum, NodeId(3), says(State::Looking, vote(8, 8, 4), 1));
    assert!(witness.silence(&quorum).elected.is_none());
    assert!(witness.heard(&quorum, NodeId(0), says(State::Leading, vote(1, 0, 0), 1)).elected.is_none());
    let outcome = witness.heard(&quorum, NodeId(1), says(State::Following, vote(1, 0, 0), 1));
    assert_eq!(outcome.elected, Some(vote(1, 0, 0)));
}

#[test]
fn a_leader_is_followed_only_when_it_says_that_it_leads() {
    for round in [1, 5] {
        let (quorum, mut election) = looking(5, 1);
        // It wants to lead, which is not the same.
        election.heard(&quorum, NodeId(4), says(State::Looking, vote(2, 0, 4), 1));
        // Its followers have not noticed yet that node 4 died.
        for node in [1, 2, 3] {
            let outcome = election.heard(&quorum, NodeId(node), says(State::Following, vote(2, 0, 4), round));
            assert!(outcome.elected.is_none(), "round {round}: nobody heard of node 4 itself");
        }
        let outcome = election.heard(&quorum, NodeId(4), says(State::Leading, vote(2, 0, 4), round));
        assert_eq!(outcome.elected, Some(vote(2, 0, 4)));
        assert_eq!(election.round, round, "it is in its leader's round now");
    }
}

#[test]
fn nobody_becomes_leader_again_by_the_votes_of_another_round() {
    let (quorum, mut election) = looking(3, 1);
    for node in [1, 2] {
        let outcome = election.heard(&quorum, NodeId(node), says(State::Following, vote(2, 0, 0), 4));
        assert!(outcome.elected.is_none(), "they follow our earlier life");
    }
}

#[test]
fn those_who_follow_different_reigns_of_one_leader_are_no_quorum() {
    let (quorum, mut election) = looking(5, 9);
    election.heard(&quorum, NodeId(4), says(State::Leading, vote(3, 0, 4), 2));
    election.heard(&quorum, NodeId(1), says(State::Following, vote(2, 0, 4), 1));
    let outcome = election.heard(&quorum, NodeId(2), says(State::Following, vote(3, 0, 4), 2));
    assert!(outcome.elected.is_none());
    // The round does not matter, nor the transaction.
    let outcome = election.heard(&quorum, NodeId(3), says(State::Following, vote(3, 7, 4), 1));
    assert!(outcome.elected.is_some());
}

#[test]
fn who_followed_in_an_older_round_does_not_follow_in_the_newer() {
    let (quorum, mut election) = looking(5, 1);
    for node in [1, 2] {
        election.heard(&quorum, NodeId(node), says(State::Following, vote(2, 0, 4), 1));
    }
    election.heard(&quorum, NodeId(3), says(State::Looking, vote(0, 0, 3), 2));
    // Elected anew, and nobody has followed yet.
    let outcome = election.heard(&quorum, NodeId(4), says(State::Leading, vote(3, 0, 4), 2));
    assert!(outcome.elected.is_none());
}

#[test]
fn silence_doubles_up_to_a_minute() {
    let (quorum, mut election) = looking(3, 1);
    let mut waited_ms = Vec::new();
    for _ in 0..10 {
        waited_ms.push(election.resend() / 1_000_000);
        assert!(election.silence(&quorum).announce);
    }
    assert_eq!(waited_ms, [200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60000]);
}

// Whole fleets: whatever happens, an epoch has one leader; and when nothing happens any more, everybody follows one.

/// An epoch has one leader, once.
fn epochs_are_given_once(reigns: &[Reign]) -> Result<(), TestCaseError> {
    let mut owners = BTreeMap::new();
    for reign in reigns {
        if let Some(other) = owners.insert(reign.token, reign) {
            return Err(TestCaseError::fail(format!("{other:?} and {reign:?}")));
        }
    }
    Ok(())
}

/// One leads, and everybody follows it who has not accepted a later epoch of a leader that a quorum never followed.
fn everybody_follows_one(fleet: &Fleet) -> Result<(), TestCaseError> {
    let leaders = fleet.leaders();
    prop_assert_eq!(leaders.len(), 1, "{:?} lead, {:?} is observed", leaders, fleet.observed());
    let epoch = fleet.reigns.iter().rfind(|reign| reign.node == leaders[0]).map(|reign| reign.token);
    for node in fleet.bench.nodes().filter(|node| fleet.bench.seat(*node).is_up()) {
        if Some(accepted(fleet, node)) <= epoch {
            prop_assert_eq!(fleet.bench.seat(node).observed(), Some(leaders[0]));
        }
    }
    Ok(())
}

/// The epoch that a node has accepted last, by its disk.
fn accepted(fleet: &Fleet, node: NodeId) -> u64 {
    Epochs::decode(fleet.bench.seat(node).disk()).map_or(0, |epochs| epochs.accepted.into())
}

fn trouble(count: u16) -> impl Strategy<Value = Trouble> {
    let node = 0..count;
    prop_oneof![
        3 => (node.clone(), any::<bool>(), 1..3_000u64)
            .prop_map(|(node, power, for_ms)| Trouble::Down { node, power, for_ms }),
        3 => lasting(count),
        1 => Just(Trouble::Resign),
    ]
}

/// Trouble in which no process forgets for how long it was to wait.
fn lasting(count: u16) -> impl Strategy<Value = Trouble> {
    prop_oneof![
        (0..count, 1..3_000u64).prop_map(|(node, for_ms)| Trouble::Pause { node, for_ms }),
        (0..count, any::<u8>(), 1..4_000u64).prop_map(|(from, to, for_ms)| Trouble::Cut { from, to, for_ms }),
    ]
}

fn schedule<S: Strategy<Value = Trouble>>(of: S) -> impl Strategy<Value = Vec<(u64, Trouble)>> {
    prop::collection::vec((0..15_000u64, of), 0..14)
}

/// Plays a schedule, and then a minute in which nothing happens.
fn play(count: u16, seed: u64, loss: u32, schedule: &[(u64, Trouble)]) -> Fleet {
    let mut fleet = Fleet::new(count, 4_000, seed);
    fleet.set_loss(loss);
    for (after_ms, trouble) in schedule {
        fleet.plan(*after_ms, *trouble);
    }
    fleet.run(19_000);
    fleet.set_loss(0);
    fleet.run(60_000);
    fleet
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_epoch_has_one_leader_and_peace_has_one(
        (count, schedule) in (1..=5u16).prop_flat_map(|n| (Just(n), schedule(trouble(n)))),
        seed in any::<u64>(),
        loss in prop_oneof![Just(0u32), 4..230u32],
    ) {
        let fleet = play(count, seed, loss, &schedule);
        epochs_are_given_once(&fleet.reigns)?;
        everybody_follows_one(&fleet)?;
    }

    #[test]
    fn beliefs_do_not_overlap_while_no_process_is_started_again(
        schedule in schedule(prop_oneof![4 => lasting(5), 1 => Just(Trouble::Resign)]),
        seed in any::<u64>(),
        loss in prop_oneof![Just(0u32), 4..230u32],
    ) {
        let fleet = play(5, seed, loss, &schedule);
        epochs_are_given_once(&fleet.reigns)?;
        for pair in fleet.reigns.windows(2) {
            prop_assert!(pair[0].to <= pair[1].from && pair[0].token < pair[1].token, "{:?}", pair);
        }
        everybody_follows_one(&fleet)?;
    }
}

/// A drawn schedule once came to this: node 4 dies when node 3 alone has accepted its epoch.
#[test]
fn who_has_accepted_a_later_epoch_stays_out_until_the_next_election() {
    let schedule = [
        (6_723, Trouble::Cut { from: 4, to: 0b111, for_ms: 3_579 }),
        (8_949, Trouble::Down { node: 4, power: false, for_ms: 361 }),
        (10_292, Trouble::Down { node: 4, power: true, for_ms: 2_610 }),
        (7_579, Trouble::Down { node: 2, power: false, for_ms: 536 }),
    ];
    let mut fleet = play(5, 1_162_366_296_709_462_802, 0, &schedule);
    let observed =
        |fleet: &Fleet| fleet.observed().into_iter().map(|leader| leader.map(|node| node.0)).collect::<Vec<_>>();
    let epochs: Vec<u64> = fleet.bench.nodes().map(|node| accepted(&fleet, node)).collect();
    assert_eq!(
        (epochs.as_slice(), observed(&fleet)),
        ([2, 2, 2, 3, 3].as_slice(), vec![Some(2), Some(2), Some(2), None, None])
    );
    fleet.plan(0, Trouble::Down { node: 2, power: false, for_ms: 100 });
    fleet.run(60_000);
    assert_eq!(observed(&fleet), [Some(2); 5]);
}

#[test]
fn epochs_rise_when_power_is_lost_at_any_write_and_everybody_starts_again() {
    for (count, last_write) in [(1, 8), (3, 24)] {
        for write in 1..=last_write {
            for done in [false, true] {
                let mut fleet = Fleet::new(count, 100, write);
                fleet.bench.disks.power_fails_at = Some((write, done));
                for life in 0..4 {
                    fleet.run(10_000);
                    for node in 0..count {
                        fleet.plan(0, Trouble::Down { node, power: life % 2 == 0, for_ms: 50 });
                    }
                }
                fleet.run(10_000);
                let tokens: Vec<_> = fleet.reigns.iter().map(|r| r.token).collect();
                assert!(tokens.is_sorted_by(|a, b| a < b), "write {write} of {count} nodes, done {done}: {tokens:?}");
                assert!(tokens.len() >= 5, "write {write} of {count} nodes, done {done}: {tokens:?}");
                assert!(fleet.bench.writes() > write, "the write at which power was to fail never came");
            }
        }
    }
}
