//! Votes, pre-votes, following.

use super::*;

#[test]
fn a_vote_goes_to_the_first_that_asks_and_to_nobody_else_in_that_term() {
    let mut server = Server::start(PAPER, None);
    assert!(server.asked_for(1, 1, (0, 0), false));
    assert!(!server.asked_for(2, 1, (0, 0), false));
    assert!(server.asked_for(1, 1, (0, 0), false), "the same again");
    assert!(server.asked_for(2, 2, (0, 0), false), "another term");
    let stored = Durable::decode(&server.disk.unwrap());
    let mut again = Server::start(PAPER, stored);
    assert!(!again.asked_for(1, 2, (0, 0), false), "it outlasts the process");
}

#[test]
fn only_a_log_as_good_as_its_own_gets_a_vote() {
    let cases = [((2, 2), true), ((2, 3), true), ((3, 1), true), ((2, 1), false), ((1, 9), false), ((0, 0), false)];
    for (last, expected) in cases {
        for pre_vote in [true, false] {
            let mut server = Server::start(PAPER, Some(state(4, None, &[1, 2])));
            assert_eq!(server.asked_for(1, 5, last, pre_vote), expected, "log {last:?}, pre-vote {pre_vote}");
        }
    }
}

#[test]
fn who_hears_from_a_leader_votes_for_nobody_else_while_check_quorum_is_on() {
    for (check_quorum, pre_vote) in [(true, true), (true, false), (false, true), (false, false)] {
        let rules = Rules { check_quorum, pre_vote, ..Rules::USUAL };
        let mut server = Server::start(rules, None);
        server.heartbeat(1, 1);
        server.pass(149 * MILLISECOND);
        assert!(!server.asked_for(2, 2, (9, 9), true), "nobody helps against a leader that there is");
        assert_eq!(server.asked_for(2, 2, (9, 9), false), !check_quorum);
        assert_eq!(server.core.state.term, if check_quorum { 1 } else { 2 });
        server.pass(MILLISECOND);
        assert!(server.asked_for(2, 3, (9, 9), true) && server.asked_for(2, 3, (9, 9), false));
    }
}

#[test]
fn who_starts_again_keeps_what_it_may_have_promised() {
    let mut first = Server::start(Rules::USUAL, None);
    assert!(first.asked_for(1, 1, (0, 0), false), "a first start has promised nothing");
    let mut again = Server::start(Rules::USUAL, Some(state(1, None, &[1])));
    assert!(!again.asked_for(1, 2, (1, 1), false));
    again.pass(150 * MILLISECOND);
    assert!(again.asked_for(1, 2, (1, 1), false));
    let mut hashicorp = Server::start(Rules { manner: Manner::Hashicorp, ..Rules::USUAL }, Some(state(1, None, &[1])));
    assert!(hashicorp.asked_for(1, 2, (1, 1), false), "hashicorp/raft does not wait");
}

#[test]
fn a_pre_vote_changes_nothing_and_a_lost_one_neither() {
    let mut server = Server::start(Rules::USUAL, None);
    let before = server.core.state.clone();
    assert!(server.asked_for(1, 7, (0, 0), true) && server.asked_for(2, 9, (0, 0), true));
    let out = server.pass(5 * SECOND);
    assert_eq!(server.core.state, before, "it has asked again and again");
    let asked = said_to(&out, 1);
    assert!(
        asked.len() > 10 && asked.iter().all(|m| matches!(m, Message::RequestVote { term: 1, pre_vote: true, .. }))
    );
    let mut without = Server::start(PAPER, None);
    without.pass(5 * SECOND);
    assert!(without.core.state.term > 10, "every attempt is a term: {}", without.core.state.term);
}

#[test]
fn election_timeouts_are_drawn_from_the_whole_range_and_every_heartbeat_draws_again() {
    let mut server = Server::start(Rules::USUAL, None);
    let mut seen = Vec::new();
    for _ in 0..2_000 {
        server.heartbeat(1, 1);
        seen.push((server.core.role_until - server.now) as f64 / 1e6);
        server.pass(MILLISECOND);
    }
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let (least, most) = (seen.iter().copied().fold(f64::MAX, f64::min), seen.iter().copied().fold(0.0, f64::max));
    assert!((150.0..151.0).contains(&least) && (299.0..300.0).contains(&most), "{least} to {most}");
    assert!((222.0..228.0).contains(&mean), "{mean}");
}

#[test]
fn timeout_now_is_an_election_without_asking_first_that_others_may_not_refuse() {
    let mut server = Server::start(Rules::USUAL, None);
    server.heartbeat(1, 1);
    assert!(said_to(&server.hear(1, Message::TimeoutNow { term: 0 }), 2).is_empty(), "of an older term");
    let out = server.hear(1, Message::TimeoutNow { term: 1 });
    let asked = said_to(&out, 2);
    assert!(matches!(asked[..], [Message::RequestVote { term: 2, pre_vote: false, transfer: true, .. }]), "{asked:?}");
    let mut voter = Server::start(Rules::USUAL, None);
    voter.heartbeat(1, 1);
    let out = voter.hear(2, asked[0].clone());
    assert!(matches!(said_to(&out, 2)[..], [Message::Vote { term: 2, granted: true, .. }]));
}

#[test]
fn as_hashicorp_has_it_a_follower_looks_only_when_its_timer_is_over_and_stands_by_its_leader_until_then() {
    let rules = Rules { manner: Manner::Hashicorp, ..Rules::USUAL };
    let mut times = Vec::new();
    for seed in 0..300 {
        let mut of_one = setup(0, 3, rules, None);
        of_one.timings.election_timeout = Some((SECOND, 2 * SECOND));
        of_one.nonce = seed;
        let core = RaftCore::new(of_one);
        let mut server = Server { core, now: SECOND, disk: None, writing: None, timer: None };
        server.step(Input::Start);
        for _ in 0..50 {
            server.heartbeat(1, 1);
            server.pass(100 * MILLISECOND);
        }
        let silent = server.now - 100 * MILLISECOND;
        while matches!(server.core.role, Role::Follower) {
            assert!(!server.asked_for(2, 2, (9, 9), true), "it has a leader, however silent");
            server.pass(10 * MILLISECOND);
        }
        times.push((server.now - silent) as f64 / 1e6);
    }
    times.sort_by(f64::total_cmp);
    assert!(times[0] < 1_100.0 && times[150] > 1_400.0 && times[299] > 2_500.0, "{:?}", &times[290..]);
    assert!(times[299] <= 3_020.0, "{}", times[299]);
}
