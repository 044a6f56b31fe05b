//! Encodes messages and history events as words for the trace's hash. Everything that distinguishes two of them is
//! included.

use protocols::{
    history::{Deleted, Kind, Outcome},
    message::{Address, Message, Write, WriteVerdict},
    payload::{Opaque, Payload as _},
    types::{Incarnation, Payload, RequestId, Resource},
};
use std::hash::{Hash, Hasher};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

fn request(request: RequestId) -> u64 {
    u64::from(request.client.0) << 48 ^ request.number
}

/// A verdict as a small code and its number.
fn verdict(verdict: WriteVerdict) -> (u64, u64) {
    match verdict {
        WriteVerdict::Ok => (0, 0),
        WriteVerdict::Duplicate { seq } => (1, seq),
        WriteVerdict::Fenced { highest } => (2, highest),
        WriteVerdict::Failed { expected } => (3, expected),
    }
}

/// Combines two numbers into one word. Odd factors keep small numbers apart.
fn fold(a: u64, b: u64) -> u64 {
    a.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ b
}

/// A resource, in the lowest bits.
fn resource(resource: Resource) -> u64 {
    u64::from(resource.0)
}

/// A payload; 0 for none.
fn payload(payload: Option<Payload>) -> u64 {
    payload.map_or(0, |Payload { number, at_us }| fold(number.get(), at_us))
}

fn write(w: &Write) -> [u64; 2] {
    let what = resource(w.resource).rotate_right(4) ^ u64::from(w.generation) << 24;
    // An operation that only records is encoded as 0, as before operations existed.
    let operation = (w.operation as u64).rotate_right(8);
    [fold(w.token, w.seq) ^ what ^ operation, fold(request(w.request()), w.read_version) ^ payload(w.payload)]
}

/// A message as three words; the caller may use the upper half of the first.
#[inline(always)]
pub fn of_message(message: &Message) -> [u64; 3] {
    match *message {
        Message::Next { request: r } => [1, request(r), 0],
        Message::NextIs { request: r, token, seq } => [2, request(r), fold(token, seq)],
        Message::NotLeader { request: r, leader } => [3, request(r), leader.map_or(u64::MAX, |l| u64::from(l.0))],
        Message::Seal { resource: r, generation, token } => [4 | resource(r) << 8, u64::from(generation), token],
        Message::Sealed { resource: r, generation, token, seq, version, payload: p } => {
            [5 | resource(r) << 8, fold(u64::from(generation), token), fold(fold(seq, version), 0) ^ payload(p)]
        }
        Message::SealRefused { resource: r, generation, token, highest } => {
            [13 | resource(r) << 8, fold(u64::from(generation), token), highest]
        }
        Message::Write(w) => {
            let [a, b] = write(&w);
            [6, a, b]
        }
        Message::Written { resource: on, generation, seq, request: r, verdict: v } => {
            let (code, number) = verdict(v);
            [7 | resource(on) << 8 | code << 16, fold(u64::from(generation), seq), fold(request(r), number)]
        }
        Message::Address(said) => {
            let (code, number) = match said {
                Address::Claimed => (0, 0),
                Address::Released => (1, 0),
                Address::Asked => (2, 0),
                Address::Is(node) => (3, node.map_or(u64::MAX, |node| u64::from(node.0))),
            };
            [14 | code << 8, number, 0]
        }
        Message::Read { request: r } => [9, request(r), 0],
        Message::ReadIs { request: r, token, seq } => [10, request(r), fold(token, seq)],
        Message::ReadStore { resource: on, request: r, generation, token } => {
            [11 | resource(on) << 8, request(r), fold(u64::from(generation), token)]
        }
        Message::StoreIs { request: r, generation, token, verdict: v, seq } => {
            let (code, number) = verdict(v);
            [12 | code << 16, request(r), fold(fold(u64::from(generation), token), fold(seq, number))]
        }
    }
}

/// A candidate's message as three words.
pub fn of_peer(said: Option<&Opaque>) -> [u64; 3] {
    let mut hasher = Xxh3::new();
    said.map(|said| (said.kind(), said)).hash(&mut hasher);
    [8, hasher.finish(), 0]
}

fn incarnation(i: &Incarnation) -> [u64; 2] {
    [i.token, u64::from(i.node.0) << 32 | u64::from(i.generation)]
}

fn promoted(i: &Incarnation, after: Option<&Incarnation>) -> [u64; 3] {
    let [a, b] = incarnation(i);
    [0x116, fold(a, b), after.map_or(0, |after| incarnation(after).into_iter().fold(1, fold))]
}

