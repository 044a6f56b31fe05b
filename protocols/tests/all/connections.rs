//! What a node and a client do when a connection breaks or falls silent: give it up once, send again once, and go on.

use protocols::{
    clock::Now,
    core::{Core, Input, Output, TimerId},
    elector::{self, Elector, boxed},
    history::{Kind, Outcome},
    load::{ATTEMPT_TIMEOUT, Client, PATIENCE},
    message::{Message, WriteVerdict},
    node::{Node, Place, STORE_SILENCE},
    payload::Nothing,
    types::{Leadership, MILLISECOND, NodeId, RequestId, Resource, SECOND},
    work::outbox::UNDER_WAY_MAX,
};
use std::collections::BTreeMap;

const STORE: NodeId = NodeId(3);
const CLIENT: NodeId = NodeId(4);
const MS: u64 = MILLISECOND;

/// Leads from the start, for ever.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Leads;

impl Elector for Leads {
    type Peer = Nothing;
    type Service = Nothing;

    fn step(
        &mut self,
        _: Now,
        input: elector::Input<Nothing, Nothing>,
        out: &mut Vec<elector::Output<Nothing, Nothing>>,
    ) {
        if matches!(input, elector::Input::Start) {
            out.push(elector::Output::Elected(Leadership { token: 5, valid_until: u64::MAX }));
        }
    }
}

/// A core with its timers.
struct Bench {
    core: Box<dyn Core>,
    timers: BTreeMap<TimerId, u64>,
    now: u64,
    said: Vec<(u64, Output)>,
}

impl Bench {
    fn new(core: impl Core + 'static) -> Self {
        let mut bench = Bench { core: Box::new(core), timers: BTreeMap::new(), now: 0, said: Vec::new() };
        bench.input(Input::Start);
        bench
    }

    fn node() -> Self {
        let place = Place {
            node: NodeId(0),
            store: STORE,
            starts: 0,
            tick: SECOND * 3600,
            silence: STORE_SILENCE,
            read_lease: false,
        };
        let mut bench = Bench::new(Node::new(place, boxed(Leads)));
        for resource in Resource::USUAL {
            bench.hear(STORE, Message::Sealed { resource, generation: 1, token: 5, seq: 0, version: 0, payload: None });
        }
        bench.said.clear();
        bench
    }

    fn input(&mut self, input: Input) {
        let mut out = Vec::new();
        self.core.step(Now { mono: self.now, wall: 0 }, input, &mut out);
        for output in out {
            match output {
                Output::SetTimer { id, at } => drop(self.timers.insert(id, at)),
                Output::CancelTimer(id) => drop(self.timers.remove(&id)),
                output => self.said.push((self.now, output)),
            }
        }
    }

    fn hear(&mut self, from: NodeId, message: Message) {
        self.input(Input::Message { from, message });
    }

    /// Lets time pass.
    fn until(&mut self, end: u64) {
        while let Some((id, at)) = self.timers.iter().map(|(id, at)| (*id, *at)).min_by_key(|(id, at)| (*at, *id)) {
            if at > end {
                break;
            }
            self.timers.remove(&id);
            self.now = at;
            self.input(Input::Timer(id));
        }
        self.now = end;
    }

    /// When, and of which number: what was written to the store.
    fn written(&self) -> Vec<(u64, u64)> {
        let write = |(at, output): &(u64, Output)| match output {
            Output::Send { to: STORE, message: Message::Write(write) } => Some((*at, write.seq)),
            _ => None,
        };
        self.said.iter().filter_map(write).collect()
    }

    /// When and whom: what was asked of nodes.
    fn asked(&self) -> Vec<(u64, u16, u64)> {
        let ask = |(at, output): &(u64, Output)| match output {
            Output::Send { to, message: Message::Next { request } } => Some((*at, to.0, request.number)),
            _ => None,
        };
        self.said.iter().filter_map(ask).collect()
    }

    fn redialed(&self) -> Vec<(u64, u16)> {
        let redial =
            |(at, output): &(u64, Output)| if let Output::Redial { to } = output { Some((*at, to.0)) } else { None };
        self.said.iter().filter_map(redial).collect()
    }
}

fn request(number: u64) -> RequestId {
    RequestId { client: CLIENT, number }
}

