//! Tests of the indices of sweeps, matrices and experiments: values are in the right columns, and text stays text.

use super::{model::HTML, *};
use serde_json::{Value, json};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";

fn summary() -> Value {
    json!({
        "schema": 1, "version": "0", "commit": "c", "seeds": [0, 4], "shard": [1, 1], "nodes": [3], "fencing": true, "rate": 1000,
        "bug": null, "options": "", "runs": 8, "failures": 3, "interrupted": false, "moved": [],
        "cells": [
            { "scenario": "gc-pause", "protocol": HOSTILE, "nodes": 3, "promise": "holds", "runs": 4, "failures": 3, "inconclusive": 0,
              "verdicts": { "safety": 3, "pass": 1 }, "writes_fenced": 7, "failover_ms_p50": 12.5, "failover_ms_p95": null,
              "dual_belief_ms_max": 3.0, "dark_ms_p50": 1.0, "elections": 8, "false_failovers": 0 },
            { "scenario": "steady", "protocol": "raft", "nodes": 3, "promise": "holds", "runs": 4, "failures": 0, "inconclusive": 0,
              "verdicts": { "pass": 4 }, "writes_fenced": 0, "failover_ms_p50": null, "failover_ms_p95": null,
              "dual_belief_ms_max": 0.0, "dark_ms_p50": 0.0, "elections": 4, "false_failovers": 0 },
        ],
        "causes": [{ "scenario": "gc-pause", "protocol": HOSTILE, "nodes": 3, "outcome": "broken", "runs": 3, "seeds": [0, 1],
                     "why": "promised to hold", "cause": "n3 wrote at 10.242 s.", "artifacts": "out/gc-pause/x/0", "repro": "run it" }],
    })
}

#[test]
fn a_sweep_tells_its_failures_once_a_cause_and_links_what_there_is() {
    let failure = json!({ "scenario": "gc-pause", "protocol": "x", "nodes": 3, "seed": 0, "verdict": "safety", "why": "w",
                          "artifacts": "out/gc-pause/x/0", "repro": "r" });
    let without = json!({ "scenario": "gc-pause", "protocol": "x", "nodes": 3, "seed": 1, "verdict": "safety", "why": "w",
                          "artifacts": null, "repro": "r" });
    let links = |folder: &str| folder.strip_prefix("out/").map(|rest| format!("{rest}/timeline.html"));
    let index = sweep(&summary(), &[failure, without], &links).expect("a summary");
    assert!(index.bad && index.verdict.contains("3 broke a promise"), "{}", index.verdict);
    let [story] = &index.stories[..] else { panic!("{:?}", index.stories) };
    assert!(story.title.ends_with("broken in 3 runs, seeds 0, 1, …"), "{}", story.title);
    assert_eq!(
        (&*story.cause, story.timeline.as_deref()),
        ("n3 wrote at 10.242 s.", Some("gc-pause/x/0/timeline.html"))
    );
    let cells = &index.tables[0];
    let of = |label: &str| cells.columns.iter().position(|c| c.label == label).expect("a column");
    assert_eq!((&cells.rows[0][of("unsafe")], &cells.rows[0][of("failover, p95")]), (&json!(3), &Value::Null));
    assert_eq!(cells.columns[of("failover, median")].to, Some(of("failover, p95")));
    let listed = &index.tables[1];
    let link = listed.columns.iter().position(|c| c.kind == "link").expect("a column of links");
    assert_eq!((listed.rows[0][link].as_str(), &listed.rows[1][link]), (story.timeline.as_deref(), &Value::Null));
    assert!(listed.rows.iter().all(|row| row.len() == listed.columns.len()), "{listed:?}");
}

