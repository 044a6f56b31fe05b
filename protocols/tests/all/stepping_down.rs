//! A leader steps down when the store has been silent for too long, and stands aside; and nobody stands aside for nothing.

use protocols::{
    bug::Bugs,
    clock::Now,
    core::{Core, Input, Output},
    election::{Setup, lowest_id, token_counter},
    elector::{self, AnyElector, Deposed, ELECTOR_TIMERS, Elector, boxed},
    history::Kind,
    message::{Message, WriteVerdict},
    node::{Node, Place, STORE_SILENCE, Tenure},
    payload::{Nothing, Payload},
    service::counter,
    types::{Leadership, MILLISECOND, NodeId, RequestId, Resource, SECOND},
};

const STORE: NodeId = NodeId(3);
const CLIENT: NodeId = NodeId(4);
const TOKEN: u64 = 5;
/// How much later than its patience allows a leader may notice: it looks now and then.
const LOOKS: u64 = 800 * MILLISECOND;

/// Leads from the start until it is told to stop, and again when it is told that something is on disk. It keeps on disk for
/// how long it is to stand aside.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Scripted;

impl Elector for Scripted {
    type Peer = Nothing;
    type Service = Nothing;

    fn step(
        &mut self,
        _: Now,
        input: elector::Input<Nothing, Nothing>,
        out: &mut Vec<elector::Output<Nothing, Nothing>>,
    ) {
        out.push(match input {
            elector::Input::Start | elector::Input::Persisted => {
                elector::Output::Elected(Leadership { token: TOKEN, valid_until: u64::MAX })
            }
            elector::Input::Resign => elector::Output::Deposed(Deposed::Resigned),
            elector::Input::StandAside(length) => elector::Output::Persist(length.to_le_bytes().to_vec()),
            _ => return,
        });
    }
}

/// A leader, and when it looks at the store next.
struct Bench {
    node: Node,
    generation: u32,
    look_at: Option<u64>,
    /// When it stepped down for a silent store, and for how long it stands aside.
    gave_up: Vec<(u64, u64)>,
}

impl Bench {
    fn elected(step_down_after: u64) -> Self {
        let place = Place {
            node: NodeId(0),
            store: STORE,
            starts: 0,
            tick: u64::MAX / 2,
            silence: STORE_SILENCE,
            read_lease: false,
        };
        let tenure = Tenure { step_down_after, ..Tenure::default() };
        let node = Node::new(place, boxed(Scripted)).with_tenure(tenure);
        let mut bench = Bench { node, generation: 1, look_at: None, gave_up: Vec::new() };
        bench.step(0, Input::Start);
        bench
    }

    fn again(&mut self, at: u64) {
        self.generation += 1;
        self.step(at, Input::Persisted);
    }

    fn step(&mut self, at: u64, input: Input) {
        let mut out = Vec::new();
        self.node.step(Now { mono: at, wall: 0 }, input, &mut out);
        let mut stuck = false;
        for output in out {
            match output {
                Output::SetTimer { id: ELECTOR_TIMERS, at } => self.look_at = Some(at),
                Output::CancelTimer(ELECTOR_TIMERS) => self.look_at = None,
                Output::Record(Kind::Deposed { reason, .. }) => stuck = reason == Deposed::Stuck,
                Output::Persist(length) if stuck => {
                    let length = length.try_into().map(u64::from_le_bytes).expect("a length");
                    self.gave_up.push((at, length));
                }
                _ => {}
            }
        }
    }

    fn until(&mut self, end: u64) {
        while let Some(at) = self.look_at.filter(|at| *at <= end) {
            self.look_at = None;
            self.step(at, Input::Timer(ELECTOR_TIMERS));
        }
    }

    fn hear(&mut self, at: u64, message: Message) {
        self.step(at, Input::Message { from: STORE, message });
    }

    fn sealed(&mut self, at: u64) {
        for resource in Resource::USUAL {
            let (generation, token) = (self.generation, TOKEN);
            self.hear(at, Message::Sealed { resource, generation, token, seq: 0, version: 0, payload: None });
        }
    }

    /// A client asks for a number, which the store has to confirm.
    fn asked(&mut self, at: u64) {
        let request = RequestId { client: CLIENT, number: 1 };
        self.step(at, Input::Message { from: CLIENT, message: Message::Next { request } });
    }
}

