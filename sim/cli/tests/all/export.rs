//! Exported histories, read as their target programs do.

use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn fencepost(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments).env("NO_COLOR", "1").env_remove("COLUMNS").current_dir(folder);
    command.output().expect("the binary runs")
}

/// A folder with the history of a run that refuses a sleeper's write.
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

/// The output of `check --json` for a history, without its duration.
fn judged(file: &str, folder: &Path) -> Value {
    let output = fencepost(&["check", file, "--json"], folder);
    assert!(output.status.code().is_some_and(|code| code < 4), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    let mut said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    said["wall_ms"] = Value::Null;
    said
}

/// A history that holds, one that does not, a store's own log, and histories with every kind of event; together they
/// have each field that is a column of the table.
#[test]
fn a_table_is_judged_as_the_history_is() {
    let folder = history("table");
    let own = "{\"t_us\":10,\"event\":\"apply\",\"resource\":\"my orders\",\"node\":\"10.0.0.1:5432\",\"token\":7,\"seq\":1,\"verdict\":\"ok\"}\n\
               {\"t_us\":20,\"event\":\"apply\",\"resource\":\"my orders\",\"node\":\"a,\\\"b\\\"\\nc\",\"token\":8,\"seq\":2,\"verdict\":\"ok\"}\n\
               {\"t_us\":30,\"event\":\"apply\",\"resource\":\"my orders\",\"node\":\"10.0.0.1:5432\",\"token\":7,\"seq\":3,\"verdict\":\"ok\"}\n";
    fs::write(folder.join("own.jsonl"), own).expect("a file");
    let let_go = reports::known::find("acts_on_belief-ok-let-go").expect("a known history").text;
    fs::write(folder.join("let-go.jsonl"), let_go).expect("a file");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../seeds/golden.jsonl");
    let golden = fs::read_to_string(golden).expect("histories");
    let mut files = ["history.jsonl", "own.jsonl", "let-go.jsonl"].map(str::to_owned).to_vec();
    for scenario in [
        "diverging-copies",
        "stale-enactor",
        "adversary-delayed-renewals",
        "asymmetric-partition",
        "gc-pause",
        "incident-solr-2015",
    ] {
        let head = format!("\"scenario\":\"{scenario}\"");
        let from = golden.lines().skip_while(|line| !line.contains(&head));
        let one = from.enumerate().take_while(|(place, line)| *place == 0 || !line.contains("\"event\":\"header\""));
        let text: String = one.map(|(_, line)| format!("{line}\n")).collect();
        files.push(format!("{scenario}.jsonl"));
        fs::write(folder.join(format!("{scenario}.jsonl")), text).expect("a file");
    }
    let (mut verdicts, mut used) = (BTreeSet::new(), BTreeSet::new());
    let mut columns = Vec::new();
    for file in &files {
        let output = fencepost(&["export", file, "--to", "csv", "--out", "table.csv"], &folder);
        assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        let is = judged("table.csv", &folder);
        assert_eq!(is, judged(file, &folder), "{file}");
        verdicts.insert(is["verdict"].to_string());
        let mut table = csv::Reader::from_path(folder.join("table.csv")).expect("a table");
        columns = table.headers().expect("a head").iter().map(str::to_owned).collect();
        let text = fs::read_to_string(folder.join(file)).expect("a history");
        let rows: Vec<csv::StringRecord> = table.records().map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), text.lines().filter(|line| !line.is_empty()).count(), "{file}");
        for row in &rows {
            used.extend(columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty()).map(|(name, _)| name.clone()));
        }
    }
    assert!(["\"pass\"", "\"safety\""].iter().all(|verdict| verdicts.contains(*verdict)), "{verdicts:?}");
    let never: Vec<&String> = columns.iter().filter(|column| !used.contains(*column)).collect();
    assert!(never.is_empty(), "no history has {never:?}");
}

/// An event as ShiViz reads it: text, host, and clock.
type Told = (String, String, BTreeMap<String, u64>);

/// Parses a log as ShiViz does: a line of text, and one that begins with a host without blanks. Its graph requires that
/// a host's own count goes up by one with each event, and that no clock is ahead of another host's events.
fn shiviz(log: &str) -> Vec<Told> {
    let body: Vec<&str> = log.lines().skip(2).collect();
    let mut events: BTreeMap<String, u64> = BTreeMap::new();
    let read = |pair: &[&str]| {
        let (host, clock) = pair[1].split_once(' ').expect("a host and its clock");
        let clock: BTreeMap<String, u64> = serde_json::from_str(clock).expect("a clock");
        let own = events.entry(host.to_owned()).or_default();
        *own += 1;
        assert!(!host.is_empty() && clock[host] == *own, "{pair:?}");
        assert!(clock.iter().all(|(other, count)| *count <= events[other]), "{pair:?} knows what was not yet");
        (pair[0].to_owned(), host.to_owned(), clock)
    };
    body.chunks(2).map(read).collect()
}

