//! The Redis elections against the model in a world of a page: three candidates, one server, late and lost messages,
//! pauses. It is much less than the simulation, and asks one thing of it: do the *leases* of two nodes ever overlap?

use protocols::{
    clock::Now,
    election::{self, Setup, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    error::Failure,
    payload::Payload,
    service::redis::{ACQUIRE_FENCED, COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, Reply, Request},
    types::{MILLISECOND, NodeId, SECOND},
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use sim::service::redis::{
    model::{Model, Session},
    resp::Resp,
};
use std::collections::{BTreeMap, BTreeSet};

const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: SECOND,
    request_timeout: 500 * MILLISECOND,
    election_timeout: None,
};
/// Until then messages are lost and late and nodes pause.
const CALM_FROM: u64 = 120 * SECOND;
const END: u64 = 140 * SECOND;

enum Event {
    Input(usize, Input),
    Timer(usize, u16, u64),
    /// A request reaches the server; its answer starts back then, unless it is lost.
    Arrive(usize, u64, Request),
    /// The client's patience with a request ends.
    Timeout(usize, u64),
}

#[derive(Default)]
struct Seen {
    elections: u64,
    overlaps: u64,
    tokens: Vec<u64>,
    led_when_calm: bool,
}

struct World {
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    random: ChaCha8Rng,
    electors: Vec<Box<AnyElector>>,
    timers: BTreeMap<(usize, u16), u64>,
    waiting: BTreeSet<(usize, u64)>,
    /// Until when each node is stopped.
    paused_until: Vec<u64>,
    leases: Vec<u64>,
    model: Model,
    session: Session,
    seen: Seen,
}

impl World {
    fn new(protocol: &str, seed: u64) -> World {
        let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let elector = |node: usize, nonce| {
            let setup = Setup {
                group: 0,
                node: NodeId(node as u16),
                names: names.clone(),
                timings: TIMINGS,
                nonce,
                stored: None,
                service: Vec::new(),
                bugs: Default::default(),
            };
            (election::find(protocol).unwrap().elector)(setup)
        };
        let electors = (0..3).map(|node| elector(node, random.next_u64())).collect();
        let mut model = Model::new();
        let session = model.open();
        World {
            now: 0,
            events: BTreeMap::new(),
            count: 0,
            random,
            electors,
            timers: BTreeMap::new(),
            waiting: BTreeSet::new(),
            paused_until: vec![0; 3],
            leases: vec![0; 3],
            model,
            session,
            seen: Seen::default(),
        }
    }

    fn at(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.now < CALM_FROM && self.random.next_u64() % n == 0
    }

    /// Mostly a few milliseconds, now and then longer than a lease.
    fn latency(&mut self) -> u64 {
        let most = if self.one_in(30) { 5 * SECOND } else { 5 * MILLISECOND };
        1 + self.random.next_u64() % most
    }

    fn run(mut self) -> Seen {
        for node in 0..3 {
            self.at(0, Event::Input(node, Input::Start));
        }
        while let Some(((at, _), event)) = self.events.pop_first() {
            if at > END {
                break;
            }
            self.now = at;
            let node = match event {
                Event::Input(node, _) | Event::Timer(node, ..) | Event::Timeout(node, _) => Some(node),
                Event::Arrive(..) => None,
            };
            match node.map(|node| self.paused_until[node]) {
                Some(until) if until > at => self.at(until, event),
                _ => self.happen(event),
            }
        }
        self.seen
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Input(node, Input::Service(ServiceInput::Reply { number, reply })) => {
                if self.waiting.remove(&(node, number)) {
                    self.step(node, Input::Service(ServiceInput::Reply { number, reply }));
                }
            }
            Event::Input(node, input) => self.step(node, input),
            Event::Timer(node, id, set) => {
                if self.timers.get(&(node, id)) == Some(&set) {
                    self.timers.remove(&(node, id));
                    self.step(node, Input::Timer(id));
                }
            }
            Event::Timeout(node, number) => {
                if self.waiting.remove(&(node, number)) {
                    let reply = Err(Failure::Unknown("timed out".into()));
                    self.step(node, Input::Service(ServiceInput::Reply { number, reply }));
                }
            }
            Event::Arrive(node, number, request) => {
                let reply = self.serve(&request);
                if !self.one_in(20) {
                    let at = self.now + self.latency();
                    let reply = Ok(reply.erase());
                    self.at(at, Event::Input(node, Input::Service(ServiceInput::Reply { number, reply })));
                }
            }
        }
    }

    fn step(&mut self, node: usize, input: Input) {
        let mut out = Vec::new();
        self.electors[node].step(Now { mono: self.now, wall: self.now }, input, &mut out);
        for output in out {
            self.output(node, output);
        }
        if self.one_in(60) {
            self.paused_until[node] = self.now + self.random.next_u64() % (6 * SECOND);
        }
    }

    fn output(&mut self, node: usize, output: Output) {
        match output {
            Output::Service(ServiceOutput::Request { number, request, timeout, .. }) => {
                self.waiting.insert((node, number));
                self.at(self.now + timeout, Event::Timeout(node, number));
                if !self.one_in(20) {
                    let at = self.now + self.latency();
                    let request = Request::restore(request).expect("a request to Redis");
                    self.at(at, Event::Arrive(node, number, request));
                }
            }
            Output::Service(ServiceOutput::Cancel(number)) => {
                self.waiting.remove(&(node, number));
            }
            Output::SetTimer { id, at } => {
                self.count += 1;
                self.timers.insert((node, id), self.count);
                let set = self.count;
                self.at(at.max(self.now), Event::Timer(node, id, set));
            }
            Output::CancelTimer(id) => {
                self.timers.remove(&(node, id));
            }
            Output::Elected(leadership) => {
                self.seen.elections += 1;
                self.seen.tokens.push(leadership.token);
                self.lease(node, leadership.valid_until);
                // Sometimes the resource says no, sometimes an operator does.
                if self.one_in(10) {
                    self.at(self.now + SECOND, Event::Input(node, Input::Fenced));
                } else if self.one_in(10) {
                    self.at(self.now + SECOND, Event::Input(node, Input::Resign));
                }
            }
            Output::Renewed(leadership) => self.lease(node, leadership.valid_until),
            Output::Deposed(_) => self.leases[node] = self.leases[node].min(self.now),
            _ => {}
        }
    }

    /// A lease is a promise about the future: no two may be open at once, whoever is paused and does not know.
    fn lease(&mut self, node: usize, until: u64) {
        self.leases[node] = until;
        self.seen.led_when_calm |= self.now > CALM_FROM + 10 * SECOND;
        let open = self.leases.iter().filter(|until| **until > self.now).count();
        self.seen.overlaps += u64::from(open > 1);
    }

    fn serve(&mut self, request: &Request) -> Reply {
        let (key, ttl);
        let words: Vec<&str> = match request {
            Request::SetNxPx { key, value, ttl_ms } => {
                ttl = ttl_ms.to_string();
                vec!["SET", key, value, "NX", "PX", &ttl]
            }
            Request::Get { key } => vec!["GET", key],
            Request::Del { key } => vec!["DEL", key],
            Request::Pexpire { key, ttl_ms } => {
                ttl = ttl_ms.to_string();
                vec!["PEXPIRE", key, &ttl]
            }
            Request::CompareAndPexpire { key, value, ttl_ms } => {
                ttl = ttl_ms.to_string();
                vec!["EVAL", COMPARE_AND_PEXPIRE, "1", key, value, &ttl]
            }
            Request::CompareAndDelete { key, value } => {
                vec!["EVAL", COMPARE_AND_DELETE, "1", key, value]
            }
            Request::AcquireFenced { key: lock, token_key, value, ttl_ms } => {
                (key, ttl) = (lock, ttl_ms.to_string());
                vec!["EVAL", ACQUIRE_FENCED, "2", key, token_key, value, &ttl]
            }
        };
        let args: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let reply = self.model.apply(&mut self.session, self.now / MILLISECOND, &args);
        match (request, reply) {
            (Request::Get { .. }, Resp::Bulk(value)) => Reply::Value(Some(value)),
            (Request::Get { .. }, Resp::Nil) => Reply::Value(None),
            (Request::AcquireFenced { .. }, Resp::Integer(token)) => Reply::Token(Some(token as u64)),
            (Request::AcquireFenced { .. }, Resp::Nil) => Reply::Token(None),
            (_, Resp::Status(_)) => Reply::Done(true),
            (_, Resp::Nil) => Reply::Done(false),
            (_, Resp::Integer(count)) => Reply::Done(count > 0),
            (request, reply) => panic!("{request:?} was answered by {reply:?}"),
        }
    }
}

