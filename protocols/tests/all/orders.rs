//! Every order of events, of two and three candidates and of what they ask of a service, within so many events and one
//! fault or resignation. A process may take each input late; a request may be carried out late, and after its sender has
//! given it up; a lease or a session may end at any time from its earliest end on.

mod services;
mod stage;

use protocols::{
    bug::Bug,
    election::{
        Protocol, bully, consul, db_row, db_row_node_clock, dynamodb_lock, etcd, etcd_key, k8s, kafka_zk_controller,
        kraft, lowest_id, lowest_id_phi, object_lease, pg_advisory, raft_core, redis_common, redis_fenced, redis_lease,
        redis_naive, redis_sentinel, redlock, ring_chang_roberts, ring_lelann, stonith, zab_fle, zk_election,
        zk_selector, zookeeper,
    },
    service::power::Manner,
    types::SECOND,
};
use stage::{Apart, Move, Stage};
use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug, Default)]
struct Explored {
    states: usize,
    /// The most on one way.
    elections: usize,
    /// What must not be, and how it came to be.
    wrong: Option<(String, Vec<Move>)>,
}

/// Collects what a state is hashed by: a search hashes little else than states, and their many small parts together.
struct Parts(Vec<u8>);

impl Hasher for Parts {
    fn write(&mut self, part: &[u8]) {
        self.0.extend_from_slice(part);
    }

    fn finish(&self) -> u64 {
        xxh3_64(&self.0)
    }
}

fn digest(stage: &Stage) -> u64 {
    let mut parts = Parts(Vec::with_capacity(4_096));
    stage.hash(&mut parts);
    parts.finish()
}

/// Depth first; a state is looked at again only if more moves are left than the last time.
fn explore(stage: &Stage, depth: usize) -> Explored {
    fn on(stage: &Stage, left: usize, seen: &mut HashMap<u64, usize>, way: &mut Vec<Move>, explored: &mut Explored) {
        if left == 0 || explored.wrong.is_some() {
            return;
        }
        for what in stage.moves() {
            let mut next = stage.clone();
            way.push(what);
            if let Err(why) = next.does(what) {
                explored.wrong.get_or_insert_with(|| (why, way.clone()));
                return;
            }
            let state = digest(&next);
            let known = seen.insert(state, left);
            if known.is_none() {
                explored.states += 1;
                explored.elections = explored.elections.max(next.elections);
            }
            if known.is_none_or(|before| before < left) {
                on(&next, left - 1, seen, way, explored);
            } else if let Some(before) = known {
                seen.insert(state, before);
            }
            way.pop();
        }
    }
    let mut explored = Explored::default();
    on(stage, depth, &mut HashMap::new(), &mut Vec::new(), &mut explored);
    explored
}

/// The fewest events after which something is wrong: from where the first one leads, or the next one is about to.
fn found(new: &Stage) -> Option<(String, Vec<Move>)> {
    let mut ways = vec![new.clone().led()];
    if new.has_service() {
        ways.extend([new.clone().before_next(3), new.clone().before_heir(0)]);
    }
    let stages = match ways.into_iter().collect::<Result<Vec<Stage>, String>>() {
        Err(why) => return Some((why, Vec::new())),
        Ok(stages) => stages,
    };
    (1..=7).find_map(|depth| stages.iter().find_map(|stage| explore(stage, depth).wrong))
}

/// Two believe at once in none of them; in those with a service, who believes has the lease.
const BY_BELIEFS: [&Protocol; 8] = [
    &redis_lease::PROTOCOL,
    &redis_fenced::PROTOCOL,
    &db_row::PROTOCOL,
    &k8s::PROTOCOL,
    &object_lease::PROTOCOL,
    &dynamodb_lock::PROTOCOL,
    &raft_core::PROTOCOL,
    &zab_fle::PROTOCOL,
];

