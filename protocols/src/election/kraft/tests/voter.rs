//! Votes, pre-votes, following.

use super::*;

const OK: Result<Answer, Refusal> = Ok(Answer::Vote { granted: true });

#[test]
fn a_vote_goes_to_the_first_that_asks_and_to_nobody_else_in_that_epoch() {
    let (mut voter, _) = Voter::start(None);
    assert!(granted(voter.asked(1, 1, vote(false, 0, 0))));
    assert!(!granted(voter.asked(2, 1, vote(false, 0, 0))));
    assert!(granted(voter.asked(1, 1, vote(false, 0, 0))), "the same again");
    assert!(granted(voter.asked(2, 2, vote(false, 0, 0))), "another epoch");
}

#[test]
fn a_majority_is_more_than_half_of_an_even_number_too() {
    for (voters, needed) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)] {
        let mut ballot = role::Ballot::new(voters, NodeId(0));
        let granted = (1..voters as u16).find(|other| {
            let enough = ballot.is_granted();
            ballot.record(NodeId(*other), true);
            enough
        });
        let votes = granted.map_or(voters, usize::from);
        assert_eq!(votes, needed, "of {voters}");
    }
}

#[test]
fn a_vote_outlasts_the_process() {
    let (mut voter, _) = Voter::start(None);
    assert!(granted(voter.asked(1, 1, vote(false, 0, 0))));
    let stored = Durable::decode(&voter.disk.unwrap());
    let (mut voter, _) = Voter::start(stored);
    assert!(!granted(voter.asked(2, 1, vote(false, 0, 0))));
    assert!(granted(voter.asked(1, 1, vote(false, 0, 0))));
}

#[test]
fn only_a_log_as_good_as_its_own_gets_a_vote() {
    let cases = [((2, 2), true), ((2, 3), true), ((3, 1), true), ((2, 1), false), ((1, 9), false), ((0, 0), false)];
    for ((last_epoch, end), expected) in cases {
        for pre_vote in [true, false] {
            let (mut voter, _) = Voter::start(Some(state(4, None, None, &[1, 2])));
            let response = voter.asked(1, 5, vote(pre_vote, last_epoch, end));
            assert_eq!(granted(response), expected, "log ({last_epoch}, {end}), pre-vote {pre_vote}");
        }
    }
}

#[test]
fn a_record_of_the_epoch_that_it_stands_for_is_nonsense() {
    let (mut voter, _) = Voter::start(None);
    assert_eq!(voter.asked(1, 3, vote(false, 3, 1)), None);
    assert_eq!(voter.asked(1, 3, vote(true, 4, 1)), None);
    assert!(granted(voter.asked(1, 3, vote(true, 3, 1))));
}

#[test]
fn a_pre_vote_binds_nobody() {
    let (mut voter, _) = Voter::start(None);
    assert!(granted(voter.asked(1, 0, vote(true, 0, 0))));
    assert!(granted(voter.asked(2, 0, vote(true, 0, 0))));
    assert_eq!(voter.core.state, Durable::default());
    assert!(voter.disk.is_none(), "nothing was written for it");
}

#[test]
fn a_follower_that_has_fetched_grants_no_pre_vote_until_it_loses_its_leader() {
    let (mut voter, said) = Voter::start(Some(state(1, None, Some(1), &[])));
    assert!(granted(voter.asked(2, 1, vote(true, 0, 0))), "it has not fetched yet");
    let answer = Answer::Fetch { found: Found::Record(1), high_watermark: None };
    voter.answered(&said, 1, 1, Some(1), Ok(answer));
    assert_eq!(voter.core.state.log, [1]);
    assert!(!granted(voter.asked(2, 1, vote(true, 1, 1))));
    voter.pass(2 * SECOND - MILLISECOND);
    assert!(!granted(voter.asked(2, 1, vote(true, 1, 1))), "the fetch timeout is 2 s");
    voter.pass(2 * MILLISECOND);
    assert!(granted(voter.asked(2, 1, vote(true, 1, 1))));
    assert!(!granted(voter.asked(2, 1, vote(true, 0, 0))), "a worse log");
}

#[test]
fn without_pre_votes_of_a_majority_the_epoch_stays() {
    let (mut voter, _) = Voter::start(None);
    let said = voter.pass(2 * SECOND);
    assert!(matches!(voter.core.role, Role::Prospective(_)));
    let said_more = voter.answered(&said, 1, 0, None, Ok(Answer::Vote { granted: false }));
    assert!(matches!(voter.core.role, Role::Prospective(_)), "one may still grant");
    voter.answered(&said, 2, 0, None, Ok(Answer::Vote { granted: false }));
    assert!(matches!(voter.core.role, Role::Unattached));
    voter.pass(10 * SECOND);
    assert_eq!(voter.core.state.epoch, 0, "{said_more:?}");
    let campaigns = said.iter().filter(|o| matches!(o, Output::Campaign)).count();
    assert_eq!(campaigns, 1, "one vacancy");
}

#[test]
fn a_candidate_that_has_lost_waits_for_its_timeout_and_asks_for_pre_votes_again() {
    let (mut voter, _) = Voter::start(None);
    let said = voter.pass(2 * SECOND);
    let said = voter.answered(&said, 1, 0, None, OK);
    let refused = Ok(Answer::Vote { granted: false });
    voter.answered(&said, 1, 1, None, refused);
    voter.answered(&said, 2, 1, None, refused);
    assert!(matches!(voter.core.role, Role::Candidate(_)));
    let said = voter.pass(2 * SECOND);
    let again = said_to(&said, 1);
    assert!(
        again.iter().any(|m| matches!(m, Message::Request { epoch: 1, ask: Ask::Vote { pre_vote: true, .. }, .. }))
    );
    assert!(granted(voter.asked(2, 1, vote(true, 0, 0))));
    assert!(!granted(voter.asked(2, 1, vote(false, 0, 0))), "it has voted for itself");
}