fn is_soon_after(at: u64, due: u64) -> bool {
    (due..due + LOOKS).contains(&at)
}

#[test]
fn a_leader_whose_store_is_silent_steps_down_in_time_and_stands_aside() {
    let mut bench = Bench::elected(SECOND);
    bench.until(60 * SECOND);
    let [(at, length)] = bench.gave_up[..] else { panic!("{:?}", bench.gave_up) };
    assert!(is_soon_after(at, SECOND), "{at}");
    assert_eq!(length, 10 * SECOND);
}

#[test]
fn a_leader_to_which_nothing_is_owed_stays() {
    let mut bench = Bench::elected(SECOND);
    bench.sealed(MILLISECOND);
    bench.until(60 * SECOND);
    assert_eq!(bench.gave_up, []);
    // What is owed for less than that, again and again, is no silence.
    for second in 60..70 {
        let at = second * SECOND;
        bench.asked(at);
        bench.until(at + 600 * MILLISECOND);
        let (generation, seq) = (bench.generation, second - 59);
        let request = RequestId { client: CLIENT, number: 1 };
        let verdict = WriteVerdict::Ok;
        bench.hear(
            at + 600 * MILLISECOND,
            Message::Written { resource: Resource::SEQUENCE, generation, seq, request, verdict },
        );
    }
    assert_eq!(bench.gave_up, []);
}

#[test]
fn a_leader_that_is_not_to_step_down_never_does() {
    let mut bench = Bench::elected(0);
    bench.until(600 * SECOND);
    assert_eq!(bench.gave_up, []);
}

#[test]
fn it_waits_and_stands_aside_for_twice_as_long_each_time_until_the_store_has_answered() {
    let mut bench = Bench::elected(SECOND);
    let mut elected_at = 0;
    for (place, factor) in [1, 2, 4, 8, 8].into_iter().enumerate() {
        bench.until(elected_at + 60 * SECOND);
        assert_eq!(bench.gave_up.len(), place + 1);
        let (at, length) = bench.gave_up[place];
        assert!(is_soon_after(at, elected_at + factor * SECOND), "{place}: {at} after {elected_at}");
        assert_eq!(length, 10 * factor * SECOND, "{place}");
        elected_at = at + 60 * SECOND;
        bench.again(elected_at);
    }
    bench.sealed(elected_at);
    bench.until(elected_at + SECOND);
    bench.asked(elected_at + SECOND);
    bench.until(elected_at + 60 * SECOND);
    let (at, length) = bench.gave_up[5];
    assert!(is_soon_after(at, elected_at + 2 * SECOND), "{at} after {elected_at}");
    assert_eq!(length, 10 * SECOND, "the store had answered");
}

fn setup() -> Setup {
    let timings = lowest_id::PROTOCOL.default_timings();
    let names = vec!["n1".to_owned(), "n2".to_owned(), "n3".to_owned()];
    let (node, service, bugs) = (NodeId(0), vec![STORE], Bugs::default());
    Setup { node, group: 0, seat: None, names, timings, nonce: 1, stored: None, service, bugs }
}

/// An elector, and its timers.
struct Alone {
    elector: Box<AnyElector>,
    timers: [Option<u64>; ELECTOR_TIMERS as usize],
    /// When it was elected, and when it was deposed.
    elected: Vec<u64>,
    deposed: Vec<u64>,
    /// When it asked the counter for a token, and with which request.
    draws: Vec<(u64, u64)>,
}

impl Alone {
    fn start(elector: Box<AnyElector>) -> Self {
        let timers = [None; ELECTOR_TIMERS as usize];
        let mut alone = Alone { elector, timers, elected: Vec::new(), deposed: Vec::new(), draws: Vec::new() };
        alone.step(0, elector::Input::Start);
        alone
    }

    fn step(&mut self, at: u64, input: elector::Input) {
        let mut out = Vec::new();
        self.elector.step(Now { mono: at, wall: at }, input, &mut out);
        for output in out {
            match output {
                elector::Output::SetTimer { id, at } => self.timers[usize::from(id)] = Some(at),
                elector::Output::CancelTimer(id) => self.timers[usize::from(id)] = None,
                elector::Output::Elected(_) => self.elected.push(at),
                elector::Output::Deposed(_) => self.deposed.push(at),
                elector::Output::Send { to: STORE, message } => {
                    if let Some(counter::Message::Draw { request }) = message.get::<counter::Message>() {
                        self.draws.push((at, *request));
                    }
                }
                _ => {}
            }
        }
    }

