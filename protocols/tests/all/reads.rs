//! Reads of the last number: what a leader may answer from memory, and when it has to ask the store or refuse.

use protocols::{
    clock::Now,
    core::{Core, Input, Output},
    elector::{self, Deposed, Elector, boxed},
    history::Kind,
    message::{Message, WriteVerdict},
    node::{Node, Place, STORE_SILENCE},
    payload::Nothing,
    point::Point,
    types::{Leadership, NodeId, RequestId, Resource},
};

const STORE: NodeId = NodeId(3);
const CLIENT: NodeId = NodeId(4);
const TOKEN: u64 = 5;
/// The scripted belief ends here.
const LEASE: u64 = 1_000;

/// Leads from the start until it is told to stop.
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
            elector::Input::Start => elector::Output::Elected(Leadership { token: TOKEN, valid_until: LEASE }),
            elector::Input::Fenced => elector::Output::Deposed(Deposed::Fenced),
            elector::Input::Resign => elector::Output::Deposed(Deposed::Resigned),
            _ => return,
        });
    }
}

struct Bench(Node);

impl Bench {
    /// A node that was elected at 0 and has sealed nothing yet.
    fn elected(read_lease: bool) -> Self {
        let place =
            Place { node: NodeId(0), store: STORE, starts: 0, tick: u64::MAX / 2, silence: STORE_SILENCE, read_lease };
        let mut bench = Bench(Node::new(place, boxed(Scripted)));
        bench.step(0, Input::Start);
        bench
    }

    /// The same after its seals, which found `seq`.
    fn sealed(read_lease: bool, seq: u64) -> Self {
        let mut bench = Bench::elected(read_lease);
        for resource in Resource::USUAL {
            bench.hear(
                1,
                STORE,
                Message::Sealed { resource, generation: 1, token: TOKEN, seq, version: seq, payload: None },
            );
        }
        bench
    }

    fn step(&mut self, mono: u64, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.0.step(Now { mono, wall: 0 }, input, &mut out);
        out
    }

    fn hear(&mut self, mono: u64, from: NodeId, message: Message) -> Vec<Output> {
        self.step(mono, Input::Message { from, message })
    }

    /// What a read is answered with.
    fn read(&mut self, mono: u64, number: u64) -> Vec<(NodeId, Message)> {
        sent(&self.hear(mono, CLIENT, Message::Read { request: request(number) }))
    }
}

fn request(number: u64) -> RequestId {
    RequestId { client: CLIENT, number }
}

fn sent(out: &[Output]) -> Vec<(NodeId, Message)> {
    let message = |o: &Output| match o {
        Output::Send { to, message } => Some((*to, *message)),
        _ => None,
    };
    out.iter().filter_map(message).collect()
}

fn refused(number: u64) -> Vec<(NodeId, Message)> {
    vec![(CLIENT, Message::NotLeader { request: request(number), leader: None })]
}

fn answered(number: u64, seq: u64) -> Vec<(NodeId, Message)> {
    vec![(CLIENT, Message::ReadIs { request: request(number), token: TOKEN, seq })]
}

#[test]
fn memory_is_good_from_the_seal_to_the_end_of_the_lease() {
    for read_lease in [true, false] {
        assert_eq!(Bench::elected(read_lease).read(1, 1), refused(1), "before the seal");
        assert_eq!(Bench::sealed(read_lease, 7).read(LEASE, 1), refused(1), "when the lease is over");
    }
    let mut bench = Bench::sealed(true, 7);
    let out = bench.hear(LEASE - 1, CLIENT, Message::Read { request: request(1) });
    assert!(matches!(out[0], Output::Point(Point::ReadChecked)), "a pause can fall between checking and answering");
    assert_eq!(sent(&out), answered(1, 7));
}

#[test]
fn memory_holds_what_was_told_and_nothing_that_is_under_way() {
    let mut bench = Bench::sealed(true, 7);
    for number in [1, 2] {
        bench.hear(2, CLIENT, Message::Next { request: request(number) });
    }
    assert_eq!(bench.read(3, 3), answered(3, 7), "the store has not answered");
    let written = |number: u64, seq, verdict| Message::Written {
        resource: Resource::SEQUENCE,
        generation: 1,
        seq,
        request: request(number),
        verdict,
    };
    // The second answer comes first.
    bench.hear(4, STORE, written(2, 9, WriteVerdict::Ok));
    assert_eq!(bench.read(5, 4), answered(4, 9));
    let told = bench.hear(6, STORE, written(1, 8, WriteVerdict::Duplicate { seq: 3 }));
    assert_eq!(sent(&told), [(CLIENT, Message::NextIs { request: request(1), token: TOKEN, seq: 3 })]);
    assert_eq!(bench.read(7, 5), answered(5, 9), "a number that was handed out long ago takes nothing back");
}

#[test]
fn nothing_is_read_from_who_hands_over() {
    for read_lease in [true, false] {
        let mut bench = Bench::sealed(read_lease, 7);
        bench.hear(2, CLIENT, Message::Next { request: request(1) });
        // The write is joined first: it leads on, and its lease lasts.
        bench.step(3, Input::Transfer(NodeId(1)));
        assert!(bench.0.standing().resigning);
        assert_eq!(bench.read(4, 2), refused(2));
    }
}

#[test]
fn without_a_lease_for_reads_the_store_decides() {
    let mut bench = Bench::sealed(false, 7);
    let asked = [(
        STORE,
        Message::ReadStore { resource: Resource::SEQUENCE, request: request(1), generation: 1, token: TOKEN },
    )];
    assert_eq!(bench.read(2, 1), asked);
    let store = |verdict, seq| Message::StoreIs { request: request(1), generation: 1, token: TOKEN, verdict, seq };
    assert_eq!(sent(&bench.hear(3, STORE, store(WriteVerdict::Ok, 12))), answered(1, 12));
    let out = bench.hear(4, STORE, store(WriteVerdict::Fenced { highest: 6 }, 12));
    assert_eq!(sent(&out), refused(1));
    let deposed = |o: &Output| matches!(o, Output::Record(Kind::Deposed { reason: Deposed::Fenced, .. }));
    assert!(out.iter().any(deposed), "a newer leader has sealed: {out:?}");
}
