use super::{super::seated::Seated, *};
use protocols::{
    election::{self, Protocol, Setup, Timings},
    elector::{AnyElector, boxed},
    error::Failure,
    node::Place,
    payload::Opaque,
    service::{etcd, redis},
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};

/// A node with one of the protocols; the test acts as its service and store.
struct Bench {
    watched: Watched,
    metrics: Arc<Metrics>,
    now: u64,
    timers: BTreeMap<u16, u64>,
    /// Unanswered requests to the service, the latest last.
    asked: Vec<(RequestNumber, Opaque)>,
    streams: Vec<(StreamNumber, Opaque)>,
    ending: Arc<AtomicBool>,
}

const STORE: NodeId = NodeId(3);

impl Bench {
    fn new(protocol: &str) -> Bench {
        Bench::of(protocol, |protocol, setup| (protocol.elector)(setup))
    }

    fn of(protocol: &str, elector: impl FnOnce(&Protocol, Setup) -> Box<AnyElector>) -> Bench {
        let protocol = election::find(protocol).expect("a known protocol");
        let names = vec!["n1".to_owned(), "n2".to_owned()];
        let timings = Timings {
            lease_ttl: 3 * SECOND,
            renew_interval: SECOND,
            request_timeout: SECOND,
            election_timeout: protocol.election_timeout,
            rules: Default::default(),
            own: Default::default(),
        };
        let setup = Setup {
            group: 0,
            seat: None,
            node: NodeId(0),
            names: names.clone(),
            timings,
            nonce: 7,
            stored: None,
            service: Vec::new(),
            bugs: Default::default(),
        };
        let place =
            Place { node: NodeId(0), store: STORE, starts: 0, tick: SECOND, silence: SECOND, read_lease: false };
        let node = Node::new(place, elector(protocol, setup));
        let (standing, under_way) = (watch::Sender::new(Standing::default()), watch::Sender::new(0));
        let metrics = Arc::new(Metrics::new("n1", "sequence", "test"));
        let health = Arc::new(Health::new(names, protocol.service, "h:1".into()));
        let watched = Watched::new(node, standing, under_way, Arc::default(), metrics.clone(), health, Arc::default());
        let (timers, asked, streams) = Default::default();
        let ending = watched.ending.clone();
        let mut bench = Bench { watched, metrics, now: 10 * SECOND, timers, asked, streams, ending };
        bench.step(Input::Start);
        bench
    }

