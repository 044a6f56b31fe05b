//! The Redis elections against the model: three candidates on a bench, one server, late and lost messages, pauses. Much
//! smaller than the simulation, it checks one thing: that the *leases* of two nodes never overlap.

use protocols::{
    bench::{
        Bench,
        event::{Event, Step},
    },
    election::{self, Timers, Timings},
    elector::{AnyElector, Input, Output, ServiceInput, ServiceOutput},
    payload::Payload,
    service::redis::{ACQUIRE_FENCED, COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, Reply, Request},
    types::{MILLISECOND, NodeId, SECOND},
};
use sim::service::redis::{
    model::{Model, Session},
    resp::Resp,
};

const TIMINGS: Timings = Timings {
    lease_ttl: 3 * SECOND,
    renew_interval: SECOND,
    request_timeout: 500 * MILLISECOND,
    election_timeout: None,
    rules: protocols::election::rules::Rules::USUAL,
    own: Timers::NONE,
};
/// Until then, messages are lost and late, and nodes pause.
const CALM_FROM: u64 = 120 * SECOND;
const END: u64 = 140 * SECOND;

#[derive(Default)]
struct Seen {
    elections: u64,
    overlaps: u64,
    tokens: Vec<u64>,
    led_when_calm: bool,
}

struct World {
    bench: Bench,
    /// Requests sent to the server, by the number of their alarm.
    requests: Vec<(NodeId, u64, Request)>,
    leases: [u64; 3],
    model: Model,
    session: Session,
    seen: Seen,
}

impl World {
    fn new(protocol: &str, seed: u64) -> World {
        let elector = election::find(protocol).unwrap().elector;
        let mut model = Model::new();
        let session = model.open();
        let bench = Bench::new(3, TIMINGS, seed, elector);
        World { bench, requests: Vec::new(), leases: [0; 3], model, session, seen: Seen::default() }
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.bench.now() < CALM_FROM && self.bench.draw(n) == 0
    }

    /// Mostly a few milliseconds, occasionally longer than a lease.
    fn latency(&mut self) -> u64 {
        let most = if self.one_in(30) { 5 * SECOND } else { 5 * MILLISECOND };
        1 + self.bench.draw(most)
    }

    fn run(mut self) -> Seen {
        let started = self.bench.start_all();
        started.into_iter().for_each(|step| self.happened(step));
        while let Some(step) = self.bench.next(END) {
            self.happened(step);
        }
        self.seen
    }

    fn happened(&mut self, step: Step<Box<AnyElector>>) {
        assert_eq!(self.bench.broken(), None);
        if let Event::Alarm(number) = step.event {
            self.arrived(self.requests[number as usize].clone());
        }
        let Some(node) = step.node() else { return };
        for output in step.outputs {
            self.output(node, output);
        }
        if self.one_in(60) {
            let until = step.at + self.bench.draw(6 * SECOND);
            self.bench.pause(node, until);
        }
    }

    /// A request reaches the server, whose answer is sent back unless it is lost.
    fn arrived(&mut self, (node, number, request): (NodeId, u64, Request)) {
        let reply = Ok(self.serve(&request).erase());
        if !self.one_in(20) {
            let at = self.bench.now() + self.latency();
            self.bench.give_at(at, node, Input::Service(ServiceInput::Reply { number, reply }));
        }
    }

    fn output(&mut self, node: NodeId, output: Output) {
        let now = self.bench.now();
        match output {
            Output::Service(ServiceOutput::Request { number, request, .. }) if !self.one_in(20) => {
                let at = now + self.latency();
                self.bench.alarm(at, self.requests.len() as u64);
                self.requests.push((node, number, Request::restore(request).expect("a request to Redis")));
            }
            Output::Elected(leadership) => {
                self.seen.elections += 1;
                self.seen.tokens.push(leadership.token);
                self.lease(node, leadership.valid_until);
                // Occasionally the resource refuses a write, or an operator asks for a resignation.
                if self.one_in(10) {
                    self.bench.give_at(now + SECOND, node, Input::Fenced);
                } else if self.one_in(10) {
                    self.bench.give_at(now + SECOND, node, Input::Resign);
                }
            }
            Output::Renewed(leadership) => self.lease(node, leadership.valid_until),
            Output::Deposed(_) => self.leases[node.index()] = self.leases[node.index()].min(now),
            _ => {}
        }
    }

    /// A lease is a promise about the future: no two may be open at once, even if a paused node does not know.
    fn lease(&mut self, node: NodeId, until: u64) {
        let now = self.bench.now();
        self.leases[node.index()] = until;
        self.seen.led_when_calm |= now > CALM_FROM + 10 * SECOND;
        let open = self.leases.iter().filter(|until| **until > now).count();
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
            Request::Lock { .. } | Request::HandOver { .. } => panic!("none of these elections asks {request:?}"),
            Request::AcquireFenced { key: lock, token_key, value, ttl_ms } => {
                (key, ttl) = (lock, ttl_ms.to_string());
                vec!["EVAL", ACQUIRE_FENCED, "2", key, token_key, value, &ttl]
            }
        };
        let args: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let reply = self.model.apply(&mut self.session, self.bench.now() / MILLISECOND, &args);
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
        // A token may be lost with its answer, and an answer may be late; but the leases do not overlap, so the order
        // holds.
        assert!(seen.tokens.is_sorted_by(|before, after| before < after), "seed {seed}: {:?}", seen.tokens);
        assert_ne!(seen.tokens.first(), Some(&0), "seed {seed}");
    }
}

#[test]
fn the_naive_one_overlaps() {
    let broken = many("redis-naive").iter().filter(|seen| seen.overlaps > 0).count();
    assert!(broken > 200, "only {broken} of 300 worlds show what is wrong with it");
}
