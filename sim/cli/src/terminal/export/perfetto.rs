//! A trace for Perfetto, as TrackEvent protobufs: a process of tracks for each node, with its grants, beliefs, sent
//! writes and downtime; the store with every decision; the service with its grants; faults; the number of nodes
//! believing. A write is an arrow from where it was sent to where it was decided.

use super::{
    cast::{Actor, Cast, Labels},
    event::{Exporter, Line},
};
use prost::Message;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

/// All packets come from one writer.
const SEQUENCE: u32 = 1;
/// Name of the counter track.
const BELIEVERS: &str = "nodes believing";

/// A slice's subject: something with a duration.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lasting {
    Belief {
        node: String,
        group: u64,
    },
    Grant {
        group: u64,
        node: String,
        token: u64,
    },
    /// A process does not run.
    State {
        node: String,
    },
    Fault(u64),
}

enum Flow {
    None,
    Begins(u64),
    Ends(u64),
}

/// Writes the trace.
pub struct Perfetto<'o> {
    out: &'o mut dyn Write,
    cast: Cast,
    labels: Labels,
    /// By process, or process and track name.
    tracks: BTreeMap<(Actor, String), u64>,
    /// The open slices, by track.
    open: BTreeSet<(u64, Lasting)>,
    /// Writes whose sending was seen, and whether each has been decided.
    sent: BTreeMap<u64, bool>,
    /// Number of writes of which only the decision is known.
    only_decided: u64,
    last_us: u64,
}

impl<'o> Perfetto<'o> {
    pub fn new(out: &'o mut dyn Write, cast: Cast) -> Self {
        let (labels, tracks, sent) = (Labels::default(), BTreeMap::new(), BTreeMap::new());
        Perfetto { out, cast, labels, tracks, open: BTreeSet::new(), sent, only_decided: 0, last_us: 0 }
    }

