//! Logs as other services write them, judged as they are.

use std::{
    path::Path,
    process::{Command, Output},
};

fn check(arguments: &[&str]) -> Output {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/logs");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("check").args(arguments).env("NO_COLOR", "1").env_remove("COLUMNS").current_dir(logs);
    command.output().expect("the binary runs")
}

const WORDS: &str = "verdict:APPLIED=ok,verdict:REJECTED=fenced";
const TABLE: [&str; 5] = [
    "invoices.csv",
    "--map=t_us=created_at,node=worker,token=fence_token,seq=invoice_no,verdict=result",
    "--set=event=apply,resource=invoices",
    "--ignore=id,latency_ms",
    "--word",
];
const LINES: [&str; 7] = [
    "billing-1.jsonl",
    "billing-2.jsonl",
    "--map=t_us=ts,seq=invoice,verdict=result",
    "--time-unit=s",
    "--set=event=apply,resource=invoices,node={file}",
    "--ignore=level,msg",
    "--word",
];

/// What is judged, without what depends on where it was read.
fn judged(arguments: &[&str]) -> serde_json::Value {
    let output = check(&[arguments, &[WORDS, "--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    serde_json::json!([report["verdict"], report["invariants"], report["metrics"]])
}

#[test]
fn a_table_and_a_log_for_each_node_tell_the_same_story() {
    let table = judged(&TABLE);
    assert_eq!(table, judged(&LINES));
    let of = |name: &str| table[1].as_array().unwrap().iter().find(|seen| seen["name"] == name).unwrap().clone();
    assert_eq!(table[0], "safety");
    assert_eq!(
        of("no_stale_write")["detail"],
        "2 stale writes reached the store, 1 was accepted: at 10.860 s invoices accepted seq 1021 of billing-1 (token 41) \
         after token 42 had taken over"
    );
    assert_eq!((&table[2]["writes_accepted"], &table[2]["writes_fenced"]), (&29.into(), &1.into()));
}

#[test]
fn a_report_says_whose_token_it_was_and_what_was_not_checked() {
    let output = check(&[&TABLE[..], &[WORDS]].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let has = |words: &str| assert!(text.contains(words), "no {words:?} in {text}");
    has("  billing-1 (token 41)  ");
    has("  history  invoices.csv");
    has("Not checked, since the log does not say\n");
    has("\n  no_stale_read ");
    has(" needs `read-invoke` and `read-reply` lines");
    assert!(!text.contains("needs `apply` lines with a `token`"), "{text}");
}

#[test]
fn what_is_wrong_is_said_of_its_file_and_line() {
    // Without the words of theirs, the first that is none of ours is found, in its file.
    let output = check(&LINES[..6]);
    assert_eq!(output.status.code(), Some(64));
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        why,
        "fencepost: billing-1.jsonl: line 1: verdict \"APPLIED\" is none of ok, duplicate, fenced, failed; --word \
         verdict:APPLIED=ok says what it means\n"
    );
    let output = check(&["billing-1.jsonl", "billing-2.jsonl", "no-such-file"]);
    assert_eq!(output.status.code(), Some(64));
}
