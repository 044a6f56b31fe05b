//! Several groups on one process: what each says and hears, and what they share.

use protocols::{
    clock::Now,
    core::{Core, Input, Output},
    division::Division,
    elector::{self, Elector, boxed},
    history::Kind,
    message::{Message, WriteVerdict},
    multiplexer::{Multiplexer, parts},
    node::{Node, Place, STORE_SILENCE},
    payload::{Opaque, Payload},
    point::Point,
    types::{Leadership, MILLISECOND, NodeId, RequestId, Resource},
    work::Works,
};

const STORE: NodeId = NodeId(3);
/// Clients: two of group 0, two of group 1.
const FIRST_CLIENT: NodeId = NodeId(4);
const TIMERS: u16 = 32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Hello(u64);

impl Payload for Hello {
    fn kind(&self) -> &'static str {
        "hello"
    }
}

/// Leads from the start with its own token, greets, and keeps what it is greeted with on disk.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Scripted(u64);

impl Elector for Scripted {
    type Peer = Hello;
    type Service = protocols::payload::Nothing;

    fn step(
        &mut self,
        _: Now,
        input: elector::Input<Hello, Self::Service>,
        out: &mut Vec<elector::Output<Hello, Self::Service>>,
    ) {
        match input {
            elector::Input::Start => {
                out.push(elector::Output::Send { to: NodeId(1), message: Hello(self.0) });
                out.push(elector::Output::SetTimer { id: 2, at: 7 });
                out.push(elector::Output::Elected(Leadership { token: self.0, valid_until: u64::MAX }));
            }
            elector::Input::Peer { message: Hello(what), .. } => out.push(elector::Output::Persist(vec![what as u8])),
            elector::Input::Persisted => out.push(elector::Output::SetTimer { id: 3, at: self.0 }),
            elector::Input::Resign => out.push(elector::Output::Deposed(elector::Deposed::Resigned)),
            _ => {}
        }
    }
}

fn at(mono: u64) -> Now {
    Now { mono, wall: 0 }
}

struct Process {
    core: Multiplexer,
}

impl Process {
    fn new() -> Self {
        let place = Place {
            node: NodeId(0),
            store: STORE,
            starts: 0,
            tick: u64::MAX / 2,
            silence: STORE_SILENCE,
            read_lease: false,
        };
        let node = |token| -> Box<dyn Core> { Box::new(Node::new(place, boxed(Scripted(token)))) };
        let division = Division { groups: 2, resources: 2, first_client: FIRST_CLIENT, clients: 2 };
        assert!(Node::timers(&Works::default()) <= TIMERS);
        Process { core: Multiplexer::new(vec![node(50), node(51)], division, TIMERS, Vec::new()) }
    }

    fn step(&mut self, mono: u64, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.core.step(at(mono), input, &mut out);
        out
    }

    fn says(&mut self, mono: u64, message: Message) -> Vec<Output> {
        self.step(mono, Input::Message { from: STORE, message })
    }

    /// Both groups lead, and every resource is sealed.
    fn leading() -> Self {
        let mut process = Process::new();
        let seals = sent(&process.step(0, Input::Start));
        assert_eq!(seals.len(), 4);
        for message in seals {
            let Message::Seal { resource, generation, token } = message else { panic!("{message:?}") };
            process.says(1, Message::Sealed { resource, generation, token, seq: 0, version: 0, payload: None });
        }
        process
    }
}

fn sent(out: &[Output]) -> Vec<Message> {
    let sent = |output: &Output| if let Output::Send { message, .. } = output { Some(*message) } else { None };
    out.iter().filter_map(sent).collect()
}

fn request(client: u16, number: u64) -> RequestId {
    RequestId { client: NodeId(FIRST_CLIENT.0 + client), number }
}

#[test]
fn each_group_seals_its_own_resources_with_its_own_token() {
    let out = Process::new().step(0, Input::Start);
    let seal = |message: Message| match message {
        Message::Seal { resource, token, .. } => (resource.0, token),
        other => panic!("{other:?}"),
    };
    assert_eq!(sent(&out).into_iter().map(seal).collect::<Vec<_>>(), [(0, 50), (1, 50), (2, 51), (3, 51)]);
    // Whose election it is, an event says that is not of the first group.
    let elected = |output: &Output| match output {
        Output::Record(Kind::Elected(incarnation)) => Some((0, incarnation.token)),
        Output::OfGroup(group, output) => match **output {
            Output::Record(Kind::Elected(incarnation)) => Some((*group, incarnation.token)),
            _ => None,
        },
        _ => None,
    };
    assert_eq!(out.iter().filter_map(elected).collect::<Vec<_>>(), [(0, 50), (1, 51)]);
    let timers = out.iter().filter_map(|o| if let Output::SetTimer { id, at: 7 } = o { Some(*id) } else { None });
    assert_eq!(timers.collect::<Vec<_>>(), [2, TIMERS + 2]);
}

