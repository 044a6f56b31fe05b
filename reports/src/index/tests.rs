//! Indices of what a sweep, a matrix and the experiments leave: the right things in the right columns, and text stays text.

use super::{model::HTML, *};
use serde_json::{Value, json};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";

fn summary() -> Value {
    json!({
        "schema": 1, "version": "0", "commit": "c", "seeds": [0, 4], "runs": 8, "failures": 3, "interrupted": false, "moved": [],
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
    let all = [
        sweep(&summary(), &[], &|_| None).expect("a summary"),
        matrix(&matrix_of).expect("a matrix"),
        experiments(&json!({ "schema": 1, "cells": [cell] }), &[("1-failover.svg".to_owned(), b"<svg/>".to_vec())])
            .expect("numbers"),
        runs(&[(None, report)]),
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
}

#[test]
fn what_is_not_understood_is_said() {
    let wrong = |value: Value| sweep(&value, &[], &|_| None).expect_err("no summary");
    assert_eq!(wrong(json!({ "schema": 9 })), "it is of schema 9, and this program reads 1");
    assert_eq!(wrong(json!([])), "it does not say its schema");
    assert_eq!(wrong(json!({ "schema": 1 })), "it has no cells");
}