    /// Fires timers until then; and another candidate says every second that it leads.
    fn until(&mut self, from: u64, end: u64, leader: Option<NodeId>) {
        let mut speaks_at = from;
        loop {
            let due = self.timers.iter().enumerate().filter_map(|(id, at)| Some(((*at)?, id))).min();
            match (due.filter(|(at, _)| *at <= end), leader.filter(|_| speaks_at <= end)) {
                (Some((at, id)), said) if said.is_none() || at <= speaks_at => {
                    self.timers[id] = None;
                    self.step(at, elector::Input::Timer(id as u16));
                }
                (_, Some(from)) => {
                    let message = lowest_id::Message::Advertisement.erase();
                    self.step(speaks_at, elector::Input::Peer { from, message });
                    speaks_at += SECOND;
                }
                _ => return,
            }
        }
    }
}

#[test]
fn the_lowest_id_lets_a_worse_one_lead_for_as_long_as_it_stands_aside() {
    for (aside, back_from, back_to) in [(0, 0, 6), (10, 10, 16), (40, 40, 46)] {
        let mut n1 = Alone::start((lowest_id::PROTOCOL.elector)(setup()));
        n1.until(0, 5 * SECOND, None);
        assert_eq!(n1.elected.len(), 1);
        n1.step(5 * SECOND, elector::Input::Resign);
        n1.step(5 * SECOND, elector::Input::StandAside(aside * SECOND));
        n1.until(5 * SECOND, 90 * SECOND, Some(NodeId(1)));
        let after = n1.elected[1] - 5 * SECOND;
        assert!((back_from * SECOND..back_to * SECOND).contains(&after), "{aside} s aside: {after}");
    }
}

#[test]
fn the_lowest_id_does_not_stand_aside_for_nobody() {
    let mut n1 = Alone::start((lowest_id::PROTOCOL.elector)(setup()));
    n1.until(0, 5 * SECOND, None);
    n1.step(5 * SECOND, elector::Input::Resign);
    n1.step(5 * SECOND, elector::Input::StandAside(3_600 * SECOND));
    n1.until(5 * SECOND, 90 * SECOND, None);
    // A silence of 3 s, and later than everybody who does not stand aside, within another second.
    let after = n1.elected[1] - 5 * SECOND;
    assert!((4 * SECOND..5 * SECOND).contains(&after), "{after}");
}

#[test]
fn a_draw_that_is_not_answered_is_given_up_each_time_later_until_one_is_answered() {
    let mut n1 = Alone::start((token_counter::LOWEST_ID.elector)(setup()));
    n1.until(0, 300 * SECOND, None);
    assert_eq!((&n1.elected[..], &n1.deposed[..]), (&[][..], &[][..]), "it never had a token");
    // One request after the other, each sent again until it is given up.
    let mut tries: Vec<(u64, u64, u64)> = Vec::new();
    for (at, request) in &n1.draws {
        match tries.last_mut() {
            Some((known, _, last)) if known == request => *last = *at,
            _ => tries.push((*request, *at, *at)),
        }
    }
    let lasted: Vec<u64> = tries.iter().map(|(_, first, last)| (last - first) / SECOND).collect();
    // The last draw is a request timeout, 1 s, before it is given up.
    assert_eq!(lasted[..5], [2, 5, 11, 23, 23]);
    let (request, from) = (tries.last().expect("a draw").0, 300 * SECOND);
    let drawn = counter::Message::Drawn { request, token: 7 }.erase();
    n1.step(from, elector::Input::Peer { from: STORE, message: drawn });
    assert_eq!(n1.elected, [from]);
    let before = n1.draws.len();
    n1.step(from + SECOND, elector::Input::Resign);
    n1.until(from + SECOND, from + 13 * SECOND, None);
    let (first, last) =
        (n1.draws[before].0, n1.draws.iter().skip(before).take_while(|d| d.1 == n1.draws[before].1).last());
    assert_eq!((last.expect("a draw").0 - first) / SECOND, 2, "from the beginning");
}
