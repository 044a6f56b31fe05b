//! Servers one by one: votes, pre-votes, following; what must be on disk before a message is sent; the leader's belief,
//! its replication, and handover.

use super::*;
use crate::bug::Bugs;
use proptest::prelude::*;

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

// The disk's content, and what must be on it before a message is sent.

#[test]
fn a_vote_waits_until_it_is_on_disk_and_so_does_what_comes_after_it() {
    let mut server = Server::start(PAPER, None);
    let ask = |from: u16| {
        let ask = Message::RequestVote { term: 1, pre_vote: false, transfer: false, last_index: 0, last_term: 0 };
        Input::Peer { from: NodeId(from), message: ask }
    };
    assert!(said_to(&server.step_only(ask(1)), 1).is_empty());
    assert!(said_to(&server.step_only(ask(2)), 2).is_empty(), "inputs lie until the disk is done");
    server.disk = server.writing.take();
    let out = server.step_only(Input::Persisted);
    let vote = |granted| Message::Vote { term: 1, pre_vote: false, granted };
    assert_eq!((said_to(&out, 1), said_to(&out, 2)), (vec![vote(true)], vec![vote(false)]));
    assert_eq!(server.disk, Some(state(1, Some(1), &[]).encode()));
}

#[test]
fn a_belief_ends_by_the_clock_whatever_the_disk_does() {
    let mut server = Server::start(Rules::USUAL, None);
    server.win();
    let out = server.acknowledged(1, server.now);
    let until = elected(&out).expect("a majority has acknowledged it").valid_until;
    // A vote for a higher term, and the disk hangs.
    let ask = Message::RequestVote { term: 9, pre_vote: false, transfer: true, last_index: 9, last_term: 8 };
    let out = server.step_only(Input::Peer { from: NodeId(2), message: ask });
    assert_eq!(deposed(&out), Some(Deposed::Lost), "at once, not when the vote is on disk");
    assert!(server.writing.is_some() && server.now < until);
    let mut other = Server::start(Rules::USUAL, None);
    other.win();
    let until = elected(&other.acknowledged(1, other.now)).unwrap().valid_until;
    other.core.writing = true;
    other.now = until;
    assert_eq!(deposed(&other.step_only(Input::Timer(DUE))), Some(Deposed::Expired));
}

