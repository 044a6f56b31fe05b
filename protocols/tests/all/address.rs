//! The address by which clients find the leader: who has it, and who is told what.

use protocols::{
    address::{Directory, Kind, Resolver},
    clock::Now,
    core::{Core, Input, Output, TimerId},
    load::Client,
    message::{Address, Message},
    types::{MILLISECOND, NodeId, RequestId, SECOND},
};

const DIRECTORY: NodeId = NodeId(3);
const CLIENT: NodeId = NodeId(5);

fn at(ms: u64) -> Now {
    Now { mono: ms * MILLISECOND, wall: ms * MILLISECOND }
}

fn step(core: &mut dyn Core, ms: u64, input: Input) -> Vec<Output> {
    let mut out = Vec::new();
    core.step(at(ms), input, &mut out);
    out
}

fn from(from: u16, message: Message) -> Input {
    Input::Message { from: NodeId(from), message }
}

fn said(from_node: u16, said: Address) -> Input {
    from(from_node, Message::Address(said))
}

/// Whom each client is told, and who that client is.
fn told(out: &[Output]) -> Vec<(u16, Option<u16>)> {
    let of = |output: &Output| match output {
        Output::Send { to, message: Message::Address(Address::Is(node)) } => Some((to.0, node.map(|node| node.0))),
        _ => None,
    };
    out.iter().filter_map(of).collect()
}

fn ask(directory: &mut Directory, client: u16) -> Option<u16> {
    told(&step(directory, 0, said(client, Address::Asked)))[0].1
}

#[test]
fn a_virtual_ip_is_announced_once_to_all_and_given_up_by_its_owner() {
    let mut directory = Directory::new(Kind::Vip, 5..7);
    assert_eq!(ask(&mut directory, 5), None);
    assert_eq!(told(&step(&mut directory, 0, said(0, Address::Claimed))), [(5, Some(0)), (6, Some(0))]);
    assert_eq!(told(&step(&mut directory, 0, said(0, Address::Claimed))), []);
    assert_eq!(told(&step(&mut directory, 0, said(1, Address::Claimed))), [(5, Some(1)), (6, Some(1))]);
    step(&mut directory, 0, said(0, Address::Released));
    assert_eq!(ask(&mut directory, 5), Some(1));
    step(&mut directory, 0, said(1, Address::Released));
    assert_eq!(ask(&mut directory, 5), None);
}

#[test]
fn a_record_is_overwritten_and_nobody_hears_of_it() {
    let mut directory = Directory::new(Kind::Dns, 5..7);
    step(&mut directory, 0, said(0, Address::Claimed));
    assert_eq!(told(&step(&mut directory, 0, said(1, Address::Claimed))), []);
    assert_eq!((ask(&mut directory, 5), ask(&mut directory, 6)), (Some(1), Some(1)));
}

#[test]
fn of_two_labels_each_client_is_sent_to_both_in_turn_until_one_is_removed() {
    let mut directory = Directory::new(Kind::Label, 5..7);
    step(&mut directory, 0, said(0, Address::Claimed));
    step(&mut directory, 0, said(1, Address::Claimed));
    let asked: Vec<_> = (0..4).map(|_| (ask(&mut directory, 5), ask(&mut directory, 6))).collect();
    let (here, there) = ((Some(0), Some(1)), (Some(1), Some(0)));
    assert_eq!(asked, [here, there, here, there]);
    step(&mut directory, 0, said(0, Address::Released));
    assert_eq!((ask(&mut directory, 5), ask(&mut directory, 5)), (Some(1), Some(1)));
}

fn asks_for_the_address(out: &[Output]) -> bool {
    let asks =
        |output: &Output| matches!(output, Output::Send { to: DIRECTORY, message: Message::Address(Address::Asked) });
    out.iter().any(asks)
}

/// Who is asked for a number.
fn asked(out: &[Output]) -> Vec<(u16, RequestId)> {
    let of = |output: &Output| match output {
        Output::Send { to, message: Message::Next { request } } => Some((to.0, *request)),
        _ => None,
    };
    out.iter().filter_map(of).collect()
}

/// The timers with which a client asks for a number, looks at what waits, and asks for the address.
const ASK: TimerId = 0;
const SWEEP: TimerId = 1;
const ADDRESS: TimerId = 3;

#[test]
fn a_client_keeps_to_the_address_until_its_ttl_is_over_whatever_it_is_told() {
    let resolver = Resolver::new(DIRECTORY, SECOND, 100 * MILLISECOND);
    let mut client = Client::new(CLIENT, 3, 10 * SECOND, 0, 0).with_address(resolver);
    let out = step(&mut client, 0, Input::Start);
    assert!(asks_for_the_address(&out));
    // Nobody is known yet, and nobody is asked.
    let out = step(&mut client, 0, Input::Timer(ASK));
    assert_eq!(asked(&out), []);
    step(&mut client, 1, said(DIRECTORY.0, Address::Is(Some(NodeId(2)))));
    let out = step(&mut client, 100, Input::Timer(SWEEP));
    let (to, request) = asked(&out)[0];
    assert_eq!(to, 2);
    // A hint is none of its business; it asks the same node again, and not before its patience is over.
    let hint = Message::NotLeader { request, leader: Some(NodeId(0)) };
    assert_eq!(asked(&step(&mut client, 101, from(2, hint))), []);
    assert_eq!(asked(&step(&mut client, 125, Input::Timer(SWEEP))), []);
    assert_eq!(asked(&step(&mut client, 200, Input::Timer(SWEEP))), [(2, request)]);
    // The address has moved: it hears of that when it asks for it again.
    let out = step(&mut client, 1_001, Input::Timer(ADDRESS));
    assert!(asks_for_the_address(&out));
    step(&mut client, 1_002, said(DIRECTORY.0, Address::Is(Some(NodeId(0)))));
    step(&mut client, 1_003, Input::Timer(SWEEP));
    let out = step(&mut client, 10_000, Input::Timer(ASK));
    assert_eq!(asked(&out)[0].0, 0);
}
