//! Leading, and the end of it.

use super::*;

/// A leader of three in epoch 1, which believes.
fn leader() -> Voter {
    let (mut voter, _) = Voter::start(None);
    voter.win();
    assert!(elected(&voter.fetched(1)).is_some());
    voter
}

/// The successors in the message to a voter.
fn end_quorum_epoch(said: &[Output], to: u16) -> Option<Vec<NodeId>> {
    said_to(said, to).into_iter().find_map(|message| match message {
        Message::Request { ask: Ask::EndQuorumEpoch { successors }, .. } => Some(successors),
        _ => None,
    })
}

#[test]
fn leadership_begins_when_the_leader_change_is_committed() {
    let (mut voter, _) = Voter::start(None);
    let won = voter.win();
    assert_eq!(elected(&won), None);
    assert_eq!(voter.core.state, state(1, Some(0), Some(0), &[1]));
    for follower in [1, 2] {
        let begin = said_to(&won, follower);
        assert!(matches!(begin[..], [Message::Request { epoch: 1, ask: Ask::BeginQuorumEpoch, .. }]), "{begin:?}");
    }
    // A follower that has nothing yet gets the record.
    let found = voter.asked(1, 1, Ask::Fetch { offset: 0, last_fetched_epoch: 0, high_watermark: None });
    let result = Ok(Answer::Fetch { found: Found::Record(1), high_watermark: None });
    assert_eq!(found, Some(Message::Response { correlation: 77, epoch: 1, leader: Some(NodeId(0)), result }));
    let fetched = voter.fetched(1);
    // 1.5 fetch timeouts after the fetch.
    assert_eq!(elected(&fetched), Some(Leadership { token: 1, valid_until: voter.now + 3 * SECOND }));
    assert!(elected(&voter.fetched(2)).is_none(), "once");
}

#[test]
fn a_record_of_an_earlier_epoch_is_not_committed_by_counting() {
    // Raft's figure 8: a majority has the record of epoch 1, but only a record of the current epoch may commit it.
    let (mut voter, _) = Voter::start(Some(state(4, None, None, &[1])));
    voter.win();
    assert_eq!(voter.core.state.log, [1, 5]);
    let old = Ask::Fetch { offset: 1, last_fetched_epoch: 1, high_watermark: None };
    let answer = voter.asked(1, 5, old);
    let result = Ok(Answer::Fetch { found: Found::Record(5), high_watermark: None });
    assert_eq!(answer, Some(Message::Response { correlation: 77, epoch: 5, leader: Some(NodeId(0)), result }));
    assert!(elected(&voter.fetched(1)).is_some_and(|leadership| leadership.token == 5));
}

#[test]
fn a_follower_whose_log_differs_counts_for_nothing() {
    let (mut voter, _) = Voter::start(Some(state(4, None, None, &[1, 3])));
    voter.win();
    let longer = Ask::Fetch { offset: 3, last_fetched_epoch: 2, high_watermark: None };
    let answer = voter.asked(1, 5, longer);
    let found = Found::Diverging { epoch: 1, end_offset: 1 };
    let result = Ok(Answer::Fetch { found, high_watermark: None });
    assert_eq!(answer, Some(Message::Response { correlation: 77, epoch: 5, leader: Some(NodeId(0)), result }));
    assert!(!voter.core.believes);
}

#[test]
fn a_fetch_waits_for_500_ms_and_its_answer_is_the_heartbeat() {
    let mut voter = leader();
    voter.fetched(1);
    let said = voter.pass(499 * MILLISECOND);
    assert!(!said_to(&said, 1).iter().any(|m| matches!(m, Message::Response { .. })));
    let said = voter.pass(MILLISECOND);
    let answer = Ok(Answer::Fetch { found: Found::Nothing, high_watermark: Some(1) });
    assert!(matches!(said_to(&said, 1)[..], [Message::Response { result, .. }] if result == answer));
    assert!(said.iter().any(|o| matches!(o, Output::Point(Point::BeforeRenew))));
}

#[test]
fn a_fetch_that_is_sent_again_while_it_waits_is_answered_once() {
    let mut voter = leader();
    voter.fetched(1);
    voter.fetched(1);
    let said = voter.pass(SECOND);
    assert_eq!(said_to(&said, 1).iter().filter(|m| matches!(m, Message::Response { .. })).count(), 1);
}

#[test]
fn the_fetches_of_a_majority_renew_and_without_them_it_resigns() {
    let mut voter = leader();
    voter.pass(SECOND);
    let said = voter.fetched(2);
    let until = voter.now + 3 * SECOND;
    assert!(said.iter().any(|o| matches!(o, Output::Renewed(l) if l.token == 1 && l.valid_until == until)));
    assert!(said.iter().any(|o| matches!(o, Output::Point(Point::Renewed))));
    assert_eq!(deposed(&voter.pass(3 * SECOND - 1)), None);
    let said = voter.pass(1);
    assert_eq!(deposed(&said), Some(Deposed::Expired));
    assert!(end_quorum_epoch(&said, 1).is_some() && end_quorum_epoch(&said, 2).is_some());
}

#[test]
fn of_five_one_follower_is_no_majority_however_often_it_fetches() {
    let core = Kraft::new(setup(0, 5, 7, None));
    let mut voter = Voter { core, now: SECOND, disk: None, writing: None, timer: None };
    voter.step(Input::Start);
    let said = voter.pass(2 * SECOND);
    let granted = Ok(Answer::Vote { granted: true });
    voter.answered(&said, 1, 0, None, granted);
    let said = voter.answered(&said, 2, 0, None, granted);
    voter.answered(&said, 1, 1, None, granted);
    voter.answered(&said, 2, 1, None, granted);
    voter.fetched(1);
    assert!(elected(&voter.fetched(2)).is_some());
    for _ in 0..5 {
        voter.pass(500 * MILLISECOND);
        assert!(!voter.fetched(1).iter().any(|o| matches!(o, Output::Renewed(_))));
    }
    assert_eq!(deposed(&voter.pass(500 * MILLISECOND)), Some(Deposed::Expired));
}