/// The log of a history of these events, without a header.
fn shiviz_of(test: &str, events: &[&str]) -> Vec<Told> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(test);
    fs::create_dir_all(&folder).expect("a folder");
    let line = |(at, event): (usize, &&str)| format!("{{\"t_us\":{},\"event\":{event}}}\n", at * 10);
    fs::write(folder.join("history.jsonl"), events.iter().enumerate().map(line).collect::<String>()).expect("a file");
    shiviz(&String::from_utf8(exported(&folder, "shiviz")).expect("text"))
}

#[test]
fn vector_clocks_are_what_shiviz_asks_for() {
    let folder = history("shiviz");
    let log = String::from_utf8(exported(&folder, "shiviz")).expect("text");
    let told = shiviz(&log);
    let heard = told.iter().filter(|(what, _, clock)| what.contains("on sequence: ok") && clock.len() > 2).count();
    let all = lines(&folder);
    let applied = all.iter().filter(|line| line["event"] == "apply" && line["verdict"] == "ok");
    let applied = applied.filter(|line| line["resource"] == "sequence").count();
    assert!(
        told.len() > applied && heard == applied,
        "{} events, {heard} of {applied} writes came from somewhere",
        told.len()
    );
    assert!(log.contains(": fenced"), "the refusal is told");
    assert!(told.iter().any(|(what, host, _)| what.contains("grants n") && host == "etcd"), "the service grants");
}

/// Without tokens, only names tell elections apart.
#[test]
fn nobody_hears_of_what_no_message_told() {
    let told = shiviz_of(
        "unheard",
        &[
            r#""grant","node":"n1","token":0"#,
            r#""elected","node":"n1","token":0"#,
            r#""seal","resource":"sequence","node":"n1","accepted":true,"seq":0"#,
            r#""grant","node":"n2","token":0"#,
            r#""elected","node":"n2","token":0"#,
            r#""seal","resource":"sequence","node":"n2","accepted":true,"seq":0"#,
            r#""issue","resource":"sequence","node":"n1","seq":1,"request":"c1:1""#,
            r#""vote","node":"n4","candidate":"n5","token":9"#,
            r#""vote","node":"n6","candidate":"n3","token":9"#,
            r#""elected","node":"n3","token":9"#,
            r#""invoke","request":"c1:2""#,
            r#""issue","resource":"sequence","node":"n2","seq":2,"request":"c1:2""#,
            r#""apply","resource":"sequence","node":"n2","seq":2,"request":"c1:2","verdict":"ok""#,
            r#""reply","request":"c1:2","outcome":"unknown""#,
            r#""invoke","request":"c2:1""#,
            r#""issue","resource":"sequence","node":"n2","seq":3,"request":"c2:1""#,
            r#""apply","resource":"sequence","node":"n2","seq":3,"request":"c2:1","verdict":"ok""#,
            r#""reply","request":"c2:1","outcome":"ok","token":0,"seq":3"#,
        ],
    );
    let knows = |what: &str, other: &str| {
        let (_, _, clock) = told.iter().find(|(text, ..)| text.contains(what)).expect("an event");
        clock.contains_key(other)
    };
    assert!(knows("n2 believes", "the_service") && !knows("n2 believes", "n1"), "{told:?}");
    assert!(!knows("sends seq 1", "n2"), "the one that is cut off has not heard of its successor: {told:?}");
    assert!(
        knows("n3 (token 9) believes", "n6") && !knows("n3 (token 9) believes", "n4"),
        "a vote is for one: {told:?}"
    );
    assert!(knows("seq 2 of n2", "c1") && !knows("c1:2: unknown", "n2"), "who gave up has heard nothing: {told:?}");
    assert!(knows("c2:1: ok", "n2") && knows("c2:1: ok", "the_store"), "{told:?}");
}

