//! Logs with grants by several clocks, and logs of several leaderships: judged as far as they tell, otherwise answered
//! with a question.

use std::{fs, path::Path, process::Command};

/// Judges these files, each with its name and lines; returns the exit code and the report.
fn check(test: &str, files: &[(&str, String)], options: &[&str]) -> (i32, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("leaderships-{}-{test}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("check").args(options);
    for (name, text) in files {
        fs::write(folder.join(name), text).expect("a file");
        command.arg(name);
    }
    let command = command.env("NO_COLOR", "1").current_dir(&folder);
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    // Ignores line breaks.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code().expect("an exit code"), text)
}

/// A grant of 15 s at this time, milliseconds.
fn grant(ms: u64, node: &str, more: &str) -> String {
    let at = format!("2026-11-24T05:40:{:02}.{:03}Z", ms / 1_000, ms % 1_000);
    format!("{{\"t_us\":\"{at}\",\"event\":\"grant\",\"node\":\"{node}\"{more}}}\n")
}

const TTL: &str = ",\"ttl\":\"15s\"";

#[test]
fn what_only_the_clocks_of_two_files_say_of_grants_is_inconclusive() {
    // By its own clock, b has the lease early by this much.
    let of = |early: u64, more: &str| {
        let a = grant(1_000, "a", more) + &grant(6_000, "a", more);
        [("a.jsonl", a), ("b.jsonl", grant(21_000 - early, "b", more) + &grant(26_000 - early, "b", more))]
    };
    let judged = |early: u64, options: &[&str]| {
        let [a, b] = of(early, TTL);
        let (code, report) = check("skew", &[a.clone(), b.clone()], options);
        assert_eq!(check("skew", &[b, a], options).0, code, "in another order of files: {report}");
        (code, report)
    };
    for (early, skew, must) in [(150, "0s", 1), (150, "100ms", 1), (150, "200ms", 2), (9_000, "200ms", 1)] {
        let (code, report) = judged(early, &["--skew", skew]);
        assert_eq!(code, must, "{early} ms too early, {skew}: {report}");
        assert!(code == 1 || report.contains("ended within 150ms of line 1 of b.jsonl"), "{report}");
        assert!(code == 2 || report.contains("while the grant to a lasts"), "{report}");
    }
    assert!(judged(150, &[]).1.contains("--skew 150ms"));
    // A gap longer than the skew is a gap.
    let gap = [of(0, TTL)[0].clone(), ("b.jsonl", grant(21_500, "b", TTL))];
    assert_eq!(check("gap", &gap, &["--skew", "200ms"]).0, 0);
    assert_eq!(check("gap", &gap, &["--skew", "1s"]).0, 2);
    // Lines of one file have one clock.
    let one = of(150, TTL).map(|(_, text)| text).concat();
    assert_eq!(check("one", &[("one.jsonl", one)], &["--skew", "200ms"]).0, 1);
}

#[test]
fn clocks_may_differ_where_a_line_ends_a_grant_or_tokens_order_them() {
    let end = grant(9_000, "a", "").replace("grant", "grant-end");
    for (from, code) in [(8_850, 2), (8_500, 1), (9_500, 0)] {
        let files = [("a.jsonl", grant(1_000, "a", "") + &end), ("b.jsonl", grant(from, "b", ""))];
        let (is, report) = check("ended", &files, &["--skew", "200ms"]);
        // A grant without a length of a lease that nobody gave back has no bound to break.
        assert_eq!(is, code, "{from}: {report}");
    }
    for (from, code) in [(8_850, 2), (8_500, 1)] {
        let files = [("a.jsonl", grant(9_000, "a", ",\"token\":1")), ("b.jsonl", grant(from, "b", ",\"token\":2"))];
        assert_eq!(check("tokens", &files, &["--skew", "200ms"]).0, code, "{from}");
    }
    // Work in two files that overlaps by less than the clock skew.
    let work = |ms: u64, node: &str, token: u64| {
        let line =
            grant(ms, node, &format!(",\"token\":{token},\"duration\":\"5s\",\"resource\":\"r\",\"verdict\":\"ok\""));
        line.replace("\"grant\"", "\"apply\"")
    };
    for (from, code) in [(5_850, 2), (5_500, 1), (6_500, 0)] {
        let files = [("a.jsonl", work(1_000, "a", 1)), ("b.jsonl", work(from, "b", 2))];
        let (is, report) = check("work", &files, &["--skew", "200ms"]);
        assert_eq!(is, code, "{from}: {report}");
    }
}

/// Second, node, token, and the value of an ignored field: an accepted write.
type Row = (u64, &'static str, u64, &'static str);

fn writes(field: &str, rows: &[Row]) -> [(&'static str, String); 1] {
    let line = |(t, node, token, value): &Row| {
        format!(
            "{{\"t_us\":\"2026-11-24T05:40:{t:02}Z\",\"node\":\"{node}\",\"token\":{token},\"verdict\":\"ok\",\
             \"{field}\":\"{value}\"}}\n"
        )
    };
    [("writes.jsonl", rows.iter().map(line).collect())]
}

/// Two leaderships, each handed over once.
const APART: [Row; 8] = [
    (1, "a", 5, "red"),
    (2, "b", 103, "blue"),
    (3, "a", 5, "red"),
    (4, "b", 103, "blue"),
    (5, "b", 6, "red"),
    (6, "b", 103, "blue"),
    (7, "a", 104, "blue"),
    (8, "b", 6, "red"),
];

#[test]
fn a_field_that_may_tell_leaderships_apart_is_asked_for() {
    let mut bad = APART.to_vec();
    bad.push((9, "a", 5, "red"));
    for field in ["tenant", "job", "lock_name", "customer"] {
        let ignore = ["--set", "resource=x", "--ignore", field];
        let (code, report) = check("asked", &writes(field, &APART), &ignore);
        let (map, own) = (format!("resource={field}"), "group={resource}");
        let add = format!("--map {map} --set {own}");
        assert!(
            code == 2
                && report.contains(&format!(
                    "{add} if it does, or --set group=0 if all lines belong to one \
                                                   leadership"
                )),
            "{report}"
        );
        // An answer to the question leads to a verdict.
        for (answer, code, of_bad) in [(&["--map", &*map, "--set", own][..], 0, 1), (&["--set", "group=0"], 1, 1)] {
            let options = [&ignore[..], answer].concat();
            let (is, report) = check("answered", &writes(field, &APART), &options);
            assert_eq!(is, code, "{field} {answer:?}: {report}");
            assert_eq!(check("answered-bad", &writes(field, &bad), &options).0, of_bad, "{field} {answer:?}");
        }
        // The question is not asked if one leadership is violated on its own.
        assert_eq!(check("asked-bad", &writes(field, &bad), &ignore).0, 1, "{field}");
    }
}

#[test]
fn what_every_line_has_anyhow_excuses_no_second_leader() {
    // b has taken over, and a continues.
    let rows = [("a", 5, 0), ("a", 5, 1), ("b", 6, 0), ("a", 5, 1), ("b", 6, 0), ("a", 5, 1), ("b", 6, 0)];
    let by_node = |a: &'static str, b: &'static str| -> Vec<Row> {
        (1..).zip(rows).map(|(t, (node, token, _))| (t, node, token, if node == "a" { a } else { b })).collect()
    };
    for (field, a, b) in [
        ("host", "h1", "h2"),
        ("writer_epoch", "5", "6"),
        ("region", "eu", "us"),
        ("thread", "main", "worker"),
        ("customer", "acme", "bolt"),
        ("shard_of", "shard-of-a", "shard-of-b"),
        ("lease", "694d8c0f1a2b3c01", "694d8c0f1a2b3c02"),
        ("op", "insert", "update"),
        ("level", "info", "warn"),
        ("session", "s-1", "s-2"),
    ] {
        let (code, report) =
            check("excuse", &writes(field, &by_node(a, b)), &["--set", "resource=x", "--ignore", field]);
        assert_eq!(code, 1, "{field}: {report}");
    }
    let moments: Vec<String> = (1..=7).map(|t| format!("04:2{t}")).collect();
    let requests: Vec<String> = (1..=7).map(|t| format!("r-{t}")).collect();
    for (field, values) in [("due", &moments), ("request_id", &requests)] {
        let text = writes(field, &by_node("A", "B"));
        let mut values = values.iter();
        let each = text[0]
            .1
            .lines()
            .map(|line| line.replace("\"A\"", "\"B\"").replace("\"B\"", &format!("{:?}", values.next().unwrap())));
        let text: String = each.map(|line| line + "\n").collect();
        assert_eq!(check("each", &[("each.jsonl", text)], &["--set", "resource=x", "--ignore", field]).0, 1, "{field}");
    }
}

#[test]
fn elections_of_several_things_are_judged_each_on_its_own() {
    let line = |t: u64, node: &str, event: &str, lock: &str| {
        format!(
            "{{\"t_us\":\"2026-11-24T05:40:{t:02}Z\",\"node\":\"{node}\",\"event\":\"{event}\",\"lock\":\"{lock}\"}}\n"
        )
    };
    let good = [
        line(1, "a", "elected", "reindex"),
        line(2, "b", "elected", "vacuum"),
        line(5, "a", "deposed", "reindex"),
        line(6, "b", "elected", "reindex"),
        line(7, "b", "deposed", "vacuum"),
        line(8, "a", "elected", "vacuum"),
    ];
    let mut bad = good.to_vec();
    bad.swap(2, 3);
    let bad =
        [&bad[..2], &[line(4, "b", "elected", "reindex"), line(5, "a", "deposed", "reindex")], &bad[4..]].concat();
    let of = |lines: &[String]| [("locks.jsonl", lines.concat())];
    let (code, report) = check("locks", &of(&good), &["--map", "resource=lock"]);
    assert!(code == 0 && report.contains("group 0 is reindex, 1 is vacuum"), "{report}");
    assert_eq!(check("locks", &of(&bad), &["--map", "resource=lock"]).0, 1);
    let (code, report) = check("locks", &of(&good), &["--ignore", "lock"]);
    assert!(code == 2 && report.contains("--map resource=lock"), "{report}");
    assert_eq!(check("locks", &of(&bad), &["--ignore", "lock"]).0, 1);
    // Writes beside them may belong to either.
    let write = line(9, "a", "apply", "vacuum").replace('}', ",\"verdict\":\"ok\"}");
    let (code, report) = check("mixed", &[("mixed.jsonl", good.concat() + &write)], &["--map", "resource=lock"]);
    assert!(code == 64 && report.contains("--only lock=reindex"), "{report}");
}

#[test]
fn a_member_s_states_are_elections_and_the_length_of_a_lease_is_never_left_out_unasked() {
    let turn = |t: u64, new: &str, old: &str| {
        format!(
            "{{\"t\":{{\"$date\":\"2026-11-24T05:40:{t:02}.250Z\"}},\"c\":\"REPL\",\"attr\":{{\"newState\":\"{new}\",\"oldState\":\"{old}\"}}}}\n"
        )
    };
    let [up, down] = [("PRIMARY", "SECONDARY"), ("SECONDARY", "PRIMARY")];
    for (until, code) in [(20, 0), (40, 1)] {
        let rs0 = turn(1, up.0, up.1) + &turn(until, down.0, down.1);
        let files = [("rs0.jsonl", rs0), ("rs1.jsonl", turn(23, up.0, up.1) + &turn(50, down.0, down.1))];
        let (_, answer) = check("states", &files, &[]);
        let (_, advice) = answer.split_once("if this guess is right, add ").expect("advice");
        let (advice, asked) = advice.split_once("; and only you can say: ").expect("a question");
        assert!(asked.contains("--set 'node={file}' if each file is from one node"), "{asked}");
        let own = ["--set", "node={file}"].map(str::to_owned);
        let options: Vec<String> = advice.split(' ').map(|word| word.replace('\'', "")).chain(own).collect();
        let (is, report) = check("states", &files, &options.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(is, code, "{options:?}: {report}");
    }
    let lease = |t: u64, host: &str| format!("time=2026-11-24T05:40:{t:02}Z host={host} op=renew leaseSeconds=30\n");
    for (from, code) in [(45, 0), (20, 1)] {
        let files = [("lease.log", lease(1, "a") + &lease(10, "a") + &lease(from, "b"))];
        let (_, answer) = check("lease", &files, &[]);
        assert!(answer.contains("--set event=grant --map ttl=leaseSeconds --duration-unit s"), "{answer}");
        let options = [
            "--map",
            "t_us=time,node=host,ttl=leaseSeconds",
            "--set",
            "event=grant",
            "--duration-unit",
            "s",
            "--ignore",
            "op",
        ];
        let (is, report) = check("lease", &files, &options);
        assert_eq!(is, code, "{report}");
    }
}