fn deletion(deleted: &Deleted) -> [u64; 3] {
    let Deleted { resource: r, incarnation: i, seq, plans } = deleted;
    let [a, b] = incarnation(i);
    let plans = plans.iter().fold(0, |h, plan| fold(h, *plan));
    [0x115 | resource(*r) << 16, fold(a, b), fold(*seq, plans)]
}

fn worked(on: Resource, i: &Incarnation, for_us: u64, shared: bool) -> [u64; 3] {
    let [a, b] = incarnation(i);
    [0x118 | resource(on) << 16 | u64::from(shared) << 32, fold(a, b), for_us]
}

/// A history event as three words.
#[inline]
pub fn of(kind: &Kind) -> [u64; 3] {
    match kind {
        Kind::Campaign { node } => [0x100, u64::from(node.0), 0],
        Kind::Elected(i) => {
            let [a, b] = incarnation(i);
            [0x101, a, b]
        }
        Kind::Deposed { incarnation: i, reason } => {
            let [a, b] = incarnation(i);
            [0x102 | (*reason as u64) << 16, a, b]
        }
        Kind::Seal { resource: r, incarnation: i, accepted, seq, version, payload: p } => {
            let [a, b] = incarnation(i);
            let kind = 0x103 | resource(*r) << 16 | u64::from(*accepted) << 24;
            [kind, fold(a, b), fold(*seq, *version) ^ payload(*p)]
        }
        Kind::Issue { node, write: w } => {
            let [a, b] = write(w);
            [0x104 | u64::from(node.0) << 16, a, b]
        }
        Kind::Apply { node, write: w, verdict: v, version } => {
            let [a, b] = write(w);
            let (code, number) = verdict(*v);
            [0x105 | u64::from(node.0) << 16 | code << 32, a, fold(b, fold(*version, number))]
        }
        Kind::Deleted(deleted) => deletion(deleted),
        Kind::Promoted { incarnation: i, after } => promoted(i, after.as_ref()),
        Kind::Rewound { node, from, onto, entries } => {
            let [from, onto] = [from, onto].map(|i| incarnation(i).into_iter().fold(0, fold));
            [0x117 | u64::from(node.0) << 16, fold(from, onto), *entries]
        }
        Kind::Invoke { request: r } => [0x106, request(*r), 0],
        Kind::Reply { request: r, outcome } => match outcome {
            Outcome::Ok { token, seq } => [0x107, request(*r), fold(*token, *seq)],
            Outcome::Rejected => [0x108, request(*r), 0],
            Outcome::Unknown => [0x109, request(*r), 0],
        },
        Kind::ReadInvoke { request: r } => [0x10d, request(*r), 0],
        Kind::ReadReply { request: r, node, outcome } => {
            let node = u64::from(node.0) << 16;
            match outcome {
                Outcome::Ok { token, seq } => [0x10e | node, request(*r), fold(*token, *seq)],
                Outcome::Rejected => [0x10f | node, request(*r), 0],
                Outcome::Unknown => [0x110 | node, request(*r), 0],
            }
        }
        Kind::Fault(fault) => {
            let on = fault.on.iter().fold(0, |h, n| fold(h, u64::from(n.0) + 1));
            let what = xxh3_64(fault.detail.as_bytes()) ^ xxh3_64(fault.kind.name().as_bytes()).rotate_left(17);
            [0x10a | u64::from(fault.index) << 16 | (fault.phase as u64) << 48, what, on]
        }
        Kind::Grant { node, token } => [0x111, u64::from(node.0), token.unwrap_or(0)],
        Kind::GrantEnd { node, token, reason } => {
            [0x112 | (*reason as u64) << 16, u64::from(node.0), token.unwrap_or(0)]
        }
        Kind::Work { resource: r, incarnation: i, for_us, shared } => worked(*r, i, *for_us, *shared),
        Kind::Vote { voter, candidate, token } => [0x113, u64::from(voter.0) << 16 | u64::from(candidate.0), *token],
        Kind::Clock { node, wall_offset_us, rate_ppm } => {
            [0x114 | u64::from(node.0) << 16, *wall_offset_us as u64, *rate_ppm as u64]
        }
        Kind::Node { node, state } => [0x10b, u64::from(node.0), *state as u64],
        Kind::MemberLeads { node, leads } => [0x119, u64::from(node.0), u64::from(*leads)],
        Kind::End { messages, by_kind } => {
            [0x10c, *messages, by_kind.iter().fold(0, |h, (kind, n)| fold(fold(h, xxh3_64(kind.as_bytes())), *n))]
        }
    }
}
