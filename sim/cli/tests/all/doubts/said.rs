//! Facts that stand where `check` once did not look: words beside pairs, a second value of a field, a number in another unit.

use super::{check, check_one};
use serde_json::{Value, json};

/// Writes of a and b, at these seconds, with more fields of each.
fn writes(of: [(u64, &str, u64, Value); 3]) -> [Value; 3] {
    of.map(|(second, node, token, more)| {
        let mut write = json!({"t_us": format!("2026-05-04T02:30:0{second}Z"), "node": node, "token": token, "resource": "r", "verdict": "ok"});
        let write_fields = write.as_object_mut().expect("an object");
        write_fields.extend(more.as_object().expect("an object").clone());
        write
    })
}

fn lines(of: &[Value]) -> String {
    of.iter().map(|line| format!("{line}\n")).collect()
}

/// Loki's stream of these lines, a second apart, with a label.
fn stream(name: &str, value: &str, of: &[Value]) -> String {
    let values: Vec<_> = of
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let line = line.as_object().expect("an object").iter().filter(|(name, _)| *name != "t_us");
            let line = Value::Object(line.map(|(name, value)| (name.clone(), value.clone())).collect());
            json!([(1_777_861_800_000_000_000_u64 + at as u64 * 1_000_000_000).to_string(), line.to_string()])
        })
        .collect();
    let stream = json!({"stream": {name: value}, "values": values});
    json!({"status": "success", "data": {"resultType": "streams", "result": [stream]}}).to_string()
}

