//! A read that is asked for again is a new round (etcd-io/etcd issue 20418, fixed by pull request 21399).
//!
//! etcd named the rounds of heartbeats that confirm reads by the read, and asked again by the same name. Then an answer to the
//! first attempt, which has been on its way for long, confirms the second one as well, and every read that the leader was
//! asked for in between: after it was replaced, in that issue, while its process was stopped. Here every attempt is a round
//! of its own, whatever it is called.

use crate::service::cluster::{
    ETCD, Rules,
    core::{Core, Stored},
    message::Message,
};
use protocols::types::{MILLISECOND, SECOND};

/// The leader that is stopped, the follower that asks, and the one that is elected.
const MEMBERS: usize = 3;
const OLD: usize = 0;
const ASKS: usize = 1;
const NEW: usize = 2;
/// What the follower calls its read, and the leader its own.
const RETRIED: u64 = 7;
const OWN: u64 = 8;

/// What is on its way: from whom, to whom.
type Sent = Vec<(usize, usize, Message)>;
/// Reads that may go on: at whom, what they are called, and from which index on.
type Reads = Vec<(usize, u64, u64)>;

fn cores(rules: Rules) -> Vec<Core> {
    let disk = || Stored { hard: Core::founded(OLD).hard, ..Stored::default() };
    let mut cores: Vec<Core> = (0..MEMBERS).map(|own| Core::new(own, MEMBERS, rules, own as u64, disk())).collect();
    cores.iter_mut().for_each(|core| core.found(0, OLD));
    cores
}

/// Works off what these members have to do and say, until nobody has; what they say to others is given back, and so are the
/// reads that may go on.
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

/// The reads that the old leader lets go on when it wakes up, and what is committed by then.
fn wakes_up(rules: Rules) -> (Reads, u64) {
    let mut cores = cores(rules);
    let _ = settle(&mut cores, &[OLD, ASKS, NEW]);
    // The first attempt reaches the leader, which asks everybody. The answers take their time.
    cores[OLD].hear(ASKS, Message::AskRead(RETRIED));
    let (asked, _) = settle(&mut cores, &[OLD]);
    asked.into_iter().for_each(|(from, to, message)| cores[to].hear(from, message));
    let (late, _) = settle(&mut cores, &[ASKS, NEW]);
    let answer_of = |member| late.iter().find(|(from, ..)| *from == member).map(|(.., answer)| answer.clone());
    let (of_asks, of_new) = (answer_of(ASKS).expect("it has answered"), answer_of(NEW).expect("it has answered"));
    // The leader's process stops; another member is elected, and commits.
    for ms in (0..20_000).step_by(100) {
        cores[ASKS].tick(SECOND + ms * MILLISECOND / 10);
        cores[NEW].tick(SECOND + ms * MILLISECOND);
        let _ = settle(&mut cores, &[ASKS, NEW]);
    }
    assert_eq!(cores[ASKS].leader(), Some(NEW));
    assert!(cores[NEW].propose([1].as_slice().into()));
    let _ = settle(&mut cores, &[ASKS, NEW]);
    let committed = cores[NEW].hard.commit;
    // It wakes up: its own client asks; then comes what one member has sent meanwhile, and then the other's.
    cores[OLD].read(OWN);
    cores[OLD].hear(ASKS, of_asks);
    cores[OLD].hear(ASKS, Message::AskRead(RETRIED));
    cores[OLD].hear(NEW, of_new);
    let (_, reads) = settle(&mut cores, &[OLD]);
    (reads, committed)
}

/// Is what the old leader's own client reads older than what was committed before it asked?
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