#[test]
fn who_cannot_read_its_disk_takes_no_part() {
    let falling = state(3, None, &[2, 1]).encode();
    let ahead = state(1, None, &[2]).encode();
    for bytes in [vec![1, 2, 3], falling, ahead] {
        let mut core = RaftCore::new(setup(0, 3, Rules::USUAL, Some(bytes)));
        let mut out = Vec::new();
        core.step(Now { mono: SECOND, wall: 0 }, Input::Start, &mut out);
        assert_eq!(out, []);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(term: Term, voted: Option<u8>, mut log: Vec<Term>) {
        log.retain(|entry| *entry <= term);
        log.sort_unstable();
        let state = state(term, voted.map(u16::from), &log);
        prop_assert_eq!(Durable::decode(&state.encode()), Some(state));
    }

    #[test]
    fn nothing_panics(bytes: Vec<u8>) {
        let _ = Durable::decode(&bytes);
    }
}

#[test]
fn only_what_disagrees_is_cut_off() {
    let mut log = state(9, None, &[1, 3, 4]);
    assert!(!log.append(0, &[1, 3]), "an old message takes nothing away");
    assert_eq!(log.log.after(0), [1, 3, 4]);
    assert!(log.append(1, &[5]));
    assert_eq!(log.log.after(0), [1, 5]);
    assert!(!log.append(2, &[7, 8]));
    assert_eq!(log.log.after(0), [1, 5, 7, 8]);
}

// The leader's belief, its replication, and handover.

const LEASE: u64 = 135 * MILLISECOND;

#[test]
fn the_lease_counts_from_the_sending_of_what_a_majority_acknowledged() {
    let mut server = Server::start(Rules::USUAL, None);
    assert_eq!(elected(&server.win()), None, "votes are no lease");
    let won = server.now;
    server.pass(30 * MILLISECOND);
    let out = server.acknowledged(1, won);
    assert_eq!(elected(&out), Some(Leadership { token: 1, valid_until: won + LEASE }));
    server.pass(20 * MILLISECOND);
    let out = server.acknowledged(2, won + 10 * MILLISECOND);
    let renewed = Leadership { token: 1, valid_until: won + 10 * MILLISECOND + LEASE };
    assert!(out.contains(&Output::Renewed(renewed)), "{out:?}");
    server.pass(10 * MILLISECOND + LEASE - 50 * MILLISECOND - 1);
    assert!(server.core.belief.is_some());
    assert_eq!(deposed(&server.pass(1)), Some(Deposed::Expired));
    assert!(matches!(server.core.role, Role::Follower), "and it leads no more");
}

#[test]
fn an_acknowledgement_that_comes_after_its_lease_is_worth_nothing() {
    let mut server = Server::start(Rules { check_quorum: false, ..Rules::USUAL }, None);
    server.win();
    let won = server.now;
    server.pass(LEASE);
    assert_eq!(elected(&server.acknowledged(1, won)), None);
    assert!(elected(&server.acknowledged(1, won + 100 * MILLISECOND)).is_some());
}

#[test]
fn a_belief_that_was_over_does_not_come_back_in_its_term() {
    let rules = Rules { check_quorum: false, ..Rules::USUAL };
    let mut server = Server::start(rules, None);
    server.win();
    let won = server.now;
    server.acknowledged(1, won);
    server.acknowledged(2, won);
    assert_eq!(deposed(&server.pass(LEASE)), Some(Deposed::Expired));
    assert!(matches!(server.core.role, Role::Leader(_)), "nothing makes it step down");
    let out = server.acknowledged(1, server.now - MILLISECOND);
    assert_eq!(elected(&out), None);
    let handed: Vec<_> = (1..3).flat_map(|to| said_to(&out, to)).collect();
    assert_eq!(handed, [Message::TimeoutNow { term: 1 }], "another term is needed");
}

#[test]
fn without_the_lease_votes_are_enough_and_check_quorum_ends_it() {
    let without = Rules { leader_lease: false, ..Rules::USUAL };
    let mut server = Server::start(without, None);
    let leadership = elected(&server.win()).expect("a majority has voted");
    assert_eq!(leadership.valid_until, server.now + 150 * MILLISECOND);
    assert_eq!(deposed(&server.pass(150 * MILLISECOND)), Some(Deposed::Expired));
    let mut paper = Server::start(PAPER, None);
    assert_eq!(elected(&paper.win()).map(|l| l.valid_until), Some(u64::MAX));
    assert_eq!(deposed(&paper.pass(60 * SECOND)), None, "it does not notice");
    let out = paper.hear(2, Message::Appended { term: 9, success: false, index: 0, sent: 0 });
    assert_eq!((deposed(&out), paper.core.state.term), (Some(Deposed::Lost), 9));
}

#[test]
fn a_log_that_differs_is_found_out_entry_by_entry_and_mended() {
    let mut leader = Server::start(PAPER, Some(state(5, None, &[1, 4, 5])));
    leader.win();
    let mut follower = Server::start(PAPER, Some(state(3, None, &[1, 2, 3])));
    let mut to_leader = Vec::new();
    let mut to_follower = said_to(&leader.pass(50 * MILLISECOND), 2);
    for _ in 0..9 {
        to_leader.extend(to_follower.drain(..).flat_map(|m| said_to(&follower.hear(1, m), 1)).collect::<Vec<_>>());
        to_follower.extend(to_leader.drain(..).flat_map(|m| said_to(&leader.hear(2, m), 2)).collect::<Vec<_>>());
    }
    assert_eq!(follower.core.state.log.after(0), [1, 4, 5, 6]);
    assert_eq!(leader.core.commit, 4);
    let Role::Leader(leading) = &leader.core.role else { panic!("it leads") };
    assert_eq!(leading.matched[2], 4);
}

#[test]
fn nothing_of_an_older_term_is_committed_by_itself() {
    let mut leader = Server::start(PAPER, Some(state(5, None, &[1, 5])));
    leader.win();
    let behind = Message::Appended { term: 6, success: true, index: 2, sent: leader.now };
    leader.hear(1, behind);
    assert_eq!(leader.core.commit, 0);
    leader.acknowledged(1, leader.now);
    assert_eq!(leader.core.commit, 3);
}

#[test]
fn it_hands_over_to_whom_it_is_told_once_that_has_the_whole_log() {
    let mut server = Server::start(Rules::USUAL, None);
    server.win();
    server.acknowledged(1, server.now);
    let out = server.step(Input::Transfer(NodeId(2)));
    assert_eq!(deposed(&out), Some(Deposed::Resigned));
    assert!(said_to(&out, 2).is_empty(), "its log is not known to be whole");
    let out = server.acknowledged(2, server.now);
    assert_eq!(said_to(&out, 2), [Message::TimeoutNow { term: 1 }]);
    assert!(matches!(server.core.role, Role::Follower));
}

#[test]
fn a_successor_that_never_has_the_log_is_given_up() {
    let mut server = Server::start(Rules { check_quorum: false, ..Rules::USUAL }, None);
    server.win();
    server.acknowledged(1, server.now);
    server.step(Input::Transfer(NodeId(2)));
    let out = server.pass(150 * MILLISECOND);
    assert!(said_to(&out, 2).iter().all(|m| !matches!(m, Message::TimeoutNow { .. })));
    assert!(matches!(server.core.role, Role::Follower));
}

#[test]
fn it_appends_entries_and_none_while_it_hands_over() {
    for (bugs, appends) in [(Bugs::default(), false), (Bugs::new([&WRITES_DURING_TRANSFER]), true)] {
        let mut server = Server::start(Rules::USUAL, None);
        server.core.setup.timings.own.entry_interval = Some(2 * MILLISECOND);
        server.core.setup.bugs = bugs;
        server.win();
        server.acknowledged(1, server.now);
        let out = server.pass(10 * MILLISECOND);
        let whole = server.core.state.last_index();
        assert!((5..=7).contains(&whole) && server.core.state.last_term() == 1, "{whole} entries");
        assert!(
            said_to(&out, 2).iter().any(|m| matches!(m, Message::AppendEntries { entries, .. } if entries.len() > 1))
        );
        server.step(Input::Transfer(NodeId(2)));
        server.pass(10 * MILLISECOND);
        assert_eq!(server.core.state.last_index() > whole, appends);
        // According to what it acknowledges, the successor has everything, unless the leader has appended more.
        let behind = Message::Appended { term: 1, success: true, index: whole, sent: server.now };
        let told = said_to(&server.hear(2, behind), 2);
        assert_eq!(told.contains(&Message::TimeoutNow { term: 1 }), !appends);
    }
}

#[test]
fn a_server_alone_leads_for_ever() {
    let core = RaftCore::new(setup(0, 1, Rules::USUAL, None));
    let mut server = Server { core, now: SECOND, disk: None, writing: None, timer: None };
    let out = server.step(Input::Start);
    assert_eq!(elected(&out).map(|l| l.valid_until), Some(u64::MAX));
}