    /// Writes a packet; consecutive packets make a trace.
    fn put(&mut self, packet: Packet) -> io::Result<()> {
        let packet = Packet { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.put(Packet { track_descriptor: Some(descriptor), ..Packet::default() })
    }

    /// The track of this name in this process, described on first use.
    fn track(&mut self, process: &Actor, name: &str) -> io::Result<u64> {
        self.known(process, "")?;
        self.known(process, name)
    }

    fn known(&mut self, process: &Actor, name: &str) -> io::Result<u64> {
        let key = (process.clone(), name.to_owned());
        if let Some(uuid) = self.tracks.get(&key) {
            return Ok(*uuid);
        }
        let uuid = self.tracks.len() as u64 + 1;
        let parent = self.tracks.get(&(process.clone(), String::new())).copied();
        self.tracks.insert(key, uuid);
        let descriptor = TrackDescriptor { uuid: Some(uuid), ..TrackDescriptor::default() };
        let descriptor = match parent {
            None => {
                let process_name = Some(self.labels.of(process, str::to_owned));
                let described = ProcessDescriptor { pid: Some(uuid as i32), process_name };
                TrackDescriptor { process: Some(described), ..descriptor }
            }
            Some(parent) => {
                let counter = (*process == Actor::Fleet && name == BELIEVERS).then_some(CounterDescriptor {});
                TrackDescriptor { name: Some(name.to_owned()), parent_uuid: Some(parent), counter, ..descriptor }
            }
        };
        self.describe(descriptor)?;
        Ok(uuid)
    }

    fn happens(&mut self, t_us: u64, track: u64, r#type: Type, event: TrackEvent) -> io::Result<()> {
        self.last_us = t_us;
        let event = TrackEvent { r#type: Some(r#type.into()), track_uuid: Some(track), ..event };
        let timestamp = Some(t_us.saturating_mul(1_000));
        self.put(Packet { timestamp, track_event: Some(event), ..Packet::default() })
    }

    /// Opens a slice.
    fn begin(&mut self, line: &Line, (process, track): (&Actor, &str), what: Lasting, name: String) -> io::Result<()> {
        // Overlapping slices need tracks of their own.
        let mut place = 1;
        let uuid = loop {
            let numbered = if place == 1 { track.to_owned() } else { format!("{track} {place}") };
            let uuid = self.track(process, &numbered)?;
            if !self.open.iter().any(|(open, _)| *open == uuid) {
                break uuid;
            }
            place += 1;
        };
        self.open.insert((uuid, what));
        self.happens(line.t_us, uuid, Type::SliceBegin, named(name, line))
    }

    /// Closes the open slices that `is_such` matches.
    fn end(&mut self, t_us: u64, is_such: impl Fn(&Lasting) -> bool) -> io::Result<()> {
        let ended: Vec<_> = self.open.iter().filter(|(_, what)| is_such(what)).cloned().collect();
        for open in ended {
            self.open.remove(&open);
            self.happens(t_us, open.0, Type::SliceEnd, TrackEvent::default())?;
        }
        Ok(())
    }

    fn instant(&mut self, line: &Line, (process, track): (&Actor, &str), name: String, flow: Flow) -> io::Result<()> {
        let uuid = self.track(process, track)?;
        let mut event = named(name, line);
        match flow {
            Flow::Begins(id) => event.flow_ids = vec![id],
            Flow::Ends(id) => event.terminating_flow_ids = vec![id],
            Flow::None => {}
        }
        self.happens(line.t_us, uuid, Type::Instant, event)
    }

    /// Counts nodes, not beliefs: a node may lead several groups.
    fn believers(&mut self, t_us: u64) -> io::Result<()> {
        let believes = |(_, what): &'_ (u64, Lasting)| match what {
            Lasting::Belief { node, .. } => Some(node.clone()),
            _ => None,
        };
        let believers: BTreeSet<String> = self.open.iter().filter_map(believes).collect();
        let track = self.track(&Actor::Fleet, BELIEVERS)?;
        let counter_value = Some(believers.len() as i64);
        self.happens(t_us, track, Type::Counter, TrackEvent { counter_value, ..TrackEvent::default() })
    }

    /// A belief begins, or is given up.
    fn belief(&mut self, line: &Line, begins: bool) -> io::Result<()> {
        let belief = Lasting::Belief { node: line.text("node").to_owned(), group: line.number("group") };
        self.end(line.t_us, |what| *what == belief)?;
        if begins {
            let name = format!("{} believes that it leads", line.leadership());
            self.begin(line, (&Actor::named(line.text("node")), "belief"), belief, name)?;
        }
        self.believers(line.t_us)
    }

    fn grant(&mut self, line: &Line) -> io::Result<()> {
        let (node, who, service) = (line.text("node"), line.leadership(), self.cast.service());
        let grant = Lasting::Grant { group: line.number("group"), node: node.to_owned(), token: line.number("token") };
        if line.event == "grant" {
            self.instant(line, (&service, "grants"), format!("grants {who}"), Flow::None)?;
            return self.begin(line, (&Actor::named(node), "granted"), grant, format!("granted to {who}"));
        }
        let what = format!("ends the grant of {who}: {}", line.text("reason"));
        self.instant(line, (&service, "grants"), what, Flow::None)?;
        self.end(line.t_us, |what| *what == grant)
    }

    fn apply(&mut self, line: &Line) -> io::Result<()> {
        let (node, seq, on) = (line.text("node"), line.number("seq"), line.text("resource"));
        let write = line.write();
        let arrow = match self.sent.get(&write) {
            Some(false) => Flow::Ends(write),
            // An arrow ends once.
            Some(true) => Flow::None,
            // A store's own log does not record when a write was sent; it may have the same write several times.
            None => {
                self.only_decided += 1;
                let arrow = write.wrapping_add(self.only_decided);
                let what = format!("seq {seq} for {on}, sent by now");
                self.instant(line, (&Actor::named(node), "writes"), what, Flow::Begins(arrow))?;
                Flow::Ends(arrow)
            }
        };
        self.sent.entry(write).and_modify(|decided| *decided = true);
        let what = format!("seq {seq} of {}: {}", line.leadership(), line.text("verdict"));
        self.instant(line, (&self.cast.store(node), on), what, arrow)
    }

    fn state(&mut self, line: &Line) -> io::Result<()> {
        let (node, state) = (line.text("node"), line.text("state"));
        let process = Actor::named(node);
        let stopped = Lasting::State { node: node.to_owned() };
        if ["up", "resumed", "down", "off"].contains(&state) {
            self.end(line.t_us, |what| *what == stopped)?;
        }
        match state {
            "up" | "resumed" => Ok(()),
            "paused" => self.begin(line, (&process, "process"), stopped, state.to_owned()),
            "down" | "off" => {
                // A process that is gone believes nothing, in no group.
                self.end(line.t_us, |what| matches!(what, Lasting::Belief { node: of, .. } if of == node))?;
                self.believers(line.t_us)?;
                self.begin(line, (&process, "process"), stopped, state.to_owned())
            }
            _ => self.instant(line, (&process, "process"), state.to_owned(), Flow::None),
        }
    }

    fn fault(&mut self, line: &Line) -> io::Result<()> {
        let (fault, place) = (Lasting::Fault(line.number("index")), (&Actor::Fleet, "faults"));
        match line.text("phase") {
            "begin" => self.begin(line, place, fault, line.text("detail").to_owned()),
            "end" => self.end(line.t_us, |what| *what == fault),
            _ => self.instant(line, place, line.text("detail").to_owned(), Flow::None),
        }
    }
}

/// An event with all fields of its line.
fn named(name: String, line: &Line) -> TrackEvent {
    let annotation = |(name, value): (&String, &Value)| {
        let uint_value = value.as_u64();
        let string_value =
            uint_value.is_none().then(|| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        Annotation { name: Some(name.clone()), uint_value, string_value }
    };
    let debug_annotations = line.fields.iter().map(annotation).collect();
    TrackEvent { name: Some(name), categories: vec![line.event.clone()], debug_annotations, ..TrackEvent::default() }
}

impl Exporter for Perfetto<'_> {
    fn event(&mut self, line: &Line) -> io::Result<()> {
        let (node, on) = (Actor::named(line.text("node")), line.text("resource"));
        match line.event.as_str() {
            "campaign" => self.instant(line, (&node, "belief"), "campaigns".to_owned(), Flow::None),
            "vote" => self.instant(line, (&node, "votes"), format!("votes for {}", line.text("candidate")), Flow::None),
            "grant" | "grant-end" => self.grant(line),
            "elected" => self.belief(line, true),
            "deposed" => self.belief(line, false),
            "seal" => {
                let store = self.cast.store(line.text("node"));
                self.instant(line, (&store, on), format!("sealed by {}", line.leadership()), Flow::None)
            }
            "issue" => {
                self.sent.insert(line.write(), false);
                let what = format!("sends seq {} for {on}", line.number("seq"));
                self.instant(line, (&node, "writes"), what, Flow::Begins(line.write()))
            }
            "apply" => self.apply(line),
            "invoke" | "read-invoke" | "reply" | "read-reply" => {
                let what = [line.event.as_str(), line.text("request"), line.text("outcome")].join(" ");
                let client = Actor::named(line.client());
                self.instant(line, (&client, "requests"), what.trim_end().to_owned(), Flow::None)
            }
            "node" => self.state(line),
            "fault" => self.fault(line),
            "end" => {
                self.last_us = line.t_us;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end(self.last_us, |_| true)
    }
}

// The messages of a trace. Field numbers and meanings are those of `protos/perfetto/trace/trace_packet.proto`,
// `track_event/track_event.proto`, `track_event/track_descriptor.proto`, `track_event/process_descriptor.proto` and
// `track_event/debug_annotation.proto`.

/// A sequence of packets.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

/// A track, or an event on one.
#[derive(Clone, PartialEq, Message)]
struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<Annotation>,
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// A field of an event.
#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A process, which has tracks.
#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// Marks a track of numbers.
#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {}