#[test]
fn a_node_gives_a_silent_connection_up_once_and_then_sends_everything_unanswered_again() {
    let mut node = Bench::node();
    for number in 1..=3 {
        node.hear(CLIENT, Message::Next { request: request(number) });
    }
    let verdict = WriteVerdict::Ok;
    node.hear(
        STORE,
        Message::Written { resource: Resource::SEQUENCE, generation: 1, seq: 2, request: request(2), verdict },
    );
    node.until(STORE_SILENCE - 1);
    assert_eq!(node.written(), [(0, 1), (0, 2), (0, 3)], "a connection needs no resending");
    node.until(2 * SECOND);
    let [(at, to)] = node.redialed()[..] else { panic!("given up {:?}", node.redialed()) };
    assert_eq!(to, STORE.0);
    assert!((STORE_SILENCE..2 * SECOND).contains(&at), "at {at}");
    assert_eq!(node.written()[3..], [(at, 1), (at, 3)]);
    let order = node.said.iter().position(|(_, o)| matches!(o, Output::Redial { .. })).expect("it was given up");
    assert!(node.said[order + 1..].iter().all(|(when, _)| *when == at), "first given up, then sent again");
    // And again only after another silence.
    node.until(at + STORE_SILENCE - 1);
    assert_eq!(node.redialed().len(), 1);
    node.until(at + STORE_SILENCE + 500 * MS);
    assert_eq!(node.redialed().len(), 2);
}

#[test]
fn a_node_does_not_give_up_a_connection_on_which_answers_come() {
    let mut node = Bench::node();
    for number in 1..=200 {
        node.hear(CLIENT, Message::Next { request: request(number) });
        node.until(number * 50 * MS);
        let (seq, verdict) = (number, WriteVerdict::Ok);
        let request = request(number);
        node.hear(STORE, Message::Written { resource: Resource::SEQUENCE, generation: 1, seq, request, verdict });
    }
    assert_eq!(node.redialed(), []);
    assert_eq!(node.written().len(), 200);
}

#[test]
fn a_node_sends_again_after_a_broken_connection_with_pauses_that_double() {
    let mut node = Bench::node();
    node.hear(CLIENT, Message::Next { request: request(1) });
    let mut pauses = Vec::new();
    for _ in 0..5 {
        node.said.clear();
        let broke = node.now;
        node.input(Input::Disconnected { peer: STORE });
        assert_eq!(node.written(), [], "not at once: who hangs up on everybody would be asked without end");
        node.until(broke + 400 * MS);
        let [(at, 1)] = node.written()[..] else { panic!("{:?}", node.written()) };
        pauses.push((at - broke) / MS);
    }
    assert_eq!(pauses, [20, 40, 80, 160, 320]);
    let verdict = WriteVerdict::Ok;
    node.hear(
        STORE,
        Message::Written { resource: Resource::SEQUENCE, generation: 1, seq: 1, request: request(1), verdict },
    );
    node.said.clear();
    node.hear(CLIENT, Message::Next { request: request(2) });
    let broke = node.now;
    node.input(Input::Disconnected { peer: STORE });
    node.until(broke + 20 * MS);
    assert_eq!(node.written(), [(broke, 2), (broke + 20 * MS, 2)], "it has answered meanwhile");
    assert_eq!(node.redialed(), []);
}

#[test]
fn seals_are_sent_again_over_a_new_connection() {
    let place =
        Place { node: NodeId(0), store: STORE, starts: 0, tick: SECOND, silence: STORE_SILENCE, read_lease: false };
    let mut node = Bench::new(Node::new(place, boxed(Leads)));
    let seals = |node: &Bench| {
        let seal = |(_, o): &&(u64, Output)| matches!(o, Output::Send { message: Message::Seal { .. }, .. });
        node.said.iter().filter(seal).count()
    };
    node.until(STORE_SILENCE - 1);
    assert_eq!((seals(&node), node.redialed().len()), (2, 0));
    node.until(2 * SECOND);
    assert_eq!((seals(&node), node.redialed().len()), (4, 1));
}

#[test]
fn a_leader_takes_no_more_than_its_connection_does() {
    let mut node = Bench::node();
    for number in 0..=UNDER_WAY_MAX as u64 {
        node.hear(CLIENT, Message::Next { request: request(number + 1) });
    }
    assert_eq!(node.written().len(), UNDER_WAY_MAX);
    let refused = matches!(
        node.said.last(),
        Some((_, Output::Send { to: CLIENT, message: Message::NotLeader { request: last, leader: None } }))
            if last.number == UNDER_WAY_MAX as u64 + 1
    );
    assert!(refused, "{:?}", node.said.last());
}

