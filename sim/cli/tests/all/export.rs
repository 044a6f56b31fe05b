//! Histories for other programs, read as those read them.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn fencepost(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments).env("NO_COLOR", "1").env_remove("COLUMNS").current_dir(folder);
    command.output().expect("the binary runs")
}

/// A folder with the history of a run in which a sleeper's write is refused.
fn history(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(test);
    fs::create_dir_all(&folder).expect("a folder");
    let run = ["scenario", "gc-pause", "--seed", "1", "--rate", "20", "--quiet", "--history", "history.jsonl"];
    assert!(fencepost(&run, &folder).status.success());
    folder
}

fn exported(folder: &Path, format: &str) -> Vec<u8> {
    let output = fencepost(&["export", "history.jsonl", "--to", format], folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("history.jsonl")).expect("a history");
    text.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_table_has_a_line_for_each_event_and_loses_nothing() {
    let folder = history("table");
    let text = exported(&folder, "csv");
    let mut table = csv::Reader::from_reader(&*text);
    let columns = table.headers().expect("a head").clone();
    let rows: Vec<csv::StringRecord> = table.records().map(|row| row.expect("a row")).collect();
    let events = lines(&folder);
    assert_eq!(rows.len(), events.len());
    for (row, event) in rows.iter().zip(&events) {
        let fields: BTreeMap<&str, &str> = columns.iter().zip(row).collect();
        let more: Value = serde_json::from_str(fields["more"]).unwrap_or_default();
        for (name, value) in event.as_object().expect("an object") {
            let written = match value {
                Value::String(text) => text.clone(),
                Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
                other => other.to_string(),
            };
            let told = fields.get(name.as_str()).map_or_else(|| more[name] == *value, |cell| *cell == written);
            assert!(told, "{name} of {event} is not in {row:?}");
        }
    }
}

/// What ShiViz' parser and its graph ask for: a host's own count goes up by one with each of its events, and nobody knows of
/// more of another's than there has been.
#[test]
fn vector_clocks_are_what_shiviz_asks_for() {
    let folder = history("shiviz");
    let log = String::from_utf8(exported(&folder, "shiviz")).expect("text");
    let mut events: BTreeMap<String, u64> = BTreeMap::new();
    let (mut all, mut heard) = (0, 0);
    let body: Vec<&str> = log.lines().skip(2).collect();
    for pair in body.chunks(2) {
        let (host, clock) = pair[1].split_once(' ').expect("a host and its clock");
        let clock: BTreeMap<String, u64> = serde_json::from_str(clock).expect("a clock");
        let own = events.entry(host.to_owned()).or_default();
        *own += 1;
        assert_eq!(clock[host], *own, "{pair:?}");
        for (other, count) in &clock {
            assert!(*count <= events[other], "{pair:?} knows what was not yet");
        }
        heard += u64::from(pair[0].contains("on sequence: ok") && clock.len() > 2);
        all += 1;
    }
    let applied = lines(&folder).iter().filter(|line| line["event"] == "apply" && line["verdict"] == "ok").count();
    assert!(all > applied && heard > 0, "{all} events, {heard} writes that came from somewhere");
    assert!(log.contains(": fenced"), "the refusal is told");
}

/// Reads a trace with Perfetto's own classes, and prints what is in it.
const READ: &str = r#"
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
unknown, depth, tracks, starts, ends, instants, counters = 0, {}, {}, set(), set(), 0, []
times = []
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        d = packet.track_descriptor
        tracks[d.uuid] = d.process.process_name or d.name
        assert not d.HasField("parent_uuid") or d.parent_uuid in tracks
        continue
    e = packet.track_event
    times.append(packet.timestamp)
    assert e.track_uuid in tracks, e
    if e.type == TrackEvent.TYPE_SLICE_BEGIN:
        depth[e.track_uuid] = depth.get(e.track_uuid, 0) + 1
        assert depth[e.track_uuid] == 1, "what overlaps has tracks of its own"
    elif e.type == TrackEvent.TYPE_SLICE_END:
        depth[e.track_uuid] -= 1
        assert depth[e.track_uuid] == 0
    elif e.type == TrackEvent.TYPE_COUNTER:
        counters.append(e.counter_value)
    else:
        assert e.type == TrackEvent.TYPE_INSTANT
        instants += 1
    starts.update(e.flow_ids)
    ends.update(e.terminating_flow_ids)
assert times == sorted(times) and not any(depth.values())
print(json.dumps({"tracks": sorted(tracks.values()), "instants": instants, "arrows": len(starts & ends), "ends": len(ends), "believing": max(counters)}))
"#;

#[test]
fn a_trace_is_read_by_perfettos_own_classes() {
    let folder = history("perfetto");
    fs::write(folder.join("run.pftrace"), exported(&folder, "perfetto")).expect("a file");
    let wheels = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfetto");
    let python = |code: &str| {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &wheels).args(["-c", code, "run.pftrace"]).current_dir(&folder);
        python.output()
    };
    let has_it = || python("import perfetto, google.protobuf").is_ok_and(|output| output.status.success());
    if !has_it() && servers::wish() == "install" {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        let _ = pip.arg(&wheels).args(["perfetto", "protobuf"]).output();
    }
    if !has_it() {
        return servers::skip("Perfetto's classes", "the Python package perfetto is not installed");
    }
    let output = python(READ).expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let applied = lines(&folder).iter().filter(|line| line["event"] == "apply").count() as u64;
    assert_eq!((seen["arrows"].as_u64(), seen["ends"].as_u64()), (Some(applied), Some(applied)), "{seen}");
    assert_eq!(seen["believing"], 2, "{seen}");
    for track in ["belief", "granted", "process", "sequence", "faults", "nodes believing"] {
        assert!(seen["tracks"].as_array().expect("a list").iter().any(|name| name == track), "no {track} in {seen}");
    }
}

#[test]
fn what_cannot_be_exported_is_refused_in_a_sentence() {
    let folder = history("refused");
    fs::write(folder.join("empty"), "").expect("a file");
    for (arguments, why) in [
        (&["export", "empty", "--to", "csv"][..], "fencepost: empty"),
        (&["export", "nowhere", "--to", "csv"], "fencepost: "),
        (&["export", "history.jsonl", "--to", "pdf"], "fencepost: invalid value 'pdf' for '--to"),
        (
            &["export", "history.jsonl", "--to", "csv", "--out", "no/such/folder"],
            "fencepost: cannot write no/such/folder",
        ),
    ] {
        let output = fencepost(arguments, &folder);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{told}");
        assert!(told.starts_with(why) && told.lines().count() == 1, "{told}");
    }
}

#[test]
fn shells_complete_names_and_man_has_a_page_for_each_command() {
    let folder = history("shell");
    let output = fencepost(&["completions", "bash"], &folder);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && text.contains("gc-pause") && text.contains("etcd-election"), "{text}");
    assert!(fencepost(&["man", "--out", "man"], &folder).status.success());
    let pages = fs::read_dir(folder.join("man")).expect("a folder").count();
    assert!(pages > 10 && folder.join("man/fencepost-scenario.1").exists(), "{pages} pages");
}
