//! The election's rules, each with what would happen without it.

use protocols::{
    election::zab_fle::{Election, Notification, Quorum, State, Vote},
    types::NodeId,
};

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
