//! States of electors, nodes and ledgers: equal when the same has happened to them, hashed alike then, and otherwise not.

use crate::connections::Leads;
use protocols::{
    bench::{Bench, event::Step},
    clock::Now,
    core::{Core, Input, Output},
    election::{self, Protocol},
    elector::{self, AnyElector, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    fence::ledger::{Fence, Ledger},
    message::{Message, Write},
    node::{Node, Place, STORE_SILENCE},
    payload::Payload,
    service::{raft::Item, zookeeper},
    types::{NodeId, Operation, RequestId, Resource, SECOND},
};
use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Three candidates, and what they have asked of a service that cannot be reached, with who asked.
#[derive(Clone)]
struct Three {
    service: &'static str,
    bench: Bench,
    asked: VecDeque<(NodeId, ServiceInput)>,
}

/// Three candidates on a network that is bad enough.
fn three(protocol: &Protocol, seed: u64) -> Three {
    let mut bench = Bench::new(3, protocol.default_timings(), seed, protocol.elector);
    (bench.network.loss, bench.network.duplicate, bench.network.late) = (100, 100, 100);
    (bench.network.delay, bench.network.late_by) = (200_000..1_000_000, SECOND / 2);
    bench.disks.delay = Some(300_000..900_000);
    let mut three = Three { service: protocol.service.name, bench, asked: VecDeque::new() };
    for step in three.bench.start_all() {
        three.note(step);
    }
    three
}

impl Three {
    /// The next thing happens; to those that only wait for what their service tells them, that it does. Every fourth time
    /// a question to the service fails. Now and then whoever leads is to resign.
    fn next(&mut self, protocol: &Protocol, step: u64) -> Option<NodeId> {
        let bench = &mut self.bench;
        if step % 20 == 19
            && let Some(leader) = bench.believers().first()
        {
            let step = bench.give(*leader, elector::Input::Resign);
            return self.note(step);
        }
        if protocol.service.is_embedded {
            let (node, now) = (NodeId((step % 3) as u16), bench.now());
            let item = match step % 4 {
                0 => Item::Following { term: step, leader: None },
                1 => Item::Candidate { term: step },
                _ => Item::Leading { term: step, acked_at: now },
            };
            return bench
                .give(node, elector::Input::Service(ServiceInput::Item { number: 1, item: item.erase() }))
                .node();
        }
        if step % 4 == 0
            && let Some((node, failed)) = self.asked.pop_front()
        {
            let step = bench.give(node, elector::Input::Service(failed));
            return self.note(step);
        }
        let step = bench.next(u64::MAX)?;
        self.note(step)
    }

    /// Remembers what was asked of the service in a step.
    fn note(&mut self, step: Step<Box<AnyElector>>) -> Option<NodeId> {
        let node = step.node()?;
        for output in step.outputs {
            match output {
                elector::Output::Service(ServiceOutput::Request { number, .. }) => {
                    self.asked.push_back((
                        node,
                        ServiceInput::Reply { number, reply: Err(Failure::Unknown("no answer".into())) },
                    ));
                }
                elector::Output::Service(ServiceOutput::Open { number, .. })
                    if self.service == zookeeper::SERVICE.name =>
                {
                    // A session's client goes on by itself: it tells, and never ends.
                    let connected = zookeeper::Item::Connected { session: self.asked.len() as i64, timeout_ms: 60_000 };
                    for item in [connected, zookeeper::Item::Disconnected, zookeeper::Item::Expired] {
                        self.asked.push_back((node, ServiceInput::Item { number, item: item.erase() }));
                    }
                }
                elector::Output::Service(ServiceOutput::Open { number, .. }) => {
                    let failure = Failure::Unknown("no answer".into());
                    self.asked.push_back((node, ServiceInput::Ended { number, failure }));
                }
                elector::Output::Service(ServiceOutput::Cancel(gone)) => self.asked.retain(|(who, what)| {
                    !(*who == node && matches!(what, ServiceInput::Reply { number, .. } if *number == gone))
                }),
                elector::Output::Service(ServiceOutput::Close(gone)) => self.asked.retain(|(who, what)| {
                    !(*who == node && matches!(what, ServiceInput::Ended { number, .. } if *number == gone))
                }),
                _ => {}
            }
        }
        Some(node)
    }
}

/// Plain ifs: electors do not show their states.
#[track_caller]
fn assert_same(one: &Bench, other: &Bench, of: &str) {
    assert!(one == other && hash(one) == hash(other), "{of}: the benches differ");
    for node in one.nodes() {
        let (one, other) = (one.seat(node).elector(), other.seat(node).elector());
        assert!(one == other && hash(&one) == hash(&other), "{of}: {node:?} differs");
    }
}

#[test]
fn what_has_taken_the_same_is_the_same() {
    for protocol in election::ALL {
        let (mut one, mut other) = (three(protocol, 7), three(protocol, 7));
        let mut states = HashSet::new();
        for step in 0..300 {
            assert_same(&one.bench, &other.bench, protocol.name);
            // A copy takes over in the middle, and knows everything.
            if step == 150 {
                other = one.clone();
            }
            assert_eq!(one.next(protocol, step), other.next(protocol, step));
            states.extend(one.bench.nodes().map(|node| hash(&one.bench.seat(node).elector())));
        }
        assert!(states.len() > 5, "{}: {} states in 300 steps", protocol.name, states.len());
    }
}

#[test]
fn one_input_more_is_another_state() {
    for protocol in election::ALL {
        let (mut three_of, mut changed) = (three(protocol, 3), 0);
        for step in 0..300 {
            let before = three_of.bench.clone();
            let Some(node) = three_of.next(protocol, step) else { continue };
            let (was, is) = (before.seat(node).elector(), three_of.bench.seat(node).elector());
            assert_eq!(was == is, hash(&was) == hash(&is), "{}", protocol.name);
            changed += u32::from(was != is);
        }
        assert!(changed > 5, "{}: {changed} of 300 steps have changed an elector", protocol.name);
        // Electors that differ in what they will draw are not the same.
        let drawn = |seed| three(protocol, seed).bench;
        assert!(drawn(3) == drawn(3) && drawn(3) != drawn(4));
    }
}

#[test]
fn electors_of_two_protocols_are_never_the_same() {
    let electors: Vec<(&str, Box<AnyElector>)> = election::ALL
        .into_iter()
        .map(|protocol| {
            let elector = three(protocol, 1).bench.seat(NodeId(0)).elector().expect("it runs").clone();
            (protocol.service.name, elector)
        })
        .collect();
    // One protocol may be another on a service of its own: the same elector, which is told different things.
    for (place, one) in electors.iter().enumerate() {
        assert_eq!(electors.iter().position(|other| other == one), Some(place));
    }
}

#[test]
fn nodes_are_compared_with_their_elector_and_their_works() {
    let place =
        Place { node: NodeId(0), store: NodeId(3), starts: 0, tick: SECOND, silence: STORE_SILENCE, read_lease: false };
    let mut node = Node::new(place, boxed(Leads));
    let step = |node: &mut Node, input| {
        let mut out: Vec<Output> = Vec::new();
        node.step(Now { mono: 1, wall: 0 }, input, &mut out);
    };
    let store = |message| Input::Message { from: NodeId(3), message };
    let sealed = |resource| Message::Sealed { resource, generation: 1, token: 5, seq: 7, version: 7, payload: None };
    let next = |number| store(Message::Next { request: RequestId { client: NodeId(4), number } });
    let mut seen = Vec::new();
    for input in [
        Input::Start,
        store(sealed(Resource::SEQUENCE)),
        store(sealed(Resource::SCHEDULE)),
        next(1),
        next(2),
        Input::Resign,
    ] {
        let before = node.clone();
        step(&mut node, input);
        assert!(node != before && node == node.clone() && hash(&node) == hash(&node.clone()));
        seen.push(hash(&node));
    }
    // A copy goes on by itself: the works are copied too.
    let (mut one, mut other) = (node.clone(), node.clone());
    step(&mut one, next(3));
    assert!(one == other, "who resigns takes no new work");
    let written = Message::Written {
        resource: Resource::SEQUENCE,
        generation: 1,
        seq: 8,
        request: RequestId { client: NodeId(4), number: 1 },
        verdict: protocols::message::WriteVerdict::Ok,
    };
    step(&mut one, store(written));
    assert!(one != other && other == node);
    step(&mut other, store(written));
    assert!(one == other && hash(&one) == hash(&other));
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len());
}

#[test]
fn ledgers_are_compared_with_their_memory() {
    let write = |number| Write {
        resource: Resource::SEQUENCE,
        operation: Operation::Record,
        generation: 1,
        token: 5,
        seq: 1,
        read_version: 0,
        client: NodeId(4),
        number,
        payload: None,
    };
    let mut ledger = Ledger::new();
    assert!(ledger.seal(NodeId(0), 1, 5));
    let (mut one, mut other) = (ledger.clone(), ledger.clone());
    assert!(one == other && hash(&one) == hash(&other));
    one.write(NodeId(0), &write(1));
    other.write(NodeId(0), &write(2));
    // All but which request the number went to.
    assert_eq!(one.state(), other.state());
    assert!(one != other && hash(&one) != hash(&other));
}