/// Names as they occur in logs: with ports, blanks, line breaks, and characters that viewers use themselves.
#[test]
fn every_name_is_somebody_of_its_own() {
    let events = [
        r#""invoke","request":"10.0.0.1:5432:1""#,
        r#""invoke","request":"10.0.0.1:9999:1""#,
        r#""elected","node":"my node","token":1"#,
        r#""elected","node":"my_node","token":2"#,
        r#""elected","node":"two\nlines","token":3"#,
        r#""apply","resource":"orders","node":"store","token":4,"seq":1,"verdict":"ok""#,
        r#""apply","resource":"orders","node":"fleet","token":5,"seq":2,"verdict":"ok""#,
    ];
    let told = shiviz_of("names", &events);
    let hosts: BTreeSet<&str> = told.iter().map(|(_, host, _)| host.as_str()).collect();
    let must = ["10.0.0.1:5432", "10.0.0.1:9999", "fleet", "my_node", "my_node_2", "store", "the_store", "two\\nlines"];
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), must);
    // The writer precedes the store, though only the store's decision is in the log.
    let (_, _, clock) = told.iter().find(|(what, ..)| what.contains("seq 2 of fleet")).expect("a decision");
    assert_eq!((clock.get("fleet"), clock.get("the_store")), (Some(&1), Some(&2)));
}

/// Reads a trace with Perfetto's own classes, and prints its content.
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
processes = [p.track_descriptor.process.process_name for p in trace.packet if p.track_descriptor.HasField("process")]
print(json.dumps({"processes": sorted(processes), "tracks": sorted(tracks.values()), "instants": instants, "arrows": len(starts & ends), "ends": len(ends), "starts": len(starts), "counted": counters, "believing": max(counters)}))
"#;

/// What Perfetto's classes read from the history's trace; `None` if they are not installed.
fn perfetto(folder: &Path) -> Option<Value> {
    fs::write(folder.join("run.pftrace"), exported(folder, "perfetto")).expect("a file");
    let wheels = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perfetto");
    let python = |code: &str| {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &wheels).args(["-c", code, "run.pftrace"]).current_dir(folder);
        python.output()
    };
    let has_it = || python("import perfetto, google.protobuf").is_ok_and(|output| output.status.success());
    if !has_it() && servers::wish() == "install" {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        let _ = pip.arg(&wheels).args(["perfetto", "protobuf"]).output();
    }
    if !has_it() {
        servers::skip("Perfetto's classes", "the Python package perfetto is not installed");
        return None;
    }
    let output = python(READ).expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn a_trace_is_read_by_perfettos_own_classes() {
    let folder = history("perfetto");
    let Some(seen) = perfetto(&folder) else { return };
    let applied = lines(&folder).iter().filter(|line| line["event"] == "apply").count() as u64;
    assert_eq!((seen["arrows"].as_u64(), seen["ends"].as_u64()), (Some(applied), Some(applied)), "{seen}");
    assert_eq!(seen["believing"], 2, "{seen}");
    for track in ["belief", "granted", "grants", "process", "sequence", "faults", "nodes believing"] {
        assert!(seen["tracks"].as_array().expect("a list").iter().any(|name| name == track), "no {track} in {seen}");
    }
    for process in ["n1", "etcd", "store", "the fleet"] {
        assert!(
            seen["processes"].as_array().expect("a list").iter().any(|name| name == process),
            "no {process} in {seen}"
        );
    }
}

/// One node leads two groups and goes down; a log with only decisions has arrows as well.
#[test]
fn a_trace_counts_nodes_and_not_beliefs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join("groups");
    fs::create_dir_all(&folder).expect("a folder");
    let elected = |t_us: u64, node: &str, group: u64| {
        format!(
            "{{\"t_us\":{t_us},\"event\":\"elected\",\"node\":\"{node}\",\"token\":1,\"generation\":1,\"group\":{group}}}\n"
        )
    };
    let down = "{\"t_us\":30,\"event\":\"node\",\"node\":\"n1\",\"state\":\"down\"}\n";
    let apply = |t_us: u64, seq: u64| {
        format!(
            "{{\"t_us\":{t_us},\"event\":\"apply\",\"resource\":\"sequence\",\"node\":\"n2\",\"token\":1,\"seq\":{seq},\"verdict\":\"ok\"}}\n"
        )
    };
    let [one, two, three] = [elected(10, "n1", 0), elected(20, "n1", 1), elected(40, "n2", 1)];
    let text = [&one, &two, down, &three, &apply(50, 1), &apply(60, 1), &apply(70, 2)].concat();
    fs::write(folder.join("history.jsonl"), text).expect("a file");
    let Some(seen) = perfetto(&folder) else { return };
    assert_eq!((&seen["believing"], &seen["counted"]), (&json!(1), &json!([1, 1, 0, 1])), "{seen}");
    assert_eq!((&seen["arrows"], &seen["ends"], &seen["starts"]), (&json!(3), &json!(3), &json!(3)), "{seen}");
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
