//! A retried read starts a new round (etcd-io/etcd issue 20418, fixed by pull request 21399).
//!
//! etcd named the heartbeat rounds that confirm reads after the read, and retried under the same name. A delayed answer
//! to the first attempt then also confirms the retry, and every read requested in between; in that issue, after the
//! leader was replaced while its process was stopped. Here every attempt is a separate round, whatever its name.

use crate::service::cluster::{
    ETCD, Rules,
    core::{Core, Stored},
    message::Message,
};
use protocols::types::{MILLISECOND, SECOND};

/// The leader that stops, the follower that asks, and the member elected next.
const MEMBERS: usize = 3;
const OLD: usize = 0;
const ASKS: usize = 1;
const NEW: usize = 2;
/// The follower's name for its read, and the leader's for its own.
const RETRIED: u64 = 7;
const OWN: u64 = 8;

/// Messages in flight: source, destination.
type Sent = Vec<(usize, usize, Message)>;
/// Released reads: member, name, and index.
type Reads = Vec<(usize, u64, u64)>;

fn cores(rules: Rules) -> Vec<Core> {
    let disk = || Stored { hard: Core::founded(OLD).hard, ..Stored::default() };
    let mut cores: Vec<Core> = (0..MEMBERS).map(|own| Core::new(own, MEMBERS, rules, own as u64, disk())).collect();
    cores.iter_mut().for_each(|core| core.found(0, OLD));
    cores
}

/// Processes the outputs of these members until none is left; returns the messages to other members, and the released
/// reads.
fn settle(cores: &mut [Core], among: &[usize]) -> (Sent, Reads) {
    let (mut held, mut reads) = (Vec::new(), Vec::new());
    loop {
        let mut heard = Vec::new();
        for own in among.iter().copied() {
            while let Some(ready) = cores[own].ready() {
                cores[own].saved(ready.saved);
                heard.extend(ready.messages.into_iter().map(|(to, message)| (own, to, message)));
                reads.extend(ready.reads.into_iter().map(|(read, index)| (own, read, index)));
            }
        }
        if heard.is_empty() {
            return (held, reads);
        }
        for (from, to, message) in heard {
            match among.contains(&to) {
                true => cores[to].hear(from, message),
                false => held.push((from, to, message)),
            }
        }
    }
}

/// The reads that the old leader releases when it wakes, and the commit index by then.
fn wakes_up(rules: Rules) -> (Reads, u64) {
    let mut cores = cores(rules);
    let _ = settle(&mut cores, &[OLD, ASKS, NEW]);
    // The first attempt reaches the leader, which asks all members. Their answers take long.
    cores[OLD].hear(ASKS, Message::AskRead(RETRIED));
    let (asked, _) = settle(&mut cores, &[OLD]);
    asked.into_iter().for_each(|(from, to, message)| cores[to].hear(from, message));
    let (late, _) = settle(&mut cores, &[ASKS, NEW]);
    let answer_of = |member| late.iter().find(|(from, ..)| *from == member).map(|(.., answer)| answer.clone());
    let (of_asks, of_new) = (answer_of(ASKS).expect("it has answered"), answer_of(NEW).expect("it has answered"));
    // The leader's process stops; another member is elected and commits.
    for ms in (0..20_000).step_by(100) {
        cores[ASKS].tick(SECOND + ms * MILLISECOND / 10);
        cores[NEW].tick(SECOND + ms * MILLISECOND);
        let _ = settle(&mut cores, &[ASKS, NEW]);
    }
    assert_eq!(cores[ASKS].leader(), Some(NEW));
    assert!(cores[NEW].propose([1].as_slice().into()));
    let _ = settle(&mut cores, &[ASKS, NEW]);
    let committed = cores[NEW].hard.commit;
    // It wakes: its own client asks; then arrive the messages of one member, and then those of the other.
    cores[OLD].read(OWN);
    cores[OLD].hear(ASKS, of_asks);
    cores[OLD].hear(ASKS, Message::AskRead(RETRIED));
    cores[OLD].hear(NEW, of_new);
    let (_, reads) = settle(&mut cores, &[OLD]);
    (reads, committed)
}

/// Whether the old leader's own read is older than what was committed before it.
fn is_stale((reads, committed): (Reads, u64)) -> bool {
    reads.iter().any(|(member, read, index)| (*member, *read) == (OLD, OWN) && *index < committed)
}

#[test]
fn a_late_answer_confirms_no_later_attempt() {
    assert!(!is_stale(wakes_up(ETCD)));
}

/// The bug: `docs/bugs.md`, E9.
#[test]
fn a_retry_that_keeps_its_round_lets_a_stale_read_go_on() {
    assert!(is_stale(wakes_up(Rules { retry_keeps_round: true, ..ETCD })));
}