/// A time that was an answer's does not make its other fields ours.
#[test]
fn fields_of_an_answer_are_not_taken_for_ours() {
    fn plain(node: &str, token: u64, more: Value) -> (u64, &str, u64, Value) {
        (0, node, token, more)
    }
    let of = writes([
        plain("a", 7, json!({"group": 0})),
        plain("b", 8, json!({"group": 1})),
        plain("a", 7, json!({"group": 0})),
    ]);
    let (code, said) = check("loki-group", &[("w.json", stream("job", "x", &of))], &[]);
    assert!(code == 64 && said.contains("`group`"), "{said}");
    let of = writes([plain("a", 7, json!({})), plain("b", 8, json!({})), plain("b", 8, json!({}))]);
    let (code, said) = check("loki-version", &[("w.json", stream("version", "3", &of))], &["--ignore", "version"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = check("loki-version-asked", &[("w.json", stream("version", "3", &of))], &[]);
    assert!(code == 64 && said.contains("--ignore version"), "{said}");
    // Our own histories count microseconds, and there it is a leadership.
    let ours = "{\"t_us\":1,\"event\":\"elected\",\"node\":\"a\",\"group\":0}\n{\"t_us\":2,\"event\":\"elected\",\"node\":\"b\",\"group\":1}\n";
    assert_ne!(check_one("ours", ours, &[]).0, 64);
}

#[test]
fn times_in_two_units_are_not_merged() {
    let log = |node: &str, token: u64, ts: u64| {
        json!({"ts": ts, "node": node, "token": token, "resource": "r", "verdict": "ok"}).to_string()
    };
    let map = ["--map", "t_us=ts"];
    let merged = |a: u64, options: &[&str]| {
        let files = [("a.jsonl", log("a", 7, a)), ("b.jsonl", log("b", 8, 1_777_861_800_000))];
        check("units", &files, &[&map, options].concat())
    };
    assert_eq!(merged(1_777_861_805_125, &[]).0, 1);
    let (code, said) = merged(1_777_861_805, &[]);
    assert!(code == 64 && said.contains("looks like") && said.contains("write all times in one unit"), "{said}");
    // The user may mean it.
    assert_ne!(merged(1_777_861_805, &["--time-unit", "ms"]).0, 64);
}

#[test]
fn lines_with_one_number_in_two_files_have_no_order() {
    let log = |node: &str, token: u64, lsn: u64| {
        json!({"ts": "2026-05-04T02:30:00Z", "lsn": lsn, "node": node, "token": token, "resource": "r", "verdict": "ok"}).to_string()
    };
    let options = ["--map", "t_us=ts", "--order", "lsn", "--ignore", "lsn"];
    let of = |lsn: u64| check("numbers", &[("a.jsonl", log("a", 7, 5)), ("b.jsonl", log("b", 8, lsn))], &options);
    assert_eq!((of(6).0, of(4).0), (0, 1));
    let (code, said) = of(5);
    assert!(code == 64 && said.contains("the order of the two is unknown"), "{said}");
    // The same line, shipped twice.
    let twice = check("numbers-twice", &[("a.jsonl", log("a", 7, 5)), ("b.jsonl", log("a", 7, 5))], &options);
    assert!(twice.0 != 64 && twice.1.contains("1 line repeated"), "{}", twice.1);
}

/// A line whose token is written like this.
fn token(second: u64, node: &str, token: &str) -> String {
    format!(r#"{{"t_us":"2026-05-04T02:30:0{second}Z","node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#)
}

#[test]
fn a_word_for_no_token_is_no_opaque_token() {
    let log = [token(0, "a", r#""none""#), token(1, "b", "8"), token(2, "a", "7")].join("\n");
    let (code, said) = check_one("none", &log, &[]);
    assert!(code == 64 && said.contains("--word token:none=") && !said.contains("--opaque-tokens"), "{said}");
    let (code, said) = check_one("none-said", &log, &["--word", "token:none="]);
    assert_eq!(code, 1, "{said}");
}

#[test]
fn a_double_that_has_lost_its_last_digits_is_no_token() {
    let of = |second: &str| [token(0, "a", "9007199254740993"), token(1, "b", second)].join("\n");
    assert_eq!(check_one("whole", &of("9007199254740992"), &[]).0, 1);
    let (code, said) = check_one("double", &of("9007199254740993.0"), &[]);
    assert!(code == 64 && said.contains("must be a whole number"), "{said}");
}

#[test]
fn words_beside_pairs_are_not_dropped() {
    let line = |second: u64, node: &str, said: &str| {
        format!("ts=2026-05-04T02:30:0{second}Z node={node} token={} resource=r {said}", 7 + second % 2)
    };
    let of = |words: [&str; 3]| [line(0, "a", words[0]), line(1, "b", words[1]), line(2, "a", words[2])].join("\n");
    let options = ["--map", "t_us=ts"];
    for (words, field) in [
        (["write accepted", "write accepted", "write rejected"], "msg"),
        (["msg=write accepted", "msg=write accepted", "msg=write rejected"], "text"),
    ] {
        let (code, said) = check("words", &[("w.log", of(words))], &options);
        assert!(code == 64 && said.contains(&format!("`{field}`")), "{said}");
        // Not without a question about the words.
        assert!(!said.contains("add --set verdict=ok;") && !said.ends_with("add --set verdict=ok"), "{said}");
    }
    let refused = ["--map", "t_us=ts,verdict=msg", "--word", "verdict:write accepted=ok,verdict:write rejected=fenced"];
    let (code, said) =
        check("words-said", &[("w.log", of(["write accepted", "write accepted", "write rejected"]))], &refused);
    assert_eq!(code, 0, "{said}");
    let (code, said) = check("words-taken", &[("w.log", of(["write accepted"; 3]))], &refused);
    assert_eq!(code, 1, "{said}");
    let (code, said) = check("words-alike", &[("w.log", of(["write rejected"; 3]))], &options);
    assert!(code == 64 && said.contains("verdict=msg"), "{said}");
}

#[test]
fn a_second_value_of_a_field_is_asked_about() {
    let [first, second, third] = writes([(0, "a", 7, json!({})), (1, "b", 8, json!({})), (2, "b", 8, json!({}))]);
    let wrapped = |token: u64, line: &Value| json!({"message": line.to_string(), "token": token});
    let log = lines(&[wrapped(7, &first), wrapped(8, &second), wrapped(9, &third)]);
    let (code, said) = check_one("outer", &log, &[]);
    assert!(code == 64 && said.contains("`token (of what wraps it)`"), "{said}");
    let log = lines(&[wrapped(7, &first), wrapped(8, &second), wrapped(8, &third)]);
    assert_eq!(check_one("outer-same", &log, &[]).0, 0);
    let nested = |token: u64, within: u64| {
        format!(
            r#"{{"t_us":"2026-05-04T02:30:00Z","node":"a","w.token":{token},"w":{{"token":{within}}},"resource":"r","verdict":"ok"}}"#
        )
    };
    let (code, said) = check_one("nested", &nested(7, 9), &["--map", "token=w.token"]);
    assert!(code == 64 && said.contains("`w.token (another)`"), "{said}");
    assert_ne!(check_one("nested-same", &nested(7, 7), &["--map", "token=w.token"]).0, 64);
}

#[test]
fn messages_that_name_two_locks_are_not_one_election() {
    let line = |second: u64, node: &str, msg: &str| {
        format!(r#"{{"time":"2026-05-04T02:30:0{second}Z","node":"{node}","msg":"{msg}"}}"#)
    };
    let log =
        [line(0, "a", "acquired lock x"), line(1, "b", "acquired lock y"), line(2, "a", "released lock x")].join("\n");
    let (code, said) = check_one("locks", &log, &[]);
    assert!(
        code == 64 && said.contains("--elected 'acquired lock {resource}'") && !said.contains("=elected"),
        "{said}"
    );
    let options =
        ["--elected", "acquired lock {resource}", "--deposed", "released lock {resource}", "--map", "t_us=time"];
    let (code, said) = check_one("locks-said", &log, &options);
    assert_ne!(code, 1, "{said}");
    let taken =
        [line(0, "a", "acquired lock x"), line(1, "b", "acquired lock x"), line(2, "a", "released lock x")].join("\n");
    assert_eq!(check_one("locks-taken", &taken, &options).0, 1);
}

#[test]
fn a_count_of_changed_rows_is_not_ignored() {
    for name in ["rows_changed", "changed_rows", "rows_written"] {
        let of = writes([(0, "a", 7, json!({name: 1})), (1, "b", 8, json!({name: 1})), (2, "a", 7, json!({name: 0}))])
            .map(|mut line| {
                line.as_object_mut().expect("an object").remove("verdict");
                line
            });
        let (code, said) = check_one("changed", &lines(&of), &[]);
        assert!(
            code == 64 && said.contains(&format!("verdict={name}")) && !said.contains(&format!("--ignore {name}")),
            "{said}"
        );
    }
}

#[test]
fn an_answer_with_fewer_records_than_matched_is_not_judged() {
    let row = |second: u64, node: &str, token: u64| {
        let cell = |name: &str, value: &str| json!({"field": name, "value": value});
        let message = json!({"node": node, "token": token, "resource": "r", "verdict": "ok"}).to_string();
        json!([cell("@timestamp", &format!("2026-05-04 02:30:0{second}.000")), cell("@message", &message)])
    };
    let of = |matched: f64| {
        let results = [row(0, "a", 7), row(1, "b", 8), row(2, "a", 7)];
        json!({"results": results, "statistics": {"recordsMatched": matched}, "status": "Complete"}).to_string()
    };
    let options = ["--map", "t_us=@timestamp"];
    let judged = |matched: f64| check("matched", &[("w.json", of(matched))], &options);
    assert_eq!(judged(3.0).0, 1, "{}", judged(3.0).1);
    let (code, said) = judged(10.0);
    assert!(code == 64 && said.contains("3 of 10 records"), "{said}");
}

/// A label that repeats the writer is ignored without a question, unless it differs on one line.
#[test]
fn a_copy_of_the_writer_needs_no_question() {
    let of = |last: &str| {
        let pods = [("a", 0), ("b", 1), ("b", 2)];
        let rows =
            writes(pods.map(|(node, second)| (second, node, if node == "a" { 7 } else { 8 }, json!({"holder": node}))));
        let [first, second, mut third] = rows;
        third["holder"] = json!(last);
        lines(&[first, second, third])
    };
    let (code, said) = check_one("copy", &of("b"), &[]);
    assert!(code == 64 && said.contains("--ignore holder") && !said.contains("only you can say"), "{said}");
    assert_eq!(check_one("copy-ignored", &of("b"), &["--ignore", "holder"]).0, 0);
    let (code, said) = check_one("copy-differs", &of("a"), &[]);
    assert!(code == 64 && said.contains("`holder` (a, b) may matter"), "{said}");
}

/// Batches of OpenTelemetry in one array are read as they are one by one.
#[test]
fn an_array_of_batches_is_read() {
    let batch = |second: u64, node: &str, token: u64| {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let attributes = json!([
            text("node", node),
            text("resource", "r"),
            text("verdict", "ok"),
            text("token", &token.to_string())
        ]);
        let record = json!({"timeUnixNano": (1_777_861_800_000_000_000 + second * 1_000_000_000).to_string(), "attributes": attributes});
        json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    };
    let judged = |last: Value| {
        check("batches", &[("w.json", json!([batch(0, "a", 7), batch(1, "b", 8), last]).to_string())], &[])
    };
    assert_eq!((judged(batch(2, "b", 8)).0, judged(batch(2, "a", 7)).0), (0, 1));
}