#[test]
fn a_fetch_that_diverges_does_not_keep_the_leader() {
    let mut voter = leader();
    let other = Ask::Fetch { offset: 4, last_fetched_epoch: 0, high_watermark: None };
    let mut said = Vec::new();
    for _ in 0..6 {
        said.extend(voter.pass(500 * MILLISECOND));
        voter.asked(1, 1, other.clone());
    }
    assert_eq!(deposed(&said), Some(Deposed::Expired));
}

#[test]
fn a_higher_epoch_ends_the_belief_at_once_even_while_the_disk_is_slow() {
    let mut voter = leader();
    let ask = vote(false, 1, 1);
    let message = Message::Request { correlation: 9, epoch: 2, ask };
    let out = voter.step_only(Input::Peer { from: NodeId(1), message });
    assert_eq!(deposed(&out), Some(Deposed::Lost));
    assert!(said_to(&out, 1).is_empty(), "the vote is not on disk yet");
    let out = voter.step_only(Input::Persisted);
    let result = Ok(Answer::Vote { granted: true });
    let vote = Message::Response { correlation: 9, epoch: 2, leader: None, result };
    assert!(said_to(&out, 1).contains(&vote), "{out:?}");
}

#[test]
fn who_resigns_tells_the_others_and_lets_them_go_first() {
    let mut voter = leader();
    // Node 2 has the longer log of the two.
    voter.fetched(2);
    voter.asked(1, 1, Ask::Fetch { offset: 0, last_fetched_epoch: 0, high_watermark: None });
    let said = voter.step(Input::Resign);
    let places = said.iter().filter_map(|output| match output {
        Output::Point(Point::BeforeRelease) => Some("point"),
        Output::Deposed(Deposed::Resigned) => Some("deposed"),
        _ => None,
    });
    assert_eq!(places.collect::<Vec<_>>(), ["point", "deposed"]);
    // Both get the full list.
    let successors = Some(vec![NodeId(2), NodeId(1)]);
    assert_eq!((end_quorum_epoch(&said, 2), end_quorum_epoch(&said, 1)), (successors.clone(), successors));
    // The parked fetch is refused.
    let refused = |m: &Message| matches!(m, Message::Response { result: Err(Refusal::NotLeader), .. });
    assert!(said_to(&said, 2).iter().any(refused));
    assert!(granted(voter.asked(2, 1, vote(true, 1, 1))), "a pre-vote");
    assert!(!granted(voter.asked(2, 1, vote(false, 0, 1))), "no vote in the epoch that it led");
    let again = voter.pass(200 * MILLISECOND);
    assert!(end_quorum_epoch(&again, 1).is_some() && end_quorum_epoch(&again, 2).is_some());
    voter.answered(&said, 1, 1, Some(0), Ok(Answer::EndQuorumEpoch));
    let again = voter.pass(200 * MILLISECOND);
    assert!(end_quorum_epoch(&again, 1).is_none() && end_quorum_epoch(&again, 2).is_some());
    // If no other candidate stands, it does, in an epoch without a leader.
    voter.pass(2 * SECOND);
    assert!(matches!(voter.core.role, Role::Prospective(_)));
    assert_eq!(voter.core.state, state(2, None, None, &[1]));
}

#[test]
fn a_refused_token_ends_the_belief() {
    let mut voter = leader();
    assert_eq!(deposed(&voter.step(Input::Fenced)), Some(Deposed::Fenced));
    assert_eq!(deposed(&voter.step(Input::Fenced)), None);
    assert_eq!(deposed(&voter.step(Input::Resign)), None);
}

#[test]
fn a_leader_that_is_started_again_has_resigned() {
    let voter = leader();
    let stored = Durable::decode(&voter.disk.unwrap());
    let (mut voter, said) = Voter::start(stored);
    assert_eq!((end_quorum_epoch(&said, 1), end_quorum_epoch(&said, 2)), (Some(vec![]), Some(vec![])));
    assert!(!granted(voter.asked(1, 1, vote(false, 0, 1))));
    let fetch = state(1, None, None, &[1]).fetch(None);
    let refused =
        Message::Response { correlation: 77, epoch: 1, leader: Some(NodeId(0)), result: Err(Refusal::NotLeader) };
    assert_eq!(voter.asked(1, 1, fetch), Some(refused));
}

#[test]
fn a_candidate_that_is_started_again_goes_on_and_leads() {
    let (mut voter, said) = Voter::start(Some(state(3, Some(0), None, &[])));
    assert!(said.iter().any(|o| matches!(o, Output::Campaign)));
    voter.answered(&said, 2, 3, None, Ok(Answer::Vote { granted: true }));
    assert!(elected(&voter.fetched(2)).is_some_and(|leadership| leadership.token == 3));
}

#[test]
fn who_is_alone_leads_at_once_in_a_new_epoch_each_time_and_for_ever() {
    let mut disk = None;
    for start in 1..4 {
        let core = Kraft::new(setup(0, 1, start, disk.clone()));
        let mut voter = Voter { core, now: SECOND, disk: None, writing: None, timer: None };
        let out = voter.step(Input::Start);
        assert_eq!(elected(&out), Some(Leadership { token: start, valid_until: u64::MAX }));
        assert_eq!(voter.timer, None, "nothing to wait for");
        disk = voter.disk;
    }
}