fn many(protocol: &str) -> Vec<Seen> {
    (0..300).map(|seed| World::new(protocol, seed).run()).collect()
}

#[test]
fn leases_never_overlap_and_somebody_leads_again() {
    for protocol in ["redis-lease", "redis-fenced"] {
        let mut elections = 0;
        for (seed, seen) in many(protocol).into_iter().enumerate() {
            assert_eq!(seen.overlaps, 0, "{protocol}, seed {seed}");
            assert!(seen.led_when_calm, "{protocol}, seed {seed}: nobody leads after the trouble");
            elections += seen.elections;
        }
        assert!(elections > 1_500, "{protocol}: only {elections} elections, this tested nothing");
    }
}

#[test]
fn tokens_rise_from_election_to_election() {
    for (seed, seen) in many("redis-fenced").into_iter().enumerate() {
        // A token may be lost with its answer, and an answer may be late; the leases do not overlap, so the order holds.
        assert!(seen.tokens.is_sorted_by(|before, after| before < after), "seed {seed}: {:?}", seen.tokens);
        assert_ne!(seen.tokens.first(), Some(&0), "seed {seed}");
    }
}

#[test]
fn the_naive_one_overlaps() {
    let broken = many("redis-naive").iter().filter(|seen| seen.overlaps > 0).count();
    assert!(broken > 200, "only {broken} of 300 worlds show what is wrong with it");
}
