//! Tests of connections, with scribes in place of nodes, clients and the store.

mod losses;

use super::{super::*, MESSAGES_MAX};
use protocols::{
    core::{Input, Output},
    election,
    message::Message,
    types::RequestId,
};
use scenarios::{
    Params,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Profile,
    plan::Network,
};
use std::sync::{Arc, Mutex};

const N1: NodeId = NodeId(0);
const N2: NodeId = NodeId(1);

/// What a scribe received, and when, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Told {
    Asked(u64),
    Answered(u64),
    Disconnected(NodeId),
}

type Log = Arc<Mutex<Vec<(NodeId, f64, Told)>>>;

/// Logs what it receives, and answers every question at once.
struct Scribe {
    me: NodeId,
    /// The monotonic clock at the start of the run.
    zero: u64,
    log: Log,
}

impl Core for Scribe {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let told = match input {
            Input::Message { from, message: Message::Next { request } } => {
                out.push(Output::Send { to: from, message: Message::NotLeader { request, leader: None } });
                Told::Asked(request.number)
            }
            Input::Message { message: Message::NotLeader { request, .. }, .. } => Told::Answered(request.number),
            Input::Disconnected { peer } => Told::Disconnected(peer),
            _ => return,
        };
        self.log.lock().expect("a log").push((self.me, (now.mono - self.zero) as f64 / 1e6, told));
    }
}

struct Place {
    world: World,
    log: Log,
    store: NodeId,
    client: NodeId,
}

impl Place {
    /// Two candidates of a protocol, a store and a client on a network, with faults by millisecond.
    fn new(protocol: &str, network: Network, faults: &[(f64, Fault)]) -> Self {
        let protocol = election::find(protocol).expect("a protocol");
        let params = Params { nodes: 2, clients: 1, clock_skew_ms: 0, clock_drift_ppm: 0, ..Params::default() };
        let mut plan = params.plan("steady", protocol, 7, 3_600_000);
        plan.network = network;
        plan.candidates.iter_mut().for_each(|c| c.starts_at_ms = 0);
        plan.faults = faults
            .iter()
            .map(|(ms, what)| PlannedFault { when: Trigger::At { ms: *ms }, what: what.clone(), group: 0 })
            .collect();
        let topology = plan.topology_of(protocol);
        let header = plan.header_of(protocol, &topology);
        let recorder = Recorder::new(crate::recorder::Listeners::new(&header, &reports::invariant::ALL, false, None));
        let (store, client) = (topology.store(), topology.clients().next().expect("a client"));
        let world = World::new(plan.into(), protocol, topology.into(), Driver::Inline, recorder, None);
        let mut place = Place { world, log: Log::default(), store, client };
        place.until(1.0);
        place
    }

    fn ideal(faults: &[(f64, Fault)]) -> Self {
        Place::new("redis-naive", network("ideal"), faults)
    }

    /// Runs the world until `ms`.
    fn until(&mut self, ms: f64) {
        let end = (ms * 1e6) as u64;
        self.world.queue.push(end, Event::Void);
        while self.world.now < end {
            assert!(self.world.take_next());
            while let Some(action) = self.world.next_action() {
                if let HostAction::Start(node) = action {
                    let zero = self.world.clocks(node).mono - self.world.now;
                    self.world.set_core(node, Box::new(Scribe { me: node, zero, log: self.log.clone() }));
                }
            }
        }
    }

    fn ask(&mut self, from: NodeId, to: NodeId, number: u64) {
        self.world.send(from, to, &Message::Next { request: RequestId { client: self.client, number } });
    }

    /// At `ms`, the first candidate asks the store.
    fn n1_asks(&mut self, ms: f64, number: u64) {
        self.until(ms);
        self.ask(N1, self.store, number);
    }

