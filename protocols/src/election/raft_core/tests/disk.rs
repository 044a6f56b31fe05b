//! The disk's content, and what must be on it before a message is sent.

use super::*;
use proptest::prelude::*;

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
