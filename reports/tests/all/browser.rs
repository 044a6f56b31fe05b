//! Our pages in a real browser: `tests/browser/*.js` load them, press keys, hover, zoom, sort, follow links. Without
//! Chromium or Node, these tests print that and pass; with `FENCEPOST_SERVERS=require` they fail, and with `install`
//! both are installed. `FENCEPOST_PICTURES=DIR` keeps pictures to look at.

use protocols::{
    history::{Event, Kind, Outcome, Sink, json::Reader},
    message::{Write, WriteVerdict},
    types::Resource,
};
use reports::{
    Clock, Judges, Names, index,
    timeline::page::{Pages, Sheet},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A name that would end the enclosing script and run another.
const HOSTILE: &str = r#"</script><img src=x onerror=\"window.injected=true\">"#;

/// A history, ready for a page.
fn sheet(text: &str) -> Sheet {
    let reader = Reader::new(text.as_bytes()).expect("a history");
    let header = reader.header().cloned();
    let (mut judges, mut pages) = (Judges::new(header.as_ref()), Pages::new(header.as_ref()));
    for event in reader {
        let event = event.expect("an event");
        judges.record(&event);
        pages.record(&event);
    }
    pages.into_sheet(&judges.finish())
}

/// Runs a script on a page; `written` is the page's history, if the script compares with it.
fn look(script: &str, page: &str, written: &str, checks: usize) {
    let what = "pages in a browser";
    let Some(chromium) = servers::find("chromium", "chromium", what) else { return };
    let Some(node) = servers::find("node", "nodejs", what) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{script}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let [file, history] = ["page.html", "history.jsonl"].map(|name| folder.join(name));
    fs::write(&file, page).expect("written");
    fs::write(&history, written).expect("written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser").join(script);
    let run = Command::new(node).arg(script).arg(chromium).args([&file, &history, &folder.join("profile")]).output();
    let run = run.expect("node starts");
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}");
    let _ = fs::remove_dir_all(&folder);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.lines().filter(|line| line.starts_with("ok ")).count() >= checks, "too few checks: {said}");
}

fn known(name: &str) -> &'static str {
    reports::known::find(name).expect("a known history").text
}

#[test]
fn a_page_works_in_a_browser() {
    let history = known("gc-pause-unfenced");
    let history = history.replace("\"n2\"", &format!("\"{HOSTILE}\"")).replace("\"n2:", &format!("\"{HOSTILE}:"));
    look("page.js", &sheet(&history).page(), &history, 40);
}

/// A log as another service would write it: several resources, tokens beyond 2⁵³, times since 1970, and a client
/// without an answer.
#[test]
fn a_log_of_another_service_works_in_a_browser() {
    let write = |t_us: u64, on: &str, token: u64, seq: u64| {
        format!(
            "{{\"t_us\":{t_us},\"event\":\"apply\",\"resource\":\"{on}\",\"node\":\"w-{token}\",\"token\":{token},\"seq\":{seq},\"verdict\":\"ok\"}}\n"
        )
    };
    let asked =
        |t_us: u64, number: u64| format!("{{\"t_us\":{t_us},\"event\":\"invoke\",\"request\":\"c:{number}\"}}\n");
    let ended = |t_us: u64, number: u64, outcome: &str| {
        format!("{{\"t_us\":{t_us},\"event\":\"reply\",\"request\":\"c:{number}\",\"outcome\":\"{outcome}\"}}\n")
    };
    const LARGE: u64 = (1 << 53) + 1;
    let log = [
        [asked(0, 1), asked(1, 2), asked(2, 3), ended(3, 1, "rejected"), ended(4, 2, "unknown")].concat(),
        [write(5, "orders", LARGE, 1), write(6, "invoices", LARGE, 1), write(7, "payments", LARGE, 1)].concat(),
        [write(8, "payments", LARGE + 1, 2), write(9, "payments", LARGE, 3), write(14_000_000, "orders", LARGE, 2)]
            .concat(),
    ]
    .concat();
    let mut reader = Reader::new(log.as_bytes()).expect("a log");
    let (mut judges, mut pages) = (Judges::new(None), Pages::new(None));
    while let Some(event) = reader.next() {
        let event = event.expect("an event");
        pages.learn(reader.names(), reader.resources());
        judges.record(&event);
        pages.record(&event);
    }
    let clock = Clock::of_log(1_767_225_600_000_000, judges.end_us(), 0, false);
    pages.tell_times(clock);
    let mut names = Names::of(reader.names(), reader.header());
    names.tell_times(clock);
    let judgement = judges.finish_with(&names);
    look("log.js", &pages.into_page(&judgement), &log, 14);
}