    /// The first candidate asks the store `questions` questions, `apart_ms` milliseconds apart; returns how late they
    /// arrive, sorted.
    fn late_ms(&mut self, questions: u64, apart_ms: f64) -> Vec<f64> {
        let at = |number: u64| 100.0 + number as f64 * apart_ms;
        (1..=questions).for_each(|number| self.n1_asks(at(number), number));
        self.until(at(questions) + 60_000.0);
        assert_eq!(self.asked(self.store), (1..=questions).collect::<Vec<_>>(), "each once and in order");
        let told = self.told(self.store);
        let mut late: Vec<f64> = told.iter().zip(1..).map(|((came, _), number)| came - at(number)).collect();
        late.sort_by(f64::total_cmp);
        late
    }

    fn told(&self, who: NodeId) -> Vec<(f64, Told)> {
        self.log.lock().expect("a log").iter().filter(|(n, ..)| *n == who).map(|(_, at, told)| (*at, *told)).collect()
    }

    /// The questions that `who` received, in order.
    fn asked(&self, who: NodeId) -> Vec<u64> {
        let number = |(_, told)| if let Told::Asked(number) = told { Some(number) } else { None };
        self.told(who).into_iter().filter_map(number).collect()
    }

    fn asked_at(&self, who: NodeId, number: u64) -> f64 {
        let asked = self.told(who).into_iter().find(|(_, told)| *told == Told::Asked(number));
        asked.unwrap_or_else(|| panic!("{number} never came")).0
    }

    fn answered(&self, who: NodeId) -> Vec<u64> {
        let number = |(_, told)| if let Told::Answered(number) = told { Some(number) } else { None };
        self.told(who).into_iter().filter_map(number).collect()
    }

    fn disconnected_at(&self, who: NodeId, peer: NodeId) -> Vec<f64> {
        self.told(who).into_iter().filter(|(_, told)| *told == Told::Disconnected(peer)).map(|(at, _)| at).collect()
    }
}

fn network(name: &str) -> Network {
    Profile::find(name).expect("a profile").network()
}

fn named(name: &str) -> Who {
    Who::Named(name.to_owned())
}

fn cut(from: &str, to: &str, for_ms: f64) -> Fault {
    Fault::Partition { from: vec![named(from)], to: vec![named(to)], one_way: false, for_ms: Some(for_ms) }
}

fn close_to(is: f64, ought: f64) -> bool {
    (is - ought).abs() < 0.02
}

#[test]
fn a_first_message_waits_for_the_connection() {
    let mut place = Place::ideal(&[]);
    let (client, store) = (place.client, place.store);
    place.until(10.0);
    place.ask(client, N1, 1);
    place.until(10.05);
    place.ask(client, N1, 2);
    place.until(20.0);
    place.ask(client, N1, 3);
    place.ask(N1, store, 4);
    place.until(30.0);
    for (number, ought) in [(1, 10.3), (2, 10.3), (3, 20.1)] {
        let is = place.asked_at(N1, number);
        assert!(is >= ought - 0.001 && is < ought + 0.06, "{number} came at {is}");
    }
    assert!(close_to(place.asked_at(store, 4), 20.1), "a node has been connected to the store since it started");
}