/// The same of those with leases or sessions that end by the service's clock, and how many events with two and three
/// candidates are searched from where one is about to lead.
const BY_BELIEFS_IN_SESSIONS: [(&Protocol, usize, usize); 7] = [
    (&etcd::from_sending::PROTOCOL, 5, 4),
    (&zk_election::from_sending::PROTOCOL, 7, 5),
    (&consul::from_sending::PROTOCOL, 5, 4),
    (&pg_advisory::from_sending::PROTOCOL, 5, 4),
    (&redlock::from_sending::PROTOCOL, 4, 3),
    (&db_row_node_clock::PROTOCOL, 6, 4),
    (&stonith::PROTOCOL, 6, 4),
];

/// Two may believe at once in all of them, each with a token of its own.
const BY_TOKENS: [(&Protocol, usize, usize); 6] = [
    (&etcd::PROTOCOL, 5, 4),
    (&etcd_key::PROTOCOL, 4, 3),
    (&zk_election::PROTOCOL, 7, 5),
    (&zk_selector::PROTOCOL, 7, 5),
    (&kafka_zk_controller::PROTOCOL, 7, 5),
    (&consul::PROTOCOL, 5, 4),
];

/// These cannot prevent it. (Neither can swim, which takes more than 12 events.)
const UNSAFE: [(&Protocol, Apart); 10] = [
    (&redis_naive::PROTOCOL, Apart::Beliefs),
    (&redis_sentinel::PROTOCOL, Apart::Beliefs),
    (&pg_advisory::PROTOCOL, Apart::Beliefs),
    (&pg_advisory::POOLED, Apart::Beliefs),
    (&redlock::PROTOCOL, Apart::Stops),
    (&lowest_id::PROTOCOL, Apart::Beliefs),
    (&lowest_id_phi::PROTOCOL, Apart::Beliefs),
    (&bully::PROTOCOL, Apart::Beliefs),
    (&ring_lelann::PROTOCOL, Apart::Beliefs),
    (&ring_chang_roberts::PROTOCOL, Apart::Beliefs),
];

/// How many elections some order must have, or it shows nothing.
fn holds(protocol: &Protocol, what: &str, stage: Result<Stage, String>, depth: usize, elections: usize) {
    let explored = explore(&stage.expect("nothing is wrong when all is in time"), depth);
    println!("{}, {what}, {depth} events: {explored:?}", protocol.name);
    assert!(explored.wrong.is_none() && explored.states > 1_000 && explored.elections >= elections);
}

fn never_at_once(protocol: &'static Protocol, apart: Apart, count: u16, depth: usize) {
    let new = || Stage::new(protocol, apart, count, &[]);
    // Of those that elect by messages, two stand at once, and one of them is about to win.
    if new().has_service() {
        holds(protocol, &format!("{count} start"), Ok(new()), depth, 1);
        holds(protocol, &format!("1 of {count} leads"), new().led(), depth, if count == 2 { 2 } else { 1 });
    } else {
        holds(protocol, &format!("{count} start"), Ok(new()), depth, 0);
        holds(protocol, &format!("1 of {count} leads"), new().led(), depth, 1);
        holds(protocol, &format!("{count} stand"), new().stood().and_then(|stood| stood.before_led(3)), depth, 1);
    }
}

/// From where the first one is about to lead, and from where the second one is while the first one is late.
fn one_after_the_other(protocol: &'static Protocol, apart: Apart, count: u16, depth: usize) {
    let new = || Stage::new(protocol, apart, count, &[]);
    holds(protocol, &format!("1 of {count} is about to lead"), new().before_led(3), depth, 1);
    holds(protocol, &format!("the next of {count} is about to lead"), new().before_next(3), depth, 2);
    if new().has_service() {
        holds(protocol, &format!("the heir of {count} is about to lead"), new().before_heir(3), depth, 2);
    }
}

#[test]
fn no_order_of_events_lets_two_believe_at_once() {
    for protocol in BY_BELIEFS {
        // Two leaders of an object are seven events apart.
        never_at_once(protocol, Apart::Beliefs, 2, if protocol.name == object_lease::PROTOCOL.name { 7 } else { 6 });
        never_at_once(protocol, Apart::Beliefs, 3, 4);
    }
    never_at_once(&kraft::PROTOCOL, Apart::Tokens, 2, 6);
    never_at_once(&kraft::PROTOCOL, Apart::Tokens, 3, 4);
}

