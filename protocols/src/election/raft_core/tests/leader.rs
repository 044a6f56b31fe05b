//! The leader's belief, its replication, and handover.

use super::*;
use crate::bug::Bugs;

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