#[test]
fn a_partition_is_silence_and_what_was_sent_into_it_comes_after_it_in_order() {
    let mut place = Place::ideal(&[(1_000.0, cut("n1", "store", 500.0))]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    for number in 2..=4 {
        place.n1_asks(998.95 + number as f64, number);
    }
    place.until(1_499.0);
    assert_eq!(place.asked(store), [1]);
    place.n1_asks(1_600.0, 5);
    place.until(5_000.0);
    assert_eq!(place.asked(store), [1, 2, 3, 4, 5]);
    // Resent 0.2 and 0.6 s after it met silence; the end of the partition does not hasten that.
    assert!(close_to(place.asked_at(store, 2), 1_001.05 + 600.1), "{}", place.asked_at(store, 2));
    assert!(place.asked_at(store, 5) >= place.asked_at(store, 2));
    assert_eq!(place.answered(N1), [1, 2, 3, 4, 5]);
    assert_eq!(place.disconnected_at(N1, store), [0.0; 0]);
}

#[test]
fn a_crash_resets_as_soon_as_a_packet_can_tell() {
    let kill = Fault::Kill { node: named("store"), restart_after_ms: Some(500.0) };
    let mut place = Place::ideal(&[(1_000.0, kill)]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    place.n1_asks(999.95, 2);
    place.until(1_400.0);
    assert_eq!(place.disconnected_at(N1, store).len(), 1);
    assert!(close_to(place.disconnected_at(N1, store)[0], 1_000.1));
    // Nobody is there: refused after a round trip.
    place.ask(N1, store, 3);
    place.until(1_490.0);
    assert_eq!(place.disconnected_at(N1, store).len(), 2);
    place.n1_asks(1_600.0, 4);
    place.until(5_000.0);
    assert_eq!(place.asked(store), [1, 4], "2 reached a dead process, and 3 nobody");
    assert_eq!(place.disconnected_at(N1, store).len(), 2);
}

#[test]
fn a_loss_of_power_is_silence_until_the_machine_is_back() {
    let off = Fault::PowerLoss { node: named("store"), restart_after_ms: Some(1_000.0) };
    let mut place = Place::ideal(&[(1_000.0, off)]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    place.n1_asks(1_100.0, 2);
    place.until(1_999.0);
    assert_eq!(place.disconnected_at(N1, store), [0.0; 0]);
    place.until(5_000.0);
    // The resent message meets a machine that does not know the connection.
    assert_eq!(place.disconnected_at(N1, store).len(), 1);
    assert_eq!(place.asked(store), [1]);
}

#[test]
fn what_comes_back_from_a_machine_without_power_is_only_what_was_on_the_wire() {
    let off = Fault::PowerLoss { node: named("store"), restart_after_ms: None };
    let place = |loss| {
        let mut place = Place::new("redis-naive", network("ideal"), &[(1_000.0, off.clone())]);
        let (store, client) = (place.store, place.client);
        place.n1_asks(900.0, 1);
        place.ask(client, N1, 1);
        place.until(999.85);
        place.world.links.lose(store, N1, loss, true);
        place.ask(N1, store, 2);
        place.until(9_000.0);
        place.answered(N1)
    };
    assert_eq!((place(0.0), place(1.0)), (vec![1, 2], vec![1]));
}

#[test]
fn a_paused_process_is_accepted_for_and_a_full_window_drops_the_newest() {
    let pause = |ms| Fault::Pause { node: named("store"), for_ms: ms };
    let mut place = Place::ideal(&[(1_000.0, pause(2_000.0))]);
    let store = place.store;
    place.until(1_500.0);
    let most = MESSAGES_MAX as u64;
    for number in 1..=most + 10 {
        place.ask(N1, store, number);
    }
    place.until(1_600.0);
    // It has arrived but was not read, so there is still no room.
    place.ask(N1, store, most + 11);
    place.until(2_999.0);
    assert_eq!(place.asked(store), [0; 0]);
    place.n1_asks(3_100.0, most + 12);
    place.until(5_000.0);
    let all: Vec<_> = (1..=most).chain([most + 12]).collect();
    assert_eq!(place.asked(store), all);
    assert_eq!(place.disconnected_at(N1, store), [0.0; 0]);
}

#[test]
fn bytes_of_a_connection_that_was_given_up_come_beside_those_of_the_next() {
    let mut place = Place::ideal(&[(1_000.0, cut("n1", "store", 1_000.0))]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    place.n1_asks(1_010.0, 2);
    place.ask(N1, store, 3);
    place.until(1_100.0);
    place.world.redial(N1, store);
    place.ask(N1, store, 4);
    place.until(9_000.0);
    // The connection request is resent after 1 s, and data at 1.4 s.
    assert_eq!(place.asked(store), [1, 4, 2, 3]);
    assert_eq!(place.answered(N1), [1, 4], "nobody is there for answers on the old one");
}

#[test]
fn a_stall_of_one_connection_is_none_of_the_next() {
    let mut place = Place::ideal(&[]);
    let store = place.store;
    place.n1_asks(10.0, 1);
    place.until(20.0);
    place.world.links.lose(N1, store, 1.0, true);
    (2..=9).for_each(|number| place.ask(N1, store, number));
    place.world.links.lose(N1, store, 1.0, false);
    place.until(30.0);
    assert_eq!(place.asked(store), [1]);
    place.world.redial(N1, store);
    place.ask(N1, store, 10);
    place.until(40.0);
    assert!(close_to(place.asked_at(store, 10), 30.3), "{}", place.asked_at(store, 10));
    place.until(900_000.0);
    assert_eq!(place.asked(store), [1, 10, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(place.answered(N1), [1, 10]);
}

#[test]
fn a_connection_that_never_was_carries_nothing_late() {
    let mut place = Place::ideal(&[(1_000.0, cut("n1", "store", 1_000.0))]);
    let store = place.store;
    place.n1_asks(1_100.0, 1);
    place.until(1_200.0);
    place.world.redial(N1, store);
    place.n1_asks(2_100.0, 2);
    place.until(60_000.0);
    assert_eq!(place.asked(store), [2]);
}

#[test]
fn late_bytes_are_not_for_the_next_incarnation() {
    let kill = Fault::Kill { node: named("store"), restart_after_ms: Some(100.0) };
    let mut place = Place::ideal(&[(1_000.0, cut("n1", "store", 1_000.0)), (1_500.0, kill)]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    place.n1_asks(1_010.0, 2);
    place.until(1_100.0);
    place.world.redial(N1, store);
    place.n1_asks(2_500.0, 3);
    place.until(60_000.0);
    assert_eq!(place.asked(store), [1, 3]);
}

#[test]
fn a_client_that_gave_up_hears_nothing_of_what_it_asked_before() {
    let mut place = Place::ideal(&[(1_000.0, Fault::Pause { node: named("n1"), for_ms: 1_000.0 })]);
    let client = place.client;
    place.until(1_100.0);
    place.ask(client, N1, 1);
    place.until(1_200.0);
    place.world.redial(client, N1);
    place.until(9_000.0);
    assert_eq!(place.asked(N1), [1], "its machine had taken it");
    assert_eq!(place.answered(client), [0; 0]);
}

#[test]
fn what_a_crashed_process_has_sent_still_arrives_and_answers_to_it_do_not() {
    let kill = Fault::Kill { node: named("n1"), restart_after_ms: Some(0.01) };
    let mut place = Place::ideal(&[(1_000.0, kill)]);
    let store = place.store;
    place.n1_asks(900.0, 1);
    place.n1_asks(999.95, 2);
    place.until(5_000.0);
    assert_eq!(place.asked(store), [1, 2]);
    assert_eq!(place.answered(N1), [1]);
}

#[test]
fn between_candidates_the_protocol_decides_and_a_stuck_stream_is_given_up() {
    let cut = cut("n1", "n2", 15_000.0);
    let mut both = ["bully", "zab-fle"].map(|protocol| {
        let mut place = Place::new(protocol, network("ideal"), &[(1_000.0, cut.clone())]);
        place.until(500.0);
        place.ask(N1, N2, 1);
        for number in 2..40 {
            place.until(500.0 * number as f64 + 1.0);
            place.ask(N1, N2, number);
        }
        place.until(60_000.0);
        place
    });
    let [datagrams, streams] = both.each_mut().map(|place| place.asked(N2));
    let after: Vec<u64> = (32..40).collect();
    assert_eq!(datagrams, [&[1][..], &after].concat(), "what is sent into silence is gone");
    // The first connection was given up after a second of silence; its messages arrive late.
    assert_eq!(streams, [&[1][..], &after, &[2, 3, 4]].concat());
    let first = both[1].asked_at(N2, 32);
    assert!(first < 17_200.0, "a stream that is stuck is given up and not waited for: {first}");
}
