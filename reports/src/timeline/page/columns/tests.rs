//! Packed events come back unchanged through an independent decoder that only knows the format.

use super::*;
use flate2::read::DeflateDecoder;
use protocols::{
    history::json::Reader,
    types::{Incarnation, Operation, Payload, Resource},
};
use std::{collections::VecDeque, io::Read as _};

/// The unpacked columns, each with its own read position.
struct Unpacked {
    columns: BTreeMap<&'static str, VecDeque<u8>>,
    last: BTreeMap<(&'static str, u64), u64>,
}

impl Unpacked {
    fn of(packed: &Packed) -> Unpacked {
        let data = BASE64.decode(packed.data.as_bytes()).expect("Base64");
        let mut bytes = Vec::new();
        DeflateDecoder::new(&*data).read_to_end(&mut bytes).expect("deflated");
        let mut rest = &*bytes;
        let mut cut = |length: &usize| {
            let (column, after) = rest.split_at(*length);
            rest = after;
            column.iter().copied().collect()
        };
        let columns = packed.names.into_iter().zip(packed.columns.iter().map(&mut cut)).collect();
        assert!(rest.is_empty(), "{} bytes are in no column", rest.len());
        Unpacked { columns, last: BTreeMap::new() }
    }

    fn plain(&mut self, name: &'static str) -> u64 {
        let column = self.columns.get_mut(name).expect("a column");
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = column.pop_front().expect("another value");
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }

    fn difference(&mut self, name: &'static str, relative: u64) -> u64 {
        let coded = self.plain(name);
        let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
        let last = self.last.entry((name, relative)).or_default();
        *last = last.wrapping_add(difference as u64);
        *last
    }

    fn request(&mut self, kind: u64) -> RequestId {
        match self.plain("client") {
            0 => UNKNOWN_REQUEST,
            client => {
                RequestId { client: NodeId(client as u16 - 1), number: self.difference("number", kind << 16 | client) }
            }
        }
    }

    fn outcome(&mut self) -> Outcome {
        match self.plain("outcome") {
            0 => Outcome::Ok { token: self.difference("token", 0), seq: self.difference("reply", 0) },
            1 => Outcome::Unknown,
            _ => Outcome::Rejected,
        }
    }

    fn write(&mut self, kind: u64, all: &[Incarnation]) -> (NodeId, Write) {
        let request = self.request(kind);
        let (i, resource) = (self.plain("incarnation"), self.plain("resource"));
        let operation = Operation::ALL[self.plain("operation") as usize];
        let relative = (kind << 24 | i) << 16 | resource;
        let (seq, read_version) = (self.difference("seq", relative), self.difference("read", relative));
        let number = std::num::NonZeroU64::new(self.plain("payload"));
        let payload = number.map(|number| Payload { number, at_us: self.difference("at", 0) });
        let Incarnation { token, node, generation } = all[i as usize];
        let (client, number, resource) = (request.client, request.number, Resource(resource as u16));
        (node, Write { resource, operation, generation, token, seq, read_version, client, number, payload })
    }

    /// The next event, or the line of a rare one.
    fn event(&mut self, all: &[Incarnation]) -> Result<Event, String> {
        let (kind, t_us) = (self.plain("kind"), self.difference("t", 0));
        let kind = match kind {
            kind::INVOKE => Kind::Invoke { request: self.request(kind) },
            kind::READ_INVOKE => Kind::ReadInvoke { request: self.request(kind) },
            kind::REPLY => Kind::Reply { request: self.request(kind), outcome: self.outcome() },
            kind::READ_REPLY => {
                let (request, node) = (self.request(kind), NodeId(self.plain("node") as u16));
                Kind::ReadReply { request, node, outcome: self.outcome() }
            }
            kind::RARE => {
                let length = self.plain("rare") as usize;
                let line = self.columns.get_mut("line").expect("a column").drain(..length).collect();
                return Err(String::from_utf8(line).expect("text"));
            }
            _ => {
                let (node, write) = self.write(kind, all);
                if kind == kind::ISSUE {
                    return Ok(Event { t_us, group: 0, kind: Kind::Issue { node, write } });
                }
                let version = self.difference("version", u64::from(write.resource.0));
                let verdict = match self.plain("verdict") {
                    0 => WriteVerdict::Ok,
                    1 => WriteVerdict::Duplicate { seq: self.difference("detail", 1) },
                    2 => WriteVerdict::Fenced { highest: self.difference("detail", 2) },
                    _ => WriteVerdict::Failed { expected: self.difference("detail", 3) },
                };
                Kind::Apply { node, write, verdict, version }
            }
        };
        Ok(Event { t_us, group: 0, kind })
    }
}

/// A page shows one group: columns do not store which.
fn one_of_groups(name: &str) -> bool {
    ["groups", "placed"].iter().any(|begins| name.starts_with(begins))
}

#[test]
fn every_event_of_every_known_history_comes_back() {
    let (mut histories, mut writes, mut rare) = (0, 0, 0);
    for known in crate::known::ALL.iter().filter(|known| !one_of_groups(known.name)) {
        let events: Vec<Event> =
            Reader::new(known.text.as_bytes()).expect("a history").collect::<Result<_, _>>().expect("events");
        let (mut columns, mut all) = (Columns::default(), Vec::new());
        for (place, event) in events.iter().enumerate() {
            let number = |node, write: &Write| {
                let incarnation = write.incarnation(node);
                all.iter().position(|one| *one == incarnation).unwrap_or_else(|| {
                    all.push(incarnation);
                    all.len() - 1
                })
            };
            columns.add(event, number, || format!("event {place} of {}", known.name));
        }
        let packed = columns.pack();
        assert_eq!(packed.n, events.len() as u64);
        let mut unpacked = Unpacked::of(&packed);
        for (place, event) in events.iter().enumerate() {
            match unpacked.event(&all) {
                Ok(back) => {
                    assert_eq!(&back, event, "event {place} of {}", known.name);
                    writes += u64::from(matches!(event.kind, Kind::Apply { .. }));
                }
                Err(line) => {
                    assert_eq!(line, format!("event {place} of {}", known.name));
                    rare += 1;
                }
            }
        }
        assert!(unpacked.columns.values().all(VecDeque::is_empty), "{} has more than was put in", known.name);
        histories += 1;
    }
    assert!(histories > 150 && writes > 1_000 && rare > 500, "{histories} histories, {writes} writes, {rare} rare");
}
