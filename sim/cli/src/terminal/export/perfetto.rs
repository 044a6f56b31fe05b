//! A trace for Perfetto, as TrackEvent protobufs: a process of tracks for each node, with what it was granted, what it
//! believed, what it sent, and when it did not run; the store with every decision; faults; how many believed. A write is an arrow
//! from where it was sent to where it was decided.
//!
//! Field numbers are those of `protos/perfetto/trace/trace_packet.proto`, `track_event/track_event.proto`,
//! `track_event/track_descriptor.proto`, `track_event/process_descriptor.proto` and `track_event/debug_annotation.proto`.

use super::event::{Exporter, Line};
use prost::Message;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<Annotation>,
    #[prost(enumeration = "Type", optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {}

/// Everything comes from one writer.
const SEQUENCE: u32 = 1;

/// Writes the trace.
pub struct Perfetto<'o> {
    out: &'o mut dyn Write,
    store: String,
    /// By name: a process, or a process and a track of its.
    tracks: BTreeMap<(String, String), u64>,
    /// What goes on, by track and key, and what ends it.
    open: BTreeMap<(u64, String), u64>,
    last_us: u64,
}

impl<'o> Perfetto<'o> {
    /// An empty trace.
    pub fn new(out: &'o mut dyn Write, store: Option<String>) -> Self {
        let store = store.unwrap_or_else(|| "store".to_owned());
        Perfetto { out, store, tracks: BTreeMap::new(), open: BTreeMap::new(), last_us: 0 }
    }