#[test]
fn two_runs_share_one_axis_in_a_browser() {
    let [off, on] = [known("gc-pause-unfenced"), known("gc-pause")];
    look("two.js", &sheet(off).beside(&sheet(on)), "", 18);
}

/// A page has both of two groups, the second of which goes wrong.
#[test]
fn a_page_turns_to_each_group_in_a_browser() {
    look("groups.js", &sheet(known("groups-bad")).page(), "", 6);
}

/// The service's leading member dies and another takes over; four candidates are idle.
#[test]
fn members_show_who_leads_and_idle_lanes_fold_in_a_browser() {
    let header = r#"{"event":"header","schema":2,"scenario":"service-failover","protocol":"zk-election","seed":1,"fencing":true,"tokened":true,"plan_digest":"0","nodes":["n1","n2","n3","n4","n5","zk-1","zk-2","zk-3","store","c1"],"candidates":5,"lease_ttl_ms":3000,"rate":10,"liveness_bound_ms":9000,"dark_after_ms":55,"requires":[],"services":[5,6,7],"tick_ms":1000,"store":8}"#;
    let up = |node: u64| format!(r#"{{"t_us":{node},"event":"node","node":"n{node}","state":"up"}}"#);
    let events = [
        r#"{"t_us":70000,"event":"grant","node":"n1","token":1}"#,
        r#"{"t_us":70500,"event":"elected","node":"n1","token":1,"generation":1}"#,
        r#"{"t_us":80000,"event":"apply","resource":"sequence","node":"n1","token":1,"generation":1,"seq":1,"read":0,"version":1,"request":"c1:1","verdict":"ok"}"#,
        r#"{"t_us":5000000,"event":"node","node":"zk-1","state":"down"}"#,
        r#"{"t_us":6000000,"event":"member-leads","node":"zk-2"}"#,
        r#"{"t_us":10000000,"event":"end","messages":9}"#,
    ];
    let lines = [header.to_owned(), r#"{"t_us":0,"event":"member-leads","node":"zk-1"}"#.to_owned()].into_iter();
    let lines = lines.chain((1..=5).map(up)).chain(events.map(str::to_owned));
    look("members.js", &sheet(&(lines.collect::<Vec<_>>().join("\n") + "\n")).page(), "", 10);
}

/// A sweep of 40 cells, one of them broken and with a hostile name.
fn summary() -> Value {
    let cell = |(place, protocol): (usize, &str)| {
        let (broken, failover) =
            (if place == 7 { 3 } else { 0 }, (place % 9 > 0).then_some(3_000.5 - 70.0 * (place % 23) as f64));
        let scenario = ["steady", "gc-pause", "partition", "clean-kill"][place % 4];
        json!({ "scenario": scenario, "protocol": protocol, "nodes": if place < 20 { 3 } else { 5 },
                "promise": "holds", "runs": 4, "failures": broken, "inconclusive": 0, "verdicts": { "safety": broken },
                "writes_fenced": place, "failover_ms_p50": failover, "failover_ms_p95": failover.map(|ms| ms * 1.2),
                "dual_belief_ms_max": 1.5, "dark_ms_p50": null, "elections": 8, "false_failovers": 0 })
    };
    let protocols = [HOSTILE, "raft", "raft-core", "etcd-election", "bully"];
    let cells: Vec<Value> = (0..40).map(|place| cell((place, protocols[place / 4 % 5]))).collect();
    json!({ "schema": 1, "version": "0", "commit": "c", "seeds": [0, 4], "runs": 160, "failures": 3, "moved": [], "cells": cells,
            "causes": [{ "scenario": "gc-pause", "protocol": HOSTILE, "nodes": 3, "outcome": "broken", "runs": 3, "seeds": [0],
                         "why": "promised to hold", "cause": "n3 wrote at 10.242 s under token 2.", "artifacts": "a", "repro": "r" }] })
}

#[test]
fn an_index_sorts_and_filters_in_a_browser() {
    let link = |_: &str| Some("gc-pause/x%20y/0/timeline.html".to_owned());
    let index = index::sweep(&summary(), &[], &link).expect("a summary");
    look("index.js", &index.page(), "", 33);
}

/// A matrix beside a sweep: a section for each, and a cell of the grid shows only its row.
#[test]
fn sections_and_a_grid_in_a_browser() {
    let cell = |protocol: &str, outcome: &str| {
        json!({ "scenario": "steady", "protocol": protocol, "outcome": outcome, "seed": 0, "violated": [], "why": "", "parts": null,
                "command": "matrix it", "show": "run it" })
    };
    let cells: Vec<Value> = ["raft", "raft-core", "kraft", HOSTILE]
        .map(|protocol| cell(protocol, if protocol == "kraft" { "by-fencing" } else { "broken" }))
        .into();
    let matrix = json!({ "schema": 1, "seeds": [0, 5], "options": "", "interrupted": false, "cells": cells });
    let matrix = index::matrix(&matrix, &|_| None).expect("a matrix");
    let sweep = index::sweep(&summary(), &[], &|_| None).expect("a summary");
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='20'><rect width='60' height='20' fill='#fff'/>\
               <text x='1' y='9'>Failover</text></svg>";
    let plot = (Some("plots/1-failover.svg".to_owned()), svg.as_bytes().to_vec());
    let plots = index::experiments(&json!({ "schema": 1, "cells": [] }), &[plot]).expect("numbers");
    let (title, verdict) = ("3 reports".to_owned(), "all of them".to_owned());
    let all = index::Index { title, verdict, sections: vec![sweep, matrix, plots], ..index::Index::default() };
    look("sections.js", &all.page(), "", 8);
}

/// With as many events as a long run has, the page is ready within seconds and stays fluid.
#[test]
fn a_hundred_thousand_events_stay_fluid_in_a_browser() {
    let reader = Reader::new(known("gc-pause-unfenced").as_bytes()).expect("a history");
    let header = reader.header().cloned();
    let mut events: Vec<Event> = reader.map(|event| event.expect("an event")).collect();
    events.retain(|event| !matches!(event.kind, Kind::End { .. }));
    let last = |event: &&Event| matches!(event.kind, Kind::Apply { verdict: WriteVerdict::Ok, write, .. } if write.resource == Resource::SEQUENCE);
    let Some(Event { t_us, kind: Kind::Apply { node, write, .. }, .. }) = events.iter().rfind(last).cloned() else {
        panic!("no write")
    };
    let mut t_us = t_us.max(events.last().map_or(0, |event| event.t_us));
    for more in 1..=25_000 {
        let write =
            Write { seq: write.seq + more, read_version: write.seq + more - 1, number: write.number + more, ..write };
        let request = write.request();
        let outcome = Outcome::Ok { token: write.token, seq: write.seq };
        for (kind, later) in [
            (Kind::Invoke { request }, 100 + more * 37 % 91),
            (Kind::Issue { node, write }, 40 + more * 13 % 29),
            (Kind::Apply { node, write, verdict: WriteVerdict::Ok, version: write.seq }, 210 + more * 7 % 83),
            (Kind::Reply { request, outcome }, 190 + more * 11 % 61),
        ] {
            t_us += later;
            events.push(Event { t_us, group: 0, kind });
        }
    }
    let (mut judges, mut pages) = (Judges::new(header.as_ref()), Pages::new(header.as_ref()));
    for event in &events {
        judges.record(event);
        pages.record(event);
    }
    look("many.js", &pages.into_page(&judges.finish()), "", 5);
}
