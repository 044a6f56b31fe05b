//! A log's own times in every output that mentions a moment; and what clock skew leaves open.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("own-times-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, text).expect("a file");
    file
}

fn check(files: &[PathBuf], options: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("check").args(files).args(options).env("NO_COLOR", "1").env("COLUMNS", "120");
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().expect("an exit code"), text)
}

/// Two leaders; a write of the first is accepted after the second's. `times` are those of the lines.
fn log(name: &str, times: [&str; 4]) -> PathBuf {
    let of = [("a", 1), ("b", 2), ("a", 1), ("b", 2)];
    let line = |(t, (node, token)): (&str, (&str, u64))| {
        format!(r#"{{"t_us":{t},"node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#) + "\n"
    };
    file(name, &times.into_iter().zip(of).map(line).collect::<String>())
}

#[test]
fn a_log_is_told_in_its_own_times() {
    let zone = |zone: &str| {
        ["03:12:09", "04:12:09.250", "05:40:03.534", "05:40:04"].map(|time| format!("\"2026-03-01T{time}{zone}\""))
    };
    for (name, offset, day) in [("z", "Z", "2026-03-01, UTC"), ("cet", "+01:00", "2026-03-01, UTC+01:00")] {
        let times = zone(offset);
        let log = log(&format!("{name}.jsonl"), times.each_ref().map(String::as_str));
        let (code, report) = check(std::slice::from_ref(&log), &[]);
        assert_eq!(code, 1, "{report}");
        let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "a wrote at 05:40:03.534 under token 1; b had taken over with token 2 at 04:12:09.250",
            &format!("times {day}"),
            " 05:40:03.534 · · ! a ",
            "03:12:09.000 – 05:40:03.534",
            "at 05:40:03.534 r accepted a write of a",
            "from 04:12:09.250 for 5274.3 s",
        ] {
            assert!(flat.contains(part), "{name}: {part} is missing:\n{report}");
        }
        assert!(!report.contains("8874.534"), "{report}");
        let (_, json) = check(std::slice::from_ref(&log), &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["begins"], format!("2026-03-01T03:12:09{offset}"), "{json}");
        assert!(json["cause"].as_str().is_some_and(|cause| cause.contains("at 05:40:03.534")), "{json}");
        let out = log.with_extension("pages");
        check(&[log], &["--out", &out.display().to_string()]);
        let page = fs::read_to_string(out.join("timeline.html")).expect("a page");
        let offset_s = if offset == "Z" { 0 } else { 3_600 };
        let origin = 1_772_334_729_000_000_u64 - offset_s * 1_000_000;
        let clock = format!(r#""clock":{{"origin_us":{origin},"offset_s":{offset_s},"dates":false,"whole":false}}"#);
        assert!(page.contains(&clock), "{clock} is missing");
    }
    // Whole seconds have no milliseconds; several days have dates.
    let days = ["\"2026-03-01T23:59:58Z\"", "\"2026-03-01T23:59:59Z\"", "\"2026-03-02T00:00:04Z\"", "1772409605"];
    let (_, report) = check(&[log("days.jsonl", days)], &["--time-unit", "s"]);
    assert!(report.contains("a wrote at 2026-03-02 00:00:04 under token 1"), "{report}");
    // A log that counts from its own start has no time of day.
    let (_, report) = check(&[log("elapsed.jsonl", ["0", "1000000", "2500000", "3000000"])], &[]);
    assert!(report.contains("a wrote at 2.500 s under token 1") && !report.contains("times "), "{report}");
}

#[test]
fn what_only_the_skew_of_clocks_could_explain_of_elections_is_inconclusive() {
    let line = |t: u64, event: &str, node: &str| {
        format!(r#"{{"t_us":{},"event":"{event}","node":"{node}"}}"#, 1_772_334_729_000_000 + t * 1_000) + "\n"
    };
    let a = file("a.jsonl", &[line(0, "elected", "a"), line(5_150, "deposed", "a")].concat());
    let b = |t: u64| file(&format!("b-{t}.jsonl"), &[line(t, "elected", "b"), line(9_000, "deposed", "b")].concat());
    for (elected_ms, options, code) in [
        (5_000, &["--time-unit", "us"][..], 1),
        (5_000, &["--time-unit", "us", "--skew", "100ms"], 1),
        (5_000, &["--time-unit", "us", "--skew", "200ms"], 2),
        // In turn as it stands; but a clock may be late.
        (5_300, &["--time-unit", "us", "--skew", "200ms"], 2),
        (5_300, &["--time-unit", "us", "--skew", "100ms"], 0),
        (5_300, &["--time-unit", "us"], 0),
    ] {
        for files in [[a.clone(), b(elected_ms)], [b(elected_ms), a.clone()]] {
            let (is, report) = check(&files, options);
            assert_eq!(is, code, "{elected_ms} {options:?}: {report}");
            assert!(code != 2 || report.contains("closer than their times can distinguish"), "{report}");
        }
    }
}

#[test]
fn an_answer_that_may_lack_records_is_none() {
    let insights = |status: &str, cells: &str| {
        let log = file("insights.json", &format!(r#"{{"results":[[{cells}]],"status":"{status}"}}"#));
        check(&[log], &[])
    };
    let cell = r#"{"field":"@timestamp","value":"2026-05-04 02:30:00.125"},{"field":"node","value":"a"}"#;
    for status in ["Running", "Timeout"] {
        let (code, said) = insights(status, cell);
        assert!(code == 64 && said.contains(&format!("the status {status}, so it may lack records")), "{said}");
    }
    let (code, said) = insights("Complete", cell);
    assert!(code == 64 && !said.contains("may lack"), "{said}");
    for (name, text) in [
        ("loki.json", r#"{"status":"success","data":{"resultType":"streams","result":[{"stream":{},"values":[]}]}}"#),
        ("otlp.json", r#"{"resourceLogs":[{"scopeLogs":[]}]}"#),
    ] {
        let (code, said) = check(&[file(name, text)], &[]);
        assert!(code == 64 && said.contains("holds no events"), "{said}");
    }
}

/// Which of two writes of one moment came first decides whether a stale one was accepted.
#[test]
fn records_of_two_nodes_at_one_moment_have_no_order() {
    let record = |time: &str, node: &str, token: u64| {
        let cells =
            [("@timestamp", time), ("node", node), ("token", &token.to_string()), ("resource", "r"), ("verdict", "ok")];
        let cells = cells.map(|(name, value)| format!(r#"{{"field":"{name}","value":"{value}"}}"#));
        format!("[{}]", cells.join(","))
    };
    let judged = |second: &str| {
        let all = [record(second, "b", 8), record("2026-05-04 02:30:00.125", "a", 7)];
        let text = format!(r#"{{"results":[{}],"status":"Complete"}}"#, all.join(","));
        check(&[file("moment.json", &text)], &["--map", "t_us=@timestamp"])
    };
    let (code, said) = judged("2026-05-04 02:30:00.125");
    assert!(code == 64 && said.contains("of two nodes have the same time"), "{said}");
    let (code, said) = judged("2026-05-04 02:30:00.126");
    assert!(code != 64, "{said}");
}

#[test]
fn lines_whose_newest_come_first_are_sorted_if_the_user_says_so() {
    // As search tools list lines; a resource has no such order.
    let log = log("newest.jsonl", ["4000000", "3000000", "2000000", "1000000"]);
    let (code, said) = check(&[log], &[]);
    assert!(code == 64 && said.contains("--order t_us to sort the lines by time"), "{said}");
}
