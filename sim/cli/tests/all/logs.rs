//! Logs in other services' formats, judged as they are.

use std::{
    fs,
    path::{Path, PathBuf},
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
const LINES: [&str; 6] = [
    "billing-1.jsonl",
    "billing-2.jsonl",
    "--map=t_us=ts,seq=invoice,verdict=result",
    "--set=resource=invoices,node={file}",
    "--ignore=level,msg",
    "--word",
];

/// The judgement, without what depends on the input's place.
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
        "2 stale writes reached the store, 1 was accepted: at 10:00:10.860 invoices accepted seq 1021 of billing-1 (token 41) \
         after token 42 had taken over"
    );
    assert_eq!((&table[2]["writes_accepted"], &table[2]["writes_fenced"]), (&29.into(), &1.into()));
}

#[test]
fn a_report_says_whose_token_it_was_and_what_was_not_checked() {
    let told = |more: &[&str]| {
        let output = check(&[&TABLE[..], &[WORDS], more].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    let short = told(&[]);
    assert!(
        short.contains("\nNot checked, since the log lacks the fields they need: ") && short.contains("no_stale_read"),
        "{short}"
    );
    assert!(!short.contains(" needs ") && !short.contains("– no_stale_read"), "{short}");
    let text = told(&["--verbose"]);
    let has = |words: &str| assert!(text.contains(words), "no {words:?} in {text}");
    has("  billing-1 (token 41)  ");
    has("  history  invoices.csv");
    has("Not checked: the log lacks these fields\n");
    has("\n  no_stale_read ");
    has(" needs `read-invoke` and `read-reply` lines");
    assert!(!text.contains("needs `apply` lines with a `token`"), "{text}");
}

#[test]
fn what_is_not_understood_is_said_at_once_and_its_advice_judges() {
    // Without their own words.
    let output = check(&LINES[..5]);
    assert_eq!(output.status.code(), Some(64));
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        why,
        "fencepost: billing-1.jsonl, billing-2.jsonl: unknown verdicts: `APPLIED`, `REJECTED` (known: ok, duplicate, \
         fenced, failed); if this guess is right, add --word verdict:APPLIED=ok,verdict:REJECTED=fenced\n"
    );
    // Without any options.
    let output = check(&["invoices.csv"]);
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, advice) = why.split_once("is right, add ").expect("advice");
    let (advice, _) = advice.split_once("; if a field says something else").expect("another way");
    let advised: Vec<&str> = advice.split(' ').collect();
    let output = check(&[&["invoices.csv"], &advised[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{advised:?}: {}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["metrics"], judged(&TABLE)[2], "{advised:?}");
    let output = check(&["billing-1.jsonl", "billing-2.jsonl", "no-such-file"]);
    assert_eq!(output.status.code(), Some(64));
}

/// A log of writes on one resource: second, node, token, number, and verdict.
fn log(name: &str, head: &str, rows: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("logs-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, format!("{head}\n{}\n", rows.join("\n"))).expect("a file");
    file
}

/// The exit code and the report.
fn ended(file: &Path, options: &[&str]) -> (Option<i32>, String) {
    let file = file.display().to_string();
    let output = check(&[&[file.as_str(), "--time-unit=s", "--set=resource=orders"], options].concat());
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

const HEAD: &str = "t_us,node,token,seq,verdict";

#[test]
fn a_fence_that_is_the_wrong_way_round_is_found() {
    let right = log("right.csv", HEAD, &["1,a,7,1,ok", "2,b,8,2,ok", "3,a,7,3,fenced", "4,b,8,3,ok"]);
    let (code, report) = ended(&right, &[]);
    assert!(
        code == Some(0) && report.contains("PASS: every invariant that could be checked held: 4 of 20"),
        "{report}"
    );
    // It refuses the newer leader, and continues with the older.
    let inverted = log("inverted.csv", HEAD, &["1,a,7,1,ok", "2,b,8,2,fenced", "3,a,7,2,ok", "4,b,8,3,fenced"]);
    let (code, report) = ended(&inverted, &[]);
    assert!(code == Some(1) && report.contains("no_stale_write"), "{report}");
    // Its own field shows that it knew.
    let head = "t_us,node,token,seq,verdict,highest";
    let forgets = log("forgets.csv", head, &["1,a,7,1,ok,", "2,a,7,2,fenced,9", "3,b,8,2,ok,"]);
    let (code, report) = ended(&forgets, &[]);
    assert!(code == Some(1) && report.contains("after token 9 had taken over"), "{report}");
}

#[test]
fn a_log_that_puts_nothing_to_the_test_is_no_pass() {
    for rows in [&["1,a,7,1,ok", "2,a,7,2,ok"][..], &["1,a,7,1,fenced"]] {
        let (code, report) = ended(&log("one.csv", HEAD, rows), &[]);
        assert!(code == Some(2) && report.contains("only one leader wrote"), "{report}");
    }
    // A node that is elected again looks like one that never stopped.
    let rows = ["1,a,1,ok", "2,b,2,ok", "3,a,3,ok", "4,b,4,ok"];
    let (code, report) = ended(&log("untold.csv", "t_us,node,seq,verdict", &rows), &[]);
    assert!(code == Some(2) && report.contains("without a token or a generation: either two leaders"), "{report}");
    assert!(!report.contains("failovers") && !report.contains("nodes believing"), "{report}");
    // Numbers can still be judged.
    let (code, report) = ended(&log("twice.csv", "t_us,node,seq,verdict", &["1,a,1,ok", "2,b,1,ok"]), &[]);
    assert!(code == Some(1) && report.contains("accepted seq 1 of b after seq 1"), "{report}");
    // So can tokens without numbers.
    let rows = ["1,a,7,ok", "2,b,8,ok", "3,a,7,ok"];
    let (code, report) = ended(&log("unnumbered.csv", "t_us,node,token,verdict", &rows), &[]);
    let verdict = report.lines().find(|line| line.starts_with("SAFETY")).unwrap_or_default();
    assert!(code == Some(1) && !verdict.contains("seq_strictly_increasing"), "{report}");
}

#[test]
fn a_term_is_a_token_only_if_somebody_says_so() {
    let rows = ["1,a,7,1,ok", "2,b,6,2,ok"];
    let raft = log("raft.csv", "t_us,node,term,seq,verdict", &rows);
    let (code, report) = ended(&raft, &[]);
    assert!(code == Some(64) && report.contains("add --map token=term"), "{report}");
    assert_eq!(ended(&raft, &["--map", "token=term"]).0, Some(1));
}

#[test]
fn requests_are_called_what_the_log_calls_them() {
    let (one, other) = ("9b2e4c1e-6f0f-4a57-8f55-1f3b3a3c9a10", "0d5f");
    let rows = [format!("1,a,7,1,ok,{one}"), format!("2,a,7,2,ok,{other}"), format!("3,b,8,3,ok,{one}")];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let (code, report) = ended(&log("requests.csv", &format!("{HEAD},request"), &rows), &[]);
    assert!(code == Some(1) && report.contains(one), "{report}");
}

/// A log of JSON lines, judged with these options: the exit code and the report.
fn lines(name: &str, lines: &[&str], options: &[&str]) -> (Option<i32>, String) {
    let (head, rest) = lines.split_first().expect("a line");
    let file = log(name, head, rest).display().to_string();
    let output = check(&[&[file.as_str()], options].concat());
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_token_of_zero_is_one_and_a_missing_one_is_named() {
    let rows = ["1,a,0,ok", "2,b,1,ok", "3,a,0,ok"];
    let (code, report) = ended(&log("zero.csv", "t_us,node,token,verdict", &rows), &[]);
    assert!(code == Some(1) && report.contains("a (token 0)"), "{report}");
    // If 0 means no token, the user says so; then a and b write by turns.
    let (code, report) = ended(&log("zero-none.csv", "t_us,node,token,verdict", &rows), &["--word", "token:0="]);
    assert!(code == Some(2) && report.contains("2 writes have no token, although others have one"), "{report}");
}

#[test]
fn nodes_that_write_by_turns_are_told_apart_by_whoever_knows() {
    let rows = ["1,a,ok", "2,b,ok", "3,a,ok"];
    let file = log("turns.csv", "t_us,node,verdict", &rows);
    let (code, report) = ended(&file, &[]);
    assert!(code == Some(2) && report.contains("either two leaders, or a"), "{report}");
    assert_eq!(ended(&file, &["--set=generation=1"]).0, Some(1));
    let once = log("once.csv", "t_us,node,verdict", &["1,a,ok", "2,a,ok", "3,b,ok"]);
    assert_eq!(ended(&once, &[]).0, Some(0));
}

#[test]
fn a_request_that_is_accepted_twice_is_found_without_numbers_or_tokens() {
    let head = "t_us,node,request,verdict";
    let (code, report) = ended(&log("due.csv", head, &["1,a,04:20,ok", "2,a,04:21,ok", "3,b,04:21,ok"]), &[]);
    assert!(
        code == Some(1) && report.contains("accepted request 04:21 from b, which it had accepted from a"),
        "{report}"
    );
    let (code, report) = ended(&log("due-once.csv", head, &["1,a,04:20,ok", "2,a,04:21,ok", "3,b,04:22,ok"]), &[]);
    assert!(code == Some(0) && report.contains("no request twice"), "{report}");
}

#[test]
fn a_log_of_elections_is_judged_by_what_it_shows() {
    let elected = |t: u64, node: &str| format!("{{\"t_us\":{t},\"event\":\"elected\",\"node\":\"{node}\"}}");
    let deposed = |t: u64, node: &str| format!("{{\"t_us\":{t},\"event\":\"deposed\",\"node\":\"{node}\"}}");
    let judged = |name: &str, events: &[String], options: &[&str]| {
        lines(name, &events.iter().map(String::as_str).collect::<Vec<_>>(), options)
    };
    let both = [elected(1_000_000, "a"), elected(2_000_000, "b"), deposed(4_000_000, "a"), deposed(9_000_000, "b")];
    let (code, report) = judged("both.jsonl", &both, &[]);
    assert!(code == Some(1) && report.contains("believe that they lead, for 2 s"), "{report}");
    assert_eq!(judged("both.jsonl", &both, &["--belief-overlap", "2s"]).0, Some(0));
    assert_eq!(judged("both.jsonl", &both, &["--belief-overlap", "1999ms"]).0, Some(1));
    let (code, report) = judged("untold.jsonl", &both[..2], &[]);
    assert!(code == Some(2) && report.contains("a (generation 1) had not been reported as stopped"), "{report}");
    assert!(!report.contains("still believes"), "{report}");
    let turns = [elected(1_000_000, "a"), deposed(2_000_000, "a"), elected(2_000_000, "b"), deposed(9_000_000, "b")];
    let (code, report) = judged("in-turn.jsonl", &turns, &[]);
    assert!(code == Some(0) && report.contains("no two running nodes believed at once"), "{report}");
}

#[test]
fn work_that_lies_over_another_s_is_found_and_what_is_shared_is_not() {
    let head = "t_us,node,type,secs,verdict";
    let options =
        ["--map=shared=type,duration=secs", "--word=shared:READ=true,shared:WRITE=false", "--duration-unit=s"];
    let locks = |kind: &str| [format!("1,a,{kind},10,ok"), format!("2,b,{kind},10,ok"), format!("3,a,{kind},10,ok")];
    let judged = |name: &str, kind: &str| {
        let rows = locks(kind);
        ended(&log(name, head, &rows.iter().map(String::as_str).collect::<Vec<_>>()), &options)
    };
    let (code, report) = judged("write-locks.csv", "WRITE");
    assert!(code == Some(1) && report.contains("a and b were at work on orders at once"), "{report}");
    let (code, report) = judged("read-locks.csv", "READ");
    assert!(code == Some(2) && report.contains("nothing was checked"), "{report}");
    // A foreign log's length has an unknown meaning.
    let (code, report) = ended(&log("latency.csv", "ts,node,duration,verdict", &["1,a,10,ok"]), &["--map=t_us=ts"]);
    assert!(code == Some(64) && report.contains("unknown field `duration`"), "{report}");
}

#[test]
fn tokens_of_two_groups_are_never_compared() {
    let write = |t: u64, node: &str, token: u64, group: u64| {
        format!(
            r#"{{"t_us":{t},"event":"apply","node":"{node}","token":{token},"resource":"x","verdict":"ok","group":{group}}}"#
        )
    };
    let good =
        [write(1, "a", 5, 0), write(2, "b", 3, 1), write(3, "a", 5, 0), write(4, "b", 3, 1), write(5, "c", 4, 1)];
    let mut bad = good.to_vec();
    bad.push(write(6, "b", 3, 1));
    let judged = |name: &str, rows: &[String]| lines(name, &rows.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let (code, report) = judged("groups-good.jsonl", &good);
    assert_eq!(code, Some(0), "{report}");
    let (code, report) = judged("groups-bad.jsonl", &bad);
    assert!(code == Some(1) && report.contains("x of group 1"), "{report}");
    // If the log omits the group, and tokens of both rise side by side, the report says what to look for.
    let rows = [("a", 5), ("b", 103), ("a", 6), ("b", 103), ("a", 7), ("c", 104)];
    let undeclared: Vec<String> = (1..).zip(rows).map(|(t, (node, token))| write(t, node, token, 0)).collect();
    let (code, report) = judged("groups-undeclared.jsonl", &undeclared);
    assert!(code == Some(1) && report.contains("run side by side"), "{report}");
}