    fn step(&mut self, input: Input) {
        let mut out = Vec::new();
        self.watched.step(Now { mono: self.now, wall: self.now }, input, &mut out);
        for output in out {
            match output {
                Output::SetTimer { id, at } => drop(self.timers.insert(id, at)),
                Output::CancelTimer(id) => drop(self.timers.remove(&id)),
                Output::Service(output) => match *output {
                    ServiceOutput::Request { number, request, .. } => self.asked.push((number, request)),
                    ServiceOutput::Cancel(number) => self.asked.retain(|(asked, _)| *asked != number),
                    ServiceOutput::Open { number, request } => self.streams.push((number, request)),
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// Advances time to that timer.
    fn until(&mut self, timer: u16) {
        self.now = self.timers.remove(&timer).expect("the timer is set");
        self.step(Input::Timer(timer));
    }

    /// Answers the latest request.
    fn reply(&mut self, reply: Result<impl Payload, Failure>) {
        let (number, _) = self.asked.pop().expect("something is asked");
        let reply = reply.map(Payload::erase);
        self.step(Input::Service(Box::new(ServiceInput::Reply { number, reply })));
    }

    /// Hands the node the store's answer to a seal or a write.
    fn stored(&mut self, message: Message) {
        self.step(Input::Message { from: STORE, message });
    }

    fn sealed(&mut self, token: u64, verdict: WriteVerdict) {
        for resource in Resource::USUAL {
            self.stored(match verdict {
                WriteVerdict::Fenced { highest } => Message::SealRefused { resource, generation: 1, token, highest },
                _ => Message::Sealed { resource, generation: 1, token, seq: 0, version: 0, payload: None },
            });
        }
    }

    fn assert_shows(&self, lines: &[&str]) {
        let standing = *self.watched.standing.borrow();
        let text = self.metrics.exposition("sequence", &standing, &self.watched.health, self.now);
        for line in lines {
            assert!(text.lines().any(|shown| shown == *line), "`{line}` is not in:\n{text}");
        }
    }
}

fn failed() -> Failure {
    Failure::Unknown("timed out".into())
}

/// A node that waited long before leadership became free did not elect slowly.
#[test]
fn a_waiters_clock_starts_when_leadership_becomes_free() {
    let (mut bench, poll) = (Bench::new("redis-fenced"), 0);
    for _ in 0..5 {
        bench.reply(Ok(redis::Reply::Token(None)));
        bench.reply(Ok(redis::Reply::Value(Some(b"n2/1/1".to_vec()))));
        bench.until(poll);
    }
    bench.now += 3 * MILLISECOND;
    bench.reply(Ok(redis::Reply::Token(Some(9))));
    let text = bench.metrics.exposition("sequence", &Standing::default(), &bench.watched.health, bench.now);
    let sum = text.lines().find_map(|line| line.strip_prefix("fencepost_campaign_seconds_sum "));
    let sum: f64 = sum.and_then(|sum| sum.parse().ok()).expect("a sum");
    // The elector polls every second; it has waited for five seconds.
    assert!((0.7..1.0).contains(&sum), "{sum}");
    bench.assert_shows(&["fencepost_campaign_seconds_count 1"]);
}

#[test]
fn only_renewals_count_as_renewals_that_failed() {
    let mut bench = Bench::new("etcd-election");
    let observing = bench.asked.pop().expect("it asks who leads");
    bench.reply(Ok(etcd::Reply::Granted { lease: 1, ttl_s: 3 }));
    let created = etcd::Reply::Created { created: true, create_revision: 5, value: "n1".into(), lease: 7, revision: 5 };
    bench.reply(Ok(created));
    bench.reply(Ok(etcd::Reply::Found { key: None, revision: 5 }));
    assert!(bench.watched.standing.borrow().incarnation.is_some());
    bench.asked.push(observing);
    bench.reply(Err::<Opaque, _>(failed()));
    bench.assert_shows(&["fencepost_service_failures_total 1", "fencepost_renewal_failures_total 0"]);
    let keepalive = bench.streams[0].0;
    bench.step(Input::Service(Box::new(ServiceInput::Ended { number: keepalive, failure: failed() })));
    bench.assert_shows(&["fencepost_service_failures_total 2", "fencepost_renewal_failures_total 1"]);
}

#[test]
fn transitions_are_from_one_role_to_another() {
    let (mut bench, renew) = (Bench::new("redis-fenced"), 1);
    bench.reply(Ok(redis::Reply::Token(None)));
    bench.reply(Ok(redis::Reply::Value(Some(b"n2/1/1".to_vec()))));
    bench.until(0);
    bench.reply(Ok(redis::Reply::Token(Some(9))));
    bench.sealed(9, WriteVerdict::Ok);
    bench.until(renew);
    bench.reply(Ok(redis::Reply::Done(true)));
    bench.until(renew);
    bench.reply(Ok(redis::Reply::Done(false)));
    let transition =
        |from: &str, to: &str| format!("fencepost_transitions_total{{node=\"n1\",from=\"{from}\",to=\"{to}\"}} 1");
    bench.assert_shows(&[
        &transition("candidate", "follower"),
        &transition("follower", "leader"),
        &transition("leader", "follower"),
        "fencepost_renewals_total 1",
        "fencepost_renewal_failures_total 0",
        "fencepost_service_up 1",
    ]);
}

/// A leader's writes are timed, and once its store falls silent it does not act.
#[test]
fn a_leader_whose_store_is_silent_does_not_act() {
    let mut bench = Bench::new("redis-fenced");
    bench.reply(Ok(redis::Reply::Token(Some(9))));
    bench.sealed(9, WriteVerdict::Ok);
    let request = protocols::types::RequestId { client: NodeId(1024), number: 1 };
    bench.step(Input::Message { from: NodeId(1024), message: Message::Next { request } });
    bench.now += 4 * MILLISECOND;
    let written =
        Message::Written { resource: Resource::SEQUENCE, generation: 1, seq: 1, request, verdict: WriteVerdict::Ok };
    bench.stored(written);
    bench.assert_shows(&[
        "fencepost_node_acting 1",
        "fencepost_write_seconds_count 1",
        "fencepost_write_seconds_sum 0.004",
        "fencepost_last_write_accepted_age_seconds 0.0",
        "fencepost_build_info{version=\"0.1.0\",commit=\"test\"} 1",
    ]);
    bench.step(Input::Message {
        from: NodeId(1024),
        message: Message::Next { request: protocols::types::RequestId { number: 2, ..request } },
    });
    bench.now += SECOND;
    bench.assert_shows(&[
        "fencepost_node_acting 0",
        "fencepost_store_up 0",
        "fencepost_last_write_accepted_age_seconds 1.0",
        "fencepost_lease_remaining_seconds 1.996",
    ]);
}

/// The answers of a service that has lost its data: tokens from 1 on.
fn forgetful(request: &Opaque, drawn: &mut i64) -> Opaque {
    match request.get() {
        Some(redis::Request::AcquireFenced { .. }) => {
            *drawn += 1;
            return redis::Reply::Token(Some(*drawn as u64)).erase();
        }
        Some(redis::Request::Get { .. }) => return redis::Reply::Value(None).erase(),
        Some(_) => return redis::Reply::Done(true).erase(),
        None => {}
    }
    let reply = match request.get() {
        Some(etcd::Request::Grant { ttl_s }) => etcd::Reply::Granted { lease: *drawn, ttl_s: *ttl_s },
        Some(etcd::Request::CreateKey { value, .. }) => {
            *drawn += 1;
            let (created, create_revision) = (true, *drawn + 1);
            etcd::Reply::Created { created, create_revision, value: value.clone(), lease: 7, revision: create_revision }
        }
        Some(etcd::Request::Revoke { .. }) => etcd::Reply::Revoked,
        _ => etcd::Reply::Found { key: None, revision: 5 },
    };
    reply.erase()
}

/// The resource has seen 2001, so every leadership is refused at its seal.
#[test]
fn a_service_that_lost_its_data_is_not_asked_dozens_of_times_a_second() {
    for protocol in ["redis-fenced", "etcd-election"] {
        let (mut bench, mut drawn, mut elections) = (Bench::new(protocol), 0, 0);
        let end = bench.now + 60 * SECOND;
        while bench.now < end {
            let standing = bench.watched.standing.borrow().incarnation;
            if let Some(incarnation) = standing {
                elections += 1;
                let (resource, generation, token) = (Resource::SEQUENCE, incarnation.generation, incarnation.token);
                bench.stored(Message::SealRefused { resource, generation, token, highest: 2001 });
            } else if let Some((_, request)) = bench.asked.last() {
                let reply = forgetful(&request.clone(), &mut drawn);
                bench.now += MILLISECOND;
                bench.reply(Ok(reply));
            } else {
                let next = bench.timers.iter().map(|(id, at)| (*at, *id)).min();
                bench.until(next.expect("it tries again").1);
            }
        }
        // 0, 0.5, 1, 2, 4, 8 and 16 s between them, and 16 s from then on.
        assert!((6..=12).contains(&elections), "{protocol}: {elections} elections in a minute");
        let why = bench.watched.health.trouble(bench.now).unwrap_or_default();
        assert!(why.contains("raise-token") && why.contains("--above 2001"), "{protocol}: {why}");
    }
}

/// A node that resigns because it is about to end does not campaign again; otherwise nobody could lead before its lease
/// expires.
#[test]
fn a_node_that_ends_does_not_stand_again() {
    for ending in [false, true] {
        let mut bench = Bench::new("etcd-election");
        let _observing = bench.asked.pop().expect("it asks who leads");
        bench.reply(Ok(etcd::Reply::Granted { lease: 1, ttl_s: 3 }));
        let created =
            etcd::Reply::Created { created: true, create_revision: 5, value: "n1".into(), lease: 7, revision: 5 };
        bench.reply(Ok(created));
        bench.reply(Ok(etcd::Reply::Found { key: None, revision: 5 }));
        bench.ending.store(ending, Ordering::Relaxed);
        bench.sealed(5, WriteVerdict::Ok);
        bench.step(Input::Resign);
        bench.reply(Ok(etcd::Reply::Deleted { done: true }));
        let stands =
            bench.asked.iter().any(|(_, request)| matches!(request.get(), Some(etcd::Request::CreateKey { .. })));
        assert_eq!(stands, !ending);
        // The request from its start is still unanswered.
        assert_eq!(*bench.watched.under_way.borrow(), 1 + u64::from(stands));
    }
}

/// Redis answers `SET NX` on a key of the wrong type as on any that exists, and refuses only to read it.
#[test]
fn a_service_that_cannot_say_who_leads_is_not_healthy_between_two_refusals() {
    let mut bench = Bench::new("redis-fenced");
    for _ in 0..5 {
        bench.reply(Ok(redis::Reply::Token(None)));
        bench.reply(Err::<Opaque, _>(Failure::Rejected("WRONGTYPE".into())));
        bench.assert_shows(&["fencepost_service_up 0"]);
        bench.until(0);
        bench.reply(Ok(redis::Reply::Token(None)));
        bench.assert_shows(&["fencepost_service_up 0"]);
        bench.reply(Err::<Opaque, _>(Failure::Rejected("WRONGTYPE".into())));
        bench.until(0);
    }
    bench.reply(Ok(redis::Reply::Token(None)));
    bench.reply(Ok(redis::Reply::Value(Some(b"n2/1/1".to_vec()))));
    bench.assert_shows(&["fencepost_service_up 1"]);
}

/// What the seat asks of the service counts as if the node had asked it.
#[test]
fn the_seats_requests_are_the_nodes() {
    let mut bench = Bench::of("etcd-election-from-sending", |_, _| boxed(Seated::of(NodeId(0), 2)));
    let told = |bench: &mut Bench, news: News| {
        bench.step(Input::Service(Box::new(ServiceInput::Item { number: 0, item: news.erase() })));
    };
    let renews = etcd::StreamRequest::Keepalive { lease: 7, ttl_s: 3 }.erase();
    let ask = |number| {
        News::Asks(ServiceOutput::Request {
            number,
            request: etcd::Request::Grant { ttl_s: 3 }.erase(),
            timeout: SECOND,
            concurrent: false,
        })
    };
    told(&mut bench, ask(1));
    told(&mut bench, News::Asks(ServiceOutput::Open { number: 1, request: renews }));
    assert_eq!(*bench.watched.under_way.borrow(), 1);
    told(&mut bench, News::Hears(ServiceInput::Reply { number: 1, reply: Err(failed()) }));
    assert_eq!(*bench.watched.under_way.borrow(), 0);
    bench.assert_shows(&["fencepost_service_failures_total 1", "fencepost_renewal_failures_total 0"]);

    let leadership = Leadership { token: 5, valid_until: bench.now + 3 * SECOND };
    told(&mut bench, News::Leads(leadership));
    assert_eq!(bench.watched.standing.borrow().valid_until, leadership.valid_until);
    told(&mut bench, News::Hears(ServiceInput::Ended { number: 1, failure: failed() }));
    bench.assert_shows(&["fencepost_service_failures_total 2", "fencepost_renewal_failures_total 1"]);
    // A seat that lets go waits for no answer.
    told(&mut bench, ask(2));
    told(&mut bench, News::Ends);
    assert_eq!(*bench.watched.under_way.borrow(), 0);
    // An order is for the seat, and no stream of the service's.
    bench.sealed(5, WriteVerdict::Ok);
    bench.step(Input::Resign);
    assert!(bench.streams.iter().any(|(_, request)| is_order(request)));
    assert!(bench.watched.streams.is_empty());
}