    /// Packets one after the other make a trace.
    fn put(&mut self, packet: Packet) -> io::Result<()> {
        let packet = Packet { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.put(Packet { track_descriptor: Some(descriptor), ..Packet::default() })
    }

    /// The track of that name in that process, which is described when it is met first.
    fn track(&mut self, process: &str, name: &str) -> io::Result<u64> {
        let parent = self.known(process, "")?;
        if name.is_empty() { Ok(parent) } else { self.known(process, name) }
    }

    fn known(&mut self, process: &str, name: &str) -> io::Result<u64> {
        let key = (process.to_owned(), name.to_owned());
        if let Some(uuid) = self.tracks.get(&key) {
            return Ok(*uuid);
        }
        let uuid = self.tracks.len() as u64 + 1;
        let parent = self.tracks.get(&(process.to_owned(), String::new())).copied();
        self.tracks.insert(key, uuid);
        let descriptor = TrackDescriptor { uuid: Some(uuid), ..TrackDescriptor::default() };
        self.describe(match parent {
            None => {
                let described = ProcessDescriptor { pid: Some(uuid as i32), process_name: Some(process.to_owned()) };
                TrackDescriptor { process: Some(described), ..descriptor }
            }
            Some(parent) => {
                let counter = (name == BELIEVERS).then_some(CounterDescriptor {});
                TrackDescriptor { name: Some(name.to_owned()), parent_uuid: Some(parent), counter, ..descriptor }
            }
        })?;
        Ok(uuid)
    }

    fn happens(&mut self, t_us: u64, track: u64, r#type: Type, event: TrackEvent) -> io::Result<()> {
        self.last_us = t_us;
        let event = TrackEvent { r#type: Some(r#type.into()), track_uuid: Some(track), ..event };
        let timestamp = Some(t_us.saturating_mul(1_000));
        self.put(Packet { timestamp, track_event: Some(event), ..Packet::default() })
    }

    /// Something begins that goes on.
    fn begin(&mut self, line: &Line, (process, track): (&str, &str), key: &str, name: String) -> io::Result<()> {
        // What overlaps has a track of its own.
        let mut place = 1;
        let uuid = loop {
            let numbered = if place == 1 { track.to_owned() } else { format!("{track} {place}") };
            let uuid = self.track(process, &numbered)?;
            if !self.open.keys().any(|(open, _)| *open == uuid) {
                break uuid;
            }
            place += 1;
        };
        self.open.insert((uuid, key.to_owned()), line.t_us);
        self.happens(line.t_us, uuid, Type::SliceBegin, named(name, line))
    }

    /// What goes on under any of these keys ends.
    fn end(&mut self, t_us: u64, keys: &[String]) -> io::Result<bool> {
        let ended: Vec<_> = self.open.keys().filter(|(_, key)| keys.contains(key)).cloned().collect();
        for key in &ended {
            self.open.remove(key);
            self.happens(t_us, key.0, Type::SliceEnd, TrackEvent::default())?;
        }
        Ok(!ended.is_empty())
    }

    fn instant(&mut self, line: &Line, (process, track): (&str, &str), name: String, flow: Flow) -> io::Result<()> {
        let uuid = self.track(process, track)?;
        let mut event = named(name, line);
        match flow {
            Flow::Begins(id) => event.flow_ids = vec![id],
            Flow::Ends(id) => event.terminating_flow_ids = vec![id],
            Flow::None => {}
        }
        self.happens(line.t_us, uuid, Type::Instant, event)
    }

    fn believers(&mut self, t_us: u64) -> io::Result<()> {
        let believers = self.open.keys().filter(|(_, key)| key.ends_with(" believes")).count();
        let track = self.track(FLEET, BELIEVERS)?;
        let counter_value = Some(believers as i64);
        self.happens(t_us, track, Type::Counter, TrackEvent { counter_value, ..TrackEvent::default() })
    }

    fn state(&mut self, line: &Line) -> io::Result<()> {
        let (node, state) = (line.text("node"), line.text("state"));
        match state {
            "up" | "resumed" => {
                self.end(
                    line.t_us,
                    &[format!("{node} is paused"), format!("{node} is down"), format!("{node} is off")],
                )?;
            }
            "paused" => self.begin(line, (node, "process"), &format!("{node} is paused"), "paused".to_owned())?,
            "down" | "off" => {
                let ended = self.end(line.t_us, &[format!("{node} believes"), format!("{node} is paused")])?;
                if ended {
                    self.believers(line.t_us)?;
                }
                self.begin(line, (node, "process"), &format!("{node} is {state}"), state.to_owned())?;
            }
            _ => self.instant(line, (node, "process"), state.to_owned(), Flow::None)?,
        }
        Ok(())
    }

    fn fault(&mut self, line: &Line) -> io::Result<()> {
        let key = format!("fault {}", line.number("index"));
        match line.text("phase") {
            "begin" => self.begin(line, (FLEET, "faults"), &key, line.text("detail").to_owned()),
            "end" => self.end(line.t_us, &[key]).map(drop),
            _ => self.instant(line, (FLEET, "faults"), line.text("detail").to_owned(), Flow::None),
        }
    }
}

/// What concerns everybody.
const FLEET: &str = "fleet";
/// How many believe.
const BELIEVERS: &str = "nodes believing";

enum Flow {
    None,
    Begins(u64),
    Ends(u64),
}

/// An event with all that its line says.
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
        let (node, who, request) = (line.text("node"), line.leadership(), line.text("request"));
        let (seq, on, store) = (line.number("seq"), line.text("resource"), self.store.clone());
        let belief = match line.number("group") {
            0 => format!("{node} believes"),
            group => format!("{node}@{group} believes"),
        };
        let grant = format!("grant {who} {}", line.number("token"));
        let flow = xxh3_64(line.write().as_bytes());
        match line.event.as_str() {
            "campaign" => self.instant(line, (node, "belief"), "campaigns".to_owned(), Flow::None),
            "vote" => self.instant(line, (node, "votes"), format!("votes for {}", line.text("candidate")), Flow::None),
            "grant" => self.begin(line, (node, "granted"), &grant, format!("granted to {who}")),
            "grant-end" => self.end(line.t_us, &[grant]).map(drop),
            "elected" => {
                self.end(line.t_us, std::slice::from_ref(&belief))?;
                self.begin(line, (node, "belief"), &belief, format!("{who} believes that it leads"))?;
                self.believers(line.t_us)
            }
            "deposed" => match self.end(line.t_us, &[belief])? {
                true => self.believers(line.t_us),
                false => Ok(()),
            },
            "seal" => self.instant(line, (&store, on), format!("sealed by {who}"), Flow::None),
            "issue" => self.instant(line, (node, "writes"), format!("sends seq {seq} for {on}"), Flow::Begins(flow)),
            "apply" => {
                let what = format!("seq {seq} of {who}: {}", line.text("verdict"));
                self.instant(line, (&store, on), what, Flow::Ends(flow))
            }
            "invoke" | "read-invoke" | "reply" | "read-reply" => {
                let client = request.split(':').next().unwrap_or_default();
                let what = [request, line.text("outcome")].join(" ");
                self.instant(line, (client, "requests"), format!("{} {}", line.event, what.trim_end()), Flow::None)
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
        let open: Vec<String> = self.open.keys().map(|(_, key)| key.clone()).collect();
        self.end(self.last_us, &open).map(drop)
    }
}