#[test]
fn every_row_has_a_value_for_each_column_and_names_stay_text() {
    let matrix_of = json!({ "schema": 1, "seeds": [0, 5], "options": "", "interrupted": false, "cells": [
        { "scenario": "gc-pause", "protocol": HOSTILE, "outcome": "by-fencing", "seed": 0, "violated": ["no_stale_write"], "why": "w",
          "parts": { "t_us": 10_241_690, "fenced": "refused", "unfenced": "applied" }, "command": "c" },
        { "scenario": "steady", "protocol": "raft", "outcome": "holds", "seed": 0, "violated": [], "why": "", "parts": null, "command": "c" },
    ]});
    let cell = json!({ "experiment": 1, "scenario": "clean-kill", "protocol": HOSTILE, "variant": "", "fencing": true, "runs": 40,
                       "verdicts": { "pass": 40 }, "violated": {}, "counts": { "writes_fenced": 0, "seq_reused": 0 },
                       "spreads": { "failover_ms": { "p50": 1.0, "p95": 2.0 } }, "command": "c" });
    let report = json!({ "scenario": "gc-pause", "protocol": HOSTILE, "seed": 1, "fencing": false, "verdict": "safety", "cause": "c",
                         "invariants": [{ "name": "one_number", "holds": false }], "metrics": { "elections": 2 } });
    let failed = json!({ "since": "2026-11-29T01:00:00Z", "file": "failures/1.json", "redrawn": false, "unread": null,
                         "failure": { "protocol": HOSTILE, "seed": 1, "violated": ["one_number"], "why": HOSTILE } });
    let night = json!({ "ended": "2026-11-30T01:00:00Z", "commit": "c", "protocols": HOSTILE, "seeds": [0, 3], "runs": 3, "exit": 1,
                        "open": [&failed], "fixed": [&failed], "moved": [], "figures": { "dark_ms_p50": 1.5 } });
    let all = [
        sweep(&summary(), &[], &|_| None).expect("a summary"),
        matrix(&matrix_of, &|_| None).expect("a matrix"),
        experiments(&json!({ "schema": 1, "cells": [cell] }), &[(None, b"<svg/>".to_vec())]).expect("numbers"),
        runs(&[(None, report)]),
        nights(&[night.clone(), night], &|file| format!("replay {file}")),
    ];
    for index in &all {
        for table in &index.tables {
            assert!(
                !table.rows.is_empty() && table.rows.iter().all(|row| row.len() == table.columns.len()),
                "{table:?}"
            );
        }
        let page = index.page();
        assert_eq!(page.matches("</script>").count(), HTML.matches("</script>").count(), "{}", index.title);
        assert!(!page.contains("@INDEX@") && page.ends_with("</html>\n"), "{} is cut short", index.title);
    }
    let grid = all[1].grid.as_ref().expect("a grid");
    assert_eq!(grid.rows[0].1, [Some("F".to_owned()), None]);
    assert_eq!(all[1].tables[0].rows[0][6], json!(10.24169));
    let [open] = &all[4].stories[..] else { panic!("{:?}", all[4].stories) };
    assert!(open.command == "replay failures/1.json" && open.why.contains("another plan from seed 1"), "{open:?}");
    assert_eq!(all[4].tables[0].rows[3], [json!("dark, median, ms"), json!(1.5), json!(1.5), json!([1.5, 1.5])]);
}

#[test]
fn what_is_not_understood_is_said() {
    let wrong = |value: Value| sweep(&value, &[], &|_| None).expect_err("no summary").to_string();
    assert_eq!(wrong(json!({ "schema": 9 })), "its schema is 9; this program reads schema 1");
    assert_eq!(wrong(json!([])), "it has no schema number");
    assert_eq!(wrong(json!({ "schema": 1 })), "it has no cells");
}

#[test]
fn a_sweep_says_what_was_swept() {
    let mut swept = summary();
    let plain = sweep(&swept, &[], &|_| None).expect("a summary");
    assert_eq!(plain.title, "A sweep of 8 runs");
    assert_eq!(plain.notes[..2], ["Seeds 0..4, 2 cells, nodes: 3.", "Fencing on, 1,000 requests a second."]);
    for (field, is) in [
        ("fencing", json!(false)),
        ("shard", json!([1, 2])),
        ("bug", json!("mixed-locks")),
        ("options", json!("--bug mixed-locks --fencing off")),
        ("failures", json!(0)),
        ("causes", json!([])),
        (
            "unsafe_runs",
            json!([{ "scenario": "gc-pause", "protocol": "x", "nodes": 3, "seed": 2, "fencing": false, "violated": ["one_number"],
                     "cause": "n3 wrote.", "artifacts": "a", "repro": "r" }]),
        ),
    ] {
        swept[field] = is;
    }
    let index = sweep(&swept, &[], &|folder| Some(format!("{folder}/timeline.html"))).expect("a summary");
    assert_eq!(index.title, "A sweep of 8 runs, fencing off, bug mixed-locks, shard 1 of 2");
    assert_eq!(index.verdict, "8 runs: every promise was kept; 3 were unsafe without breaking a promise");
    let notes = [
        "Fencing off, 1,000 requests a second.",
        "Options: --bug mixed-locks --fencing off",
        "This is shard 1 of 2: only its part of the runs.",
    ];
    assert_eq!(index.notes[1..4], notes);
    let [shown] = &index.expected[..] else { panic!("{:?}", index.expected) };
    assert_eq!(
        (&*shown.title, shown.timeline.as_deref()),
        ("gc-pause · x · 3 nodes: seed 2, fencing off", Some("a/timeline.html"))
    );
}

