//! Tests of cores without connections and disks.

use super::{
    Core, Stored,
    drill::{Fleet, goes_on},
};
use crate::service::cluster::{CONSUL, ETCD, Rules, ZOOKEEPER, message::Message};
use protocols::types::{MILLISECOND, SECOND};

/// Members agree through stops, crashes, losses and slow disks, and make progress afterwards.
#[test]
fn members_agree_whatever_happens() {
    for (rules, count) in [(ETCD, 3), (ETCD, 5), (CONSUL, 3), (ZOOKEEPER, 3), (ETCD, 2)] {
        let mut elections = 0;
        for seed in 0..20 {
            let fleet = goes_on(rules, count, seed, 6_000);
            elections += fleet.leaders.len();
        }
        assert!(elections > 40, "{count} members: only {elections} elections in 20 runs");
    }
}

/// A leader that nobody hears confirms no reads, and steps down.
#[test]
fn who_is_cut_off_reads_nothing() {
    let mut fleet = Fleet::new(ETCD, 3, 1);
    (0..100).for_each(|_| fleet.step(false));
    let leader = *fleet.leaders.values().next_back().expect("somebody leads");
    for _ in 0..400 {
        fleet.under_way.retain(|_, (from, to, _)| *from != leader && *to != leader);
        fleet.step(false);
    }
    assert!(fleet.reads.keys().any(|(of, _)| *of == leader), "its reads wait");
    assert_ne!(fleet.leaders.values().next_back(), Some(&leader), "another one leads");
    assert_ne!(fleet.seats[leader].core.as_ref().and_then(Core::leader), Some(leader), "it has stepped down");
}

// A retried read starts a new round (etcd-io/etcd issue 20418, fixed by pull request 21399).
//
// etcd named the heartbeat rounds that confirm reads after the read, and retried under the same name. A delayed answer
// to the first attempt then also confirms the retry, and every read requested in between; in that issue, after the
// leader was replaced while its process was stopped. Here every attempt is a separate round, whatever its name.

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

// How a leader handles the time in which it did not run.

fn leader(rules: Rules) -> Core {
    let mut core = Core::new(0, 3, rules, 1, Core::founded(0));
    core.found(0, 0);
    core
}

fn leads(core: &Core) -> bool {
    core.leader() == Some(0)
}

#[test]
fn who_goes_by_its_clock_has_lost_everybody() {
    let mut core = leader(CONSUL);
    core.tick(30 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn who_counts_its_looks_goes_on_until_its_connections_are_gone() {
    let mut core = leader(ZOOKEEPER);
    core.tick(30 * SECOND);
    assert!(leads(&core));
    (1..3).for_each(|member| core.lost(member));
    core.tick(31 * SECOND);
    assert!(leads(&core), "it looks once a tick");
    core.tick(32 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn a_zookeeper_that_runs_gives_up_after_five_ticks_of_silence() {
    let mut core = leader(ZOOKEEPER);
    for tick in 1..=5 {
        core.tick(tick * 2 * SECOND);
        assert!(leads(&core), "tick {tick}");
    }
    core.tick(12 * SECOND);
    assert!(!leads(&core));
}

#[test]
fn connections_that_are_gone_count_from_the_beginning() {
    let mut core = leader(ZOOKEEPER);
    (1..3).for_each(|member| core.lost(member));
    core.tick(2 * SECOND);
    assert!(!leads(&core));
}