/// A client of three nodes that asks once every 10 s, first at 0, and first node 1.
fn client() -> Bench {
    let mut client = Bench::new(Client::new(CLIENT, 3, 10 * SECOND, 0, 0));
    client.until(0);
    client
}

#[test]
fn a_client_gives_a_silent_node_up_once_and_asks_the_next() {
    let mut client = client();
    client.until(ATTEMPT_TIMEOUT - 1);
    assert_eq!((client.asked(), client.redialed()), (vec![(0, 1, 1)], vec![]));
    client.until(ATTEMPT_TIMEOUT);
    assert_eq!(client.redialed(), [(ATTEMPT_TIMEOUT, 1)]);
    assert_eq!(client.asked()[1..], [(ATTEMPT_TIMEOUT, 2, 1)]);
    client.until(PATIENCE * 2);
    let last = client
        .said
        .last()
        .map(|(at, o)| (*at, matches!(o, Output::Record(Kind::Reply { outcome, .. }) if *outcome == Outcome::Unknown)));
    assert_eq!(last, Some((PATIENCE, true)));
    // Each attempt gives one connection up.
    assert_eq!(client.redialed().len(), client.asked().len(), "{:?} {:?}", client.redialed(), client.asked());
}

#[test]
fn what_is_under_way_on_a_connection_that_is_given_up_is_asked_elsewhere_with_it() {
    let mut client = Bench::new(Client::new(CLIENT, 3, 30 * MS, 0, 0));
    client.until(ATTEMPT_TIMEOUT);
    assert_eq!(client.redialed(), [(ATTEMPT_TIMEOUT, 1)]);
    let again: Vec<_> = client.asked().into_iter().filter(|(at, ..)| *at == ATTEMPT_TIMEOUT).collect();
    assert_eq!(again, [1, 2, 3, 4].map(|number| (ATTEMPT_TIMEOUT, 2, number)));
}

#[test]
fn a_client_asks_the_next_node_at_once_when_a_connection_breaks_but_not_in_a_circle() {
    let mut client = client();
    client.until(5 * MS);
    for peer in [1, 2, 0] {
        client.input(Input::Disconnected { peer: NodeId(peer) });
    }
    assert_eq!(client.asked(), [(0, 1, 1), (5 * MS, 2, 1), (5 * MS, 0, 1)]);
    client.until(25 * MS);
    assert_eq!(client.asked().len(), 4, "and then when it looks again");
    assert_eq!(client.redialed(), []);
}

#[test]
fn a_client_is_as_patient_as_it_is_told_to_be() {
    let mut client = Bench::new(Client::new(CLIENT, 3, 10 * SECOND, 0, 0).with_attempt_timeout(360 * MS));
    client.until(359 * MS);
    assert_eq!((client.asked().len(), client.redialed().len()), (1, 0));
    client.until(400 * MS);
    assert_eq!((client.asked().len(), client.redialed().len()), (2, 1));
}

#[test]
fn two_nodes_that_name_each_other_do_not_keep_a_client_from_the_third() {
    let mut client = client();
    let request = request(1);
    for round in 1..10 {
        // Node 0 leads, and nobody says so: 1 says 2, 2 says 1.
        let asked = client.asked().last().map_or(0, |(_, asked, _)| *asked);
        if asked == 0 {
            return;
        }
        let message = Message::NotLeader { request, leader: Some(NodeId(3 - asked)) };
        client.input(Input::Message { from: NodeId(asked), message });
        client.until(round * 25 * MS);
    }
    panic!("the third was never asked: {:?}", client.asked());
}

/// All but the one that leads name one that is dead.
#[test]
fn a_client_asks_everybody_although_all_others_name_a_dead_leader() {
    let (dead, leader, candidates) = (NodeId(1), NodeId(4), 5);
    for first in 0..candidates {
        let me = NodeId(10 * candidates + first);
        let mut bench = Bench::new(Client::new(me, candidates, 3_600 * SECOND, 0, 0));
        let mut asked = Vec::new();
        while bench.now < PATIENCE && !asked.contains(&leader) {
            let now = bench.now;
            bench.until(now + MS);
            for (_, said) in std::mem::take(&mut bench.said) {
                let Output::Send { to, message: Message::Next { request } } = said else { continue };
                asked.push(to);
                match to {
                    to if to == leader => {}
                    to if to == dead => bench.input(Input::Disconnected { peer: dead }),
                    from => bench.hear(from, Message::NotLeader { request, leader: Some(dead) }),
                }
            }
        }
        assert!(asked.contains(&leader), "who begins with n{} asks only {asked:?}", first + 1);
    }
}