#[test]
fn the_nodes_of_drawn_plans_are_drawn() {
    let mut swarm = summary();
    (swarm["marks"], swarm["cells"][0]["nodes"]) = (json!([]), json!(0));
    let index = sweep(&swarm, &[], &|_| None).expect("a summary");
    assert_eq!((&*index.title, &index.tables[0].rows[0][2]), ("A swarm of 8 runs", &json!("drawn")));
}

#[test]
fn every_cell_that_is_not_safe_has_a_command_and_a_link_where_a_run_was_kept() {
    let cell = |protocol: &str, outcome: &str, artifacts: Value| {
        json!({ "scenario": "gc-pause", "protocol": protocol, "outcome": outcome, "seed": 4, "violated": ["no_stale_write"], "why": "w",
                "parts": null, "command": "matrix it", "show": format!("run {protocol}"), "artifacts": artifacts, "cause": null })
    };
    let cells = [
        cell("a", "broken", json!("a")),
        cell("b", "broken", Value::Null),
        cell("c", "by-fencing", json!("c")),
        cell("d", "by-fencing", Value::Null),
    ];
    let of = json!({ "schema": 1, "seeds": [0, 5], "options": "", "interrupted": false, "cells": cells });
    let index = matrix(&of, &|folder| Some(format!("{folder}/timeline.html"))).expect("a matrix");
    let told = |stories: &[Story]| -> Vec<(String, String, Option<String>)> {
        stories.iter().map(|s| (s.title.clone(), s.command.clone(), s.timeline.clone())).collect()
    };
    let story = |protocol: &str, fencing: &str, link: Option<&str>| {
        let title = format!("gc-pause · {protocol}: seed 4, fencing {fencing}");
        (title, format!("run {protocol}"), link.map(str::to_owned))
    };
    assert_eq!(told(&index.stories), [story("a", "on", Some("a/timeline.html")), story("b", "on", None)]);
    assert_eq!(told(&index.expected), [story("c", "off", Some("c/timeline.html"))]);
    let place = |label: &str| index.tables[0].columns.iter().position(|c| c.label == label).expect("a column");
    let commands: Vec<_> = index.tables[0].rows.iter().map(|row| row[place("run it")].clone()).collect();
    assert_eq!(commands, ["run a", "run b", "run c", "run d"]);
}

#[test]
fn a_plot_is_called_what_it_says() {
    let svg = "<svg><text x=\"30\" text-anchor=\"start\">\nA lease&apos;s &lt;cost&gt;\n</text>\
               <text text-anchor=\"start\">by time</text><text>axis</text></svg>";
    let plots = [(Some("plots/1.svg".to_owned()), svg.as_bytes().to_vec()), (None, b"<svg/>".to_vec())];
    let index = experiments(&json!({ "schema": 1, "cells": [] }), &plots).expect("numbers");
    let [first, second] = &index.pictures[..] else { panic!("{:?}", index.pictures) };
    let told = (&*first.title, &*first.about, first.file.as_deref());
    assert_eq!(told, ("A lease's <cost>", "by time", Some("plots/1.svg")));
    assert_eq!((&*second.title, &second.file), ("A plot", &None));
}

#[test]
fn kept_promises_are_no_praise_where_runs_were_unsafe() {
    let mut kept = summary();
    kept["failures"] = 0.into();
    kept["cells"][0]["failures"] = 0.into();
    let index = sweep(&kept, &[], &|_| None).expect("a summary");
    assert!(!index.bad && index.harmful && index.verdict.contains("3 were unsafe"), "{}", index.verdict);
    kept["cells"][0]["verdicts"] = json!({ "pass": 4 });
    assert!(!sweep(&kept, &[], &|_| None).expect("a summary").harmful);
}