#[test]
fn no_order_of_events_lets_two_believe_at_once_whose_sessions_end() {
    for (protocol, two, three) in BY_BELIEFS_IN_SESSIONS {
        one_after_the_other(protocol, Apart::Beliefs, 2, two);
        one_after_the_other(protocol, Apart::Beliefs, 3, three);
    }
}

#[test]
fn no_order_of_events_gives_a_token_twice_or_to_whom_it_was_not_granted() {
    for (protocol, two, three) in BY_TOKENS {
        one_after_the_other(protocol, Apart::Tokens, 2, two);
        one_after_the_other(protocol, Apart::Tokens, 3, three);
    }
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn no_order_of_more_events_lets_two_believe_at_once() {
    for protocol in BY_BELIEFS {
        never_at_once(protocol, Apart::Beliefs, 2, 7);
        never_at_once(protocol, Apart::Beliefs, 3, 5);
    }
    never_at_once(&kraft::PROTOCOL, Apart::Tokens, 2, 7);
    never_at_once(&kraft::PROTOCOL, Apart::Tokens, 3, 5);
    for (protocol, two, three) in BY_BELIEFS_IN_SESSIONS {
        one_after_the_other(protocol, Apart::Beliefs, 2, two + 1);
        one_after_the_other(protocol, Apart::Beliefs, 3, three + 1);
    }
    for (protocol, two, three) in BY_TOKENS {
        one_after_the_other(protocol, Apart::Tokens, 2, two + 1);
        one_after_the_other(protocol, Apart::Tokens, 3, three + 1);
    }
}

#[test]
fn where_two_can_believe_at_once_some_order_of_events_shows_it() {
    for (protocol, apart) in UNSAFE {
        let wrong = found(&Stage::new(protocol, apart, 2, &[]));
        println!("{}: {wrong:?}", protocol.name);
        assert!(wrong.is_some(), "{}", protocol.name);
    }
}

#[test]
fn known_bugs_are_found_by_some_order_of_events() {
    let bugs: [(&'static Protocol, Apart, &'static Bug); 13] = [
        (&redis_lease::PROTOCOL, Apart::Beliefs, &redis_lease::BELIEF_FROM_ANSWER),
        (&redis_lease::PROTOCOL, Apart::Beliefs, &redis_common::VALUE_BY_NAME),
        (&redis_fenced::PROTOCOL, Apart::Beliefs, &redis_common::MIXED_LOCKS),
        (&redlock::from_sending::PROTOCOL, Apart::Beliefs, &redis_common::FORGOTTEN_ON_RESTART),
        (&k8s::PROTOCOL, Apart::Beliefs, &k8s::NO_REQUEST_TIMEOUT),
        (&k8s::PROTOCOL, Apart::Beliefs, &k8s::LEADS_BEFORE_UPDATE),
        (&k8s::PROTOCOL, Apart::Beliefs, &k8s::ONE_IDENTITY_TWICE),
        (&etcd::PROTOCOL, Apart::Tokens, &etcd::WAITER_NOT_READ_AGAIN),
        (&etcd_key::PROTOCOL, Apart::Tokens, &etcd::RELEASE_BY_NAME),
        (&zk_election::PROTOCOL, Apart::Tokens, &zookeeper::REGAINS),
        (&zk_election::PROTOCOL, Apart::Tokens, &zookeeper::KEEPS_FLAG),
        (&kafka_zk_controller::PROTOCOL, Apart::Tokens, &kafka_zk_controller::MOVED_UNCHECKED),
        (&consul::PROTOCOL, Apart::Tokens, &consul::LOCK_INDEX),
    ];
    for (protocol, apart, bug) in bugs {
        let wrong = found(&Stage::new(protocol, apart, 2, &[bug]));
        println!("{}: {wrong:?}", bug.id);
        assert!(wrong.is_some(), "{}", bug.id);
    }
    let new = Stage::new(&stonith::PROTOCOL, Apart::Beliefs, 2, &[&stonith::ACCEPTED_IS_STOPPED]);
    let wrong = new.with_device(Manner::Cloud { stopping: SECOND, throttle: 0 }).before_next(0).err();
    println!("stonith-accepted-is-stopped: {wrong:?}");
    assert!(wrong.is_some());
}