#[test]
fn a_client_is_served_by_its_own_group() {
    let mut process = Process::leading();
    for (client, resource, token) in [(0, 0, 50), (1, 0, 50), (2, 2, 51), (3, 2, 51)] {
        let out =
            process.step(2, Input::Message { from: NodeId(4), message: Message::Next { request: request(client, 1) } });
        let [Message::Write(write)] = sent(&out)[..] else { panic!("{out:?}") };
        assert_eq!((write.resource, write.token), (Resource(resource), token), "client {client}");
        let issued = out.iter().any(|o| matches!(o, Output::Record(Kind::Issue { write: w, .. }) if *w == write));
        assert!(issued, "{out:?}");
        let point = |o: &Output| match o {
            Output::Point(Point::LeaseChecked) => Some(0),
            Output::OfGroup(group, o) if matches!(**o, Output::Point(Point::LeaseChecked)) => Some(*group),
            _ => None,
        };
        assert_eq!(out.iter().find_map(point), Some(resource / 2));
        let (generation, seq, verdict) = (write.generation, write.seq, WriteVerdict::Ok);
        let told = Message::Written { resource: write.resource, generation, seq, request: write.request(), verdict };
        let answer = sent(&process.says(3, told));
        assert!(matches!(answer[..], [Message::NextIs { token: t, .. }] if t == token), "{answer:?}");
    }
    let out = process.step(4, Input::Message { from: NodeId(6), message: Message::Read { request: request(2, 2) } });
    assert!(matches!(sent(&out)[..], [Message::ReadStore { resource: Resource(2), token: 51, .. }]), "{out:?}");
}

#[test]
fn what_is_said_to_a_group_comes_to_it_and_what_it_keeps_comes_back() {
    let (mut process, mut other) = (Process::new(), Process::new());
    let said: Vec<Opaque> = process
        .step(0, Input::Start)
        .into_iter()
        .filter_map(|output| if let Output::Tell { message, .. } = output { Some(message) } else { None })
        .collect();
    assert_eq!(said.iter().map(Payload::kind).collect::<Vec<_>>(), ["hello", "hello"]);
    assert_eq!(said[0], Hello(50).erase(), "the first group says what it would alone");
    assert_ne!(said[1], Hello(51).erase());
    other.step(0, Input::Start);
    let mut kept = Vec::new();
    for message in said.into_iter().rev() {
        let out = other.step(1, Input::Peer { from: NodeId(0), message });
        kept.extend(out.into_iter().filter_map(|o| if let Output::Persist(state) = o { Some(state) } else { None }));
    }
    assert_eq!(parts(Some(&kept[0]), 2), [None, Some(vec![51])]);
    assert_eq!(parts(Some(&kept[1]), 2), [Some(vec![50]), Some(vec![51])]);
    // Group 1 asked first, and is told first.
    let told = |out: Vec<Output>| {
        out.into_iter().find_map(|o| if let Output::SetTimer { id, at } = o { Some((id, at)) } else { None })
    };
    assert_eq!(told(other.step(2, Input::Persisted)), Some((TIMERS + 3, 51)));
    assert_eq!(told(other.step(2, Input::Persisted)), Some((3, 50)));
    assert_eq!(told(other.step(2, Input::Persisted)), None);
}

#[test]
fn an_order_is_for_one_group() {
    let mut process = Process::leading();
    let deposed = |out: &[Output]| -> Vec<u16> {
        let group = |output: &Output| match output {
            Output::Record(Kind::Deposed { .. }) => Some(0),
            Output::OfGroup(group, o) if matches!(**o, Output::Record(Kind::Deposed { .. })) => Some(*group),
            _ => None,
        };
        out.iter().filter_map(group).collect()
    };
    assert_eq!(deposed(&process.step(2, Input::Resign.of_group(1))), [1]);
    assert_eq!(deposed(&process.step(3, Input::Resign.of_group(1))), Vec::<u16>::new(), "it leads no more");
    assert_eq!(deposed(&process.step(3, Input::Resign)), [0]);
}

/// All share the connection to the store. When one gives it up, what others have under way on it is not answered any more.
#[test]
fn a_connection_that_one_group_gives_up_is_gone_for_all() {
    let mut process = Process::leading();
    let ask = |client, number| Input::Message {
        from: NodeId(4),
        message: Message::Next { request: request(client, number) },
    };
    let first = sent(&process.step(10, ask(0, 1)));
    // Group 1's write is younger, and not overdue yet when group 0's is.
    let late = STORE_SILENCE * 2 / 3;
    let (mut mono, mut young) = (10, Vec::new());
    let given_up = loop {
        mono += 300 * MILLISECOND;
        if mono > late && young.is_empty() {
            young = sent(&process.step(mono, ask(2, 1)));
        }
        // The timer by which each group looks whether the store is silent.
        let out: Vec<Output> =
            [16, TIMERS + 16].into_iter().flat_map(|id| process.step(mono, Input::Timer(id))).collect();
        if out.iter().any(|output| matches!(output, Output::Redial { to: STORE })) {
            break out;
        }
        assert!(mono < 10 * STORE_SILENCE, "nobody gave it up");
    };
    assert_eq!(given_up.iter().filter(|output| matches!(output, Output::Redial { .. })).count(), 1);
    assert_eq!(sent(&given_up), first, "its own is sent again at once");
    let again = |output: &Output| match output {
        Output::SetTimer { id, at } if *id == TIMERS + 17 => Some(*at),
        _ => None,
    };
    let at = given_up.iter().find_map(again).expect("the other group's in a moment");
    // Until then it sends nothing that could get ahead.
    assert_eq!(sent(&process.step(mono + 1, ask(2, 2))), []);
    let resent = sent(&process.step(at, Input::Timer(TIMERS + 17)));
    assert_eq!((resent.len(), resent[0]), (2, young[0]), "{resent:?}");
}