#[test]
fn requests_of_past_epochs_are_refused_with_what_is_known() {
    let (mut voter, _) = Voter::start(Some(state(5, None, Some(2), &[1, 5])));
    let asks = [
        (vote(false, 1, 1), Refusal::FencedEpoch),
        (vote(true, 1, 1), Refusal::FencedEpoch),
        (Ask::BeginQuorumEpoch, Refusal::FencedEpoch),
        (Ask::EndQuorumEpoch { successors: vec![NodeId(0), NodeId(2)] }, Refusal::FencedEpoch),
        (state(4, None, None, &[1]).fetch(None), Refusal::FencedEpoch),
    ];
    let refused =
        |refusal| Message::Response { correlation: 77, epoch: 5, leader: Some(NodeId(2)), result: Err(refusal) };
    for (ask, refusal) in asks {
        assert_eq!(voter.asked(1, 4, ask), Some(refused(refusal)));
    }
    let fetch = state(5, None, None, &[1]).fetch(None);
    assert_eq!(voter.asked(1, 5, fetch.clone()), Some(refused(Refusal::NotLeader)));
    assert_eq!(voter.asked(1, 6, fetch), Some(refused(Refusal::UnknownEpoch)));
    assert_eq!(voter.core.state.epoch, 5);
}

#[test]
fn a_refusal_tells_where_the_leader_is() {
    let (mut voter, said) = Voter::start(Some(state(1, None, Some(1), &[1])));
    let said = voter.answered(&said, 1, 3, Some(2), Err(Refusal::FencedEpoch));
    assert_eq!(voter.core.state, state(3, None, Some(2), &[1]));
    assert!(said.iter().any(|o| matches!(o, Output::Observed(Some(NodeId(2))))));
    let fetch = said_to(&said, 2);
    assert!(matches!(fetch[..], [Message::Request { epoch: 3, ask: Ask::Fetch { offset: 1, .. }, .. }]));
}

#[test]
fn what_is_not_the_leaders_is_cut_off() {
    let (mut voter, said) = Voter::start(Some(state(5, None, Some(1), &[1, 2, 4])));
    let found = Found::Diverging { epoch: 3, end_offset: 3 };
    let said = voter.answered(&said, 1, 5, Some(1), Ok(Answer::Fetch { found, high_watermark: None }));
    assert_eq!(voter.core.state.log, [1, 2]);
    let fetch = said_to(&said, 1);
    let expected = Ask::Fetch { offset: 2, last_fetched_epoch: 2, high_watermark: None };
    assert!(matches!(&fetch[..], [Message::Request { ask, .. }] if *ask == expected));
}

#[test]
fn what_is_committed_is_not_cut_off() {
    let (mut voter, said) = Voter::start(Some(state(5, None, Some(1), &[1, 2])));
    let answer = |found, high_watermark| Ok(Answer::Fetch { found, high_watermark });
    let said = voter.answered(&said, 1, 5, Some(1), answer(Found::Nothing, Some(2)));
    voter.answered(&said, 1, 5, Some(1), answer(Found::Diverging { epoch: 1, end_offset: 1 }, Some(2)));
    assert_eq!(voter.core.state.log, [1, 2]);
}

#[test]
fn a_lost_fetch_is_sent_again_and_two_answers_count_once() {
    let (mut voter, said) = Voter::start(Some(state(1, None, Some(1), &[])));
    let again = voter.pass(700 * MILLISECOND);
    assert_eq!(said_to(&again, 1), said_to(&said, 1));
    let answer = Ok(Answer::Fetch { found: Found::Record(1), high_watermark: None });
    voter.answered(&said, 1, 1, Some(1), answer);
    let more = voter.answered(&again, 1, 1, Some(1), answer);
    assert_eq!(voter.core.state.log, [1]);
    assert!(said_to(&more, 1).is_empty());
}

#[test]
fn a_voter_without_a_leader_asks_around_but_not_as_fast_as_it_can() {
    let (mut voter, said) = Voter::start(None);
    let asked = if said_to(&said, 1).is_empty() { 2 } else { 1 };
    let said = voter.answered(&said, asked, 0, None, Err(Refusal::NotLeader));
    assert!(said_to(&said, 1).is_empty() && said_to(&said, 2).is_empty());
    let said = voter.pass(20 * MILLISECOND);
    assert_eq!(said_to(&said, 1).len() + said_to(&said, 2).len(), 1);
}

#[test]
fn the_successors_elect_one_after_the_other() {
    // Node 0 at `position` in a list of `count`, or behind it.
    let times = |position: u16, count: u16| {
        let (mut voter, _) = Voter::start(Some(state(1, None, Some(1), &[])));
        let mut successors: Vec<_> = (2..2 + count).map(NodeId).collect();
        if let Some(place) = successors.get_mut(usize::from(position)) {
            *place = NodeId(0);
        }
        voter.asked(1, 1, Ask::EndQuorumEpoch { successors });
        (voter.core.role_until - voter.now) / MILLISECOND
    };
    assert_eq!([0, 1, 2].map(|position| times(position, 2)), [0, 500, 1000]);
    assert_eq!([0, 1, 2, 3, 4].map(|position| times(position, 4)), [0, 125, 250, 500, 1000]);
    assert_eq!([times(0, 0), times(300, 400), times(40_000, 40_000)], [0, 0, 1000]);
}
