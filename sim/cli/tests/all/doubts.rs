//! Ambiguous logs: the order of lines, the owner of a token, the meaning of a field. No verdict depends on the order of
//! lines, nothing passes without proof, and every decisive ambiguity leads to a question.

mod hidden;
mod said;
mod wrapped;

use std::{fs, path::Path, process::Command};

/// A line of a log: its second, who reports which kind of event, and its text.
type Line = (u64, (String, bool), String);

/// Parses `second node what [token|-] [field=value …]`: an event of a node, or the verdict of a write.
fn line(said: &str) -> Line {
    let mut words = said.split_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let (second, node, what, token) = (next(), next(), next(), next());
    let tells = ["elected", "deposed", "grant"].contains(&what);
    let mut text = format!(r#"{{"t_us":"2026-03-01T10:00:{second:0>2}Z","node":"{node}""#);
    text += &match tells {
        true => format!(r#","event":"{what}""#),
        false => format!(r#","event":"apply","resource":"r","verdict":"{what}""#),
    };
    if !["", "-"].contains(&token) {
        text += &format!(r#","token":{token}"#);
    }
    for (field, value) in words.filter_map(|word| word.split_once('=')) {
        text += &format!(r#","{field}":"{value}""#);
    }
    (second.parse().expect("a second"), (node.to_owned(), tells), text + "}\n")
}

/// The answer of `check` for files with these contents.
fn check(name: &str, files: &[(&str, String)], options: &[&str]) -> (i32, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("doubts-{}-{name}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.arg("check").env("NO_COLOR", "1");
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, text).expect("a file");
        command.arg(file);
    }
    let output = command.args(options).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().expect("an exit code"), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn check_one(name: &str, text: &str, options: &[&str]) -> (i32, String) {
    check(name, &[("log.jsonl", text.to_owned())], options)
}

/// Every order of the lines of each second.
fn orders(lines: &[Line]) -> Vec<Vec<Line>> {
    let Some(first) = lines.first() else { return vec![Vec::new()] };
    let moment = lines.iter().take_while(|line| line.0 == first.0).count();
    let mut all = Vec::new();
    for place in (0..moment).filter(|place| lines[..*place].iter().all(|before| before.1 != lines[*place].1)) {
        let rest = [&lines[..place], &lines[place + 1..]].concat();
        all.extend(orders(&rest).into_iter().map(|rest| [vec![lines[place].clone()], rest].concat()));
    }
    all
}

#[test]
fn what_a_log_leaves_open_is_said_however_its_lines_stand() {
    let cases =
        include_str!("../testdata/doubts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (place, case) in cases.enumerate() {
        let [code, says, lines] = *case.split(" | ").collect::<Vec<_>>() else { panic!("{case}") };
        let lines: Vec<Line> = lines.split(';').map(line).collect();
        for (turn, lines) in orders(&lines).into_iter().enumerate() {
            let text: String = lines.into_iter().map(|line| line.2).collect();
            let (is, report) = check_one(&format!("{place}-{turn}"), &text, &["--verbose"]);
            assert!(code == is.to_string() && report.contains(says), "{case}\n{text}\nends with {is}: {report}");
        }
    }
}

#[test]
fn neither_a_crowded_second_nor_the_hash_of_a_line_nor_the_order_of_files_decides() {
    let write = |said: &str| line(said).2;
    let many: String = (0..1_200).map(|place| write(&format!("2 b ok 2 request=c:{place}"))).collect();
    assert_eq!(check_one("many", &(write("1 a ok 1") + &many + &write("2 a ok 1")), &[]).0, 2);
    for (one, other) in [("b", "c"), ("c", "b"), ("x", "y"), ("y", "x"), ("p", "q"), ("q", "p")] {
        let write = |second: u64, node: &str| write(&format!("{second} {node} ok - token=lock-{node}"));
        let text = write(5, one) + &write(5, other) + &write(6, other);
        assert_eq!(check_one("opaque", &text, &[]).0, 2, "{one} {other}");
    }
    let files = [
        ("x/app.jsonl", write("1 a ok 1") + &write("2 a ok 1")),
        ("y/app.jsonl", write("3 b ok 2") + &write("4 b ok 2")),
    ];
    for files in [files.clone(), [files[1].clone(), files[0].clone()]] {
        assert_eq!(check("in-turn", &files, &["--order", "line"]).0, 0);
    }
    // Unordered lines are sorted by the suggested option; no other option makes them pass.
    let shipped = ["1 a ok 1", "4 a ok 1", "3 b ok 2", "5 b ok 2"].map(write);
    for time in ["t_us", "@timestamp"] {
        let text = shipped.concat().replace("t_us", time);
        let (map, sort) = (format!("t_us={time}"), format!("--order {time}"));
        let mut options = if time == "t_us" { Vec::new() } else { vec!["--map", &map] };
        let (code, said) = check_one("shipped", &text, &options);
        assert!(code == 64 && said.contains(&sort), "{said}");
        options.extend(sort.split(' '));
        let newest_first = text.lines().rev().map(|line| format!("{line}\n")).collect();
        for text in [text, newest_first] {
            assert_eq!(check_one("sorted", &text, &options).0, 1);
        }
    }
    // Newest-first logs are reversed, also within one second; in unordered ones, simultaneous lines have no order.
    let led = ["1 a elected", "3 a deposed", "3 a elected", "5 b elected", "8 b deposed", "9 a deposed"].map(write);
    let sort = ["--order", "t_us"];
    assert_eq!(check_one("as-it-was", &led.concat(), &[]).0, 1);
    let newest_first: Vec<String> = led.iter().rev().cloned().collect();
    assert_eq!(check_one("newest-first", &newest_first.concat(), &sort).0, 1);
    let (code, said) = check_one("no-order", &(led[3..].concat() + &led[..3].concat()), &sort);
    assert!(code == 64 && said.contains("lines 5 and 6 of one node have the same time"), "{said}");
    // An overlap of 2 s may be allowed; a longer one is not, whoever leads.
    for (last, code) in [(4, 0), (7, 1)] {
        let text = ["1 a elected", "2 a ok", "3 b ok", &format!("{last} b ok"), "9 a deposed"].map(write).concat();
        let (is, report) = check_one("overlap", &text, &["--belief-overlap", "2s"]);
        assert_eq!(is, code, "{report}");
    }
    // Files of the same name are told apart by their folders.
    let nobodys = |said: &str| write(said).replace(r#""node":"?","#, "");
    let files = [
        ("x/app.jsonl", nobodys("1 ? ok") + &nobodys("3 ? ok")),
        ("y/app.jsonl", nobodys("2 ? ok") + &nobodys("4 ? ok")),
    ];
    let (code, report) = check("same-name", &files, &["--set", "node={file}"]);
    assert!(code == 2 && report.contains("by turns"), "{report}");
    // Times with and without a zone cannot be ordered.
    let mixed = (write("1 a ok 1") + &write("2 b ok 2") + &write("3 b ok 2")).replacen("02Z", "02", 1);
    let (code, report) = check_one("zones", &mixed, &[]);
    assert!(code == 2 && report.contains("pass --zone for"), "{report}");
    assert_eq!(check_one("zone", &mixed, &["--zone", "+00:00"]).0, 0);
}

/// A field, and its values in the lines of two leaders.
const DECIDE: [(&str, &str, &str); 30] = [
    ("expires_at", r#""2026-03-01T10:00:50Z""#, r#""2026-03-01T10:00:52Z""#),
    ("lease_expiry", "1772359250", "1772359252"),
    ("not_after", r#""2026-03-01T10:00:50Z""#, r#""2026-03-01T10:00:52Z""#),
    ("renew_deadline", r#""2026-03-01T10:00:50Z""#, r#""2026-03-01T10:00:52Z""#),
    ("valid_for", "30", "31"),
    ("session_timeout", "30", "30"),
    ("expires_in", r#""30s""#, r#""30s""#),
    ("max_age", "30", "30"),
    ("duration_s", "30", "25"),
    ("committed_at", r#""2026-03-01T10:00:09Z""#, r#""2026-03-01T10:00:08Z""#),
    ("op", r#""GET""#, r#""PUT""#),
    ("phase", r#""begin""#, r#""commit""#),
    ("dry_run", "true", "false"),
    ("cookie", r#""x7""#, r#""x8""#),
    ("epoch", "1772359250", "1772359252"),
    ("group", "0", "1"),
    ("shared", "true", "true"),
    ("mode", r#""READ""#, r#""WRITE""#),
    ("elapsed_ms", "30000", "43000"),
    ("took", "31", "43"),
    ("elapsed", r#""30 s""#, r#""43 s""#),
    ("pid", "4011", "5120"),
    ("ip", r#""10.0.0.5""#, r#""10.0.0.6""#),
    ("file", r#""a.csv""#, r#""b.csv""#),
    ("payment_id", "4411", "4412"),
    ("granted", "1", "0"),
    ("eta", r#""2026-03-01T10:00:09Z""#, r#""2026-03-01T10:00:09Z""#),
    ("status", r#""LEADING""#, r#""LOOKING""#),
    ("state", r#""lock obtained""#, r#""lock lost""#),
    ("version", "9", "7"),
];

#[test]
fn no_field_that_may_decide_is_left_out_unasked() {
    let asked = |name: &str, text: &str| {
        let (code, answer) = check_one(name, text, &[]);
        let (guess, asked) = answer.split_once("only you can say: ").unwrap_or((&answer, ""));
        assert_eq!(code, 64, "{answer}");
        (guess.to_owned(), asked.to_owned(), answer.clone())
    };
    for (field, one, other) in DECIDE {
        let said = |s: u64, who: &str, value: &str| {
            format!(
                r#"{{"ts":"2026-03-01T10:00:0{s}Z","who":"{who}","resource":"r","verdict":"ok","{field}":{value}}}"#
            ) + "\n"
        };
        let text = said(1, "a", one) + &said(2, "a", one) + &said(3, "b", other) + &said(4, "b", other);
        let (guess, asked, answer) = asked(field, &text);
        assert!(!guess.contains("--ignore") && !guess.contains(&format!("={field}")), "{field}: {answer}");
        assert!(asked.contains(&format!("`{field}`")), "{field}: {answer}");
    }
    // Fields whose names only resemble a request or a number.
    for (field, values) in [("request_method", ["\"PUT\"", "\"POST\"", "\"PUT\""]), ("n", ["9", "7", "8"])] {
        let said = |(s, value): (usize, &str)| {
            format!(
                r#"{{"ts":"2026-03-01T10:00:0{s}Z","node":"a","token":7,"resource":"r","verdict":"ok","{field}":{value}}}"#
            ) + "\n"
        };
        let text: String = values.into_iter().enumerate().map(said).collect();
        let (guess, asked, answer) = asked(field, &text);
        assert!(!guess.contains(&format!("={field}")) && asked.contains(&format!("`{field}`")), "{field}: {answer}");
    }
    // Words whose ending changes the meaning of their beginning.
    for word in ["apply skipped", "commit dropped", "overwrote stale", "conflict resolved", "success=0", "queued"] {
        let said = |s: u64, node: &str, word: &str| {
            format!(r#"{{"ts":"2026-03-01T10:00:0{s}Z","node":"{node}","token":{s},"resource":"r","result":"{word}"}}"#)
                + "\n"
        };
        let (guess, asked, answer) = asked("words", &(said(1, "a", "ok") + &said(2, "b", "ok") + &said(3, "a", word)));
        assert!(!guess.contains(word) && asked.contains(word), "{word}: {answer}");
    }
}

#[test]
fn lines_that_lack_a_field_may_be_the_ones_that_count() {
    let said = |s: u64, node: &str, error: &str| {
        let token = u64::from(node == "b") + 1;
        format!(r#"{{"ts":"2026-03-01T10:00:0{s}Z","node":"{node}","token":{token},"resource":"r","error":{error}}}"#)
            + "\n"
    };
    let text = said(1, "a", "null") + &said(2, "b", "null") + &said(3, "a", "\"stale token\"") + &said(4, "b", "null");
    let options = ["--map", "t_us=ts,verdict=error", "--word", "verdict:stale token=fenced"];
    let (code, answer) = check_one("some", &text, &options);
    assert!(code == 64 && answer.contains("--set verdict=ok if they were accepted"), "{answer}");
    assert_eq!(check_one("some-ok", &text, &[&options[..], &["--set", "verdict=ok"]].concat()).0, 0);
}

#[test]
fn lines_are_read_as_programs_write_them_and_none_says_a_thing_twice() {
    let said = |time: &str, node: &str, token: u64| {
        format!(r#"{{"t_us":"{time}","node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#) + "\n"
    };
    let times = [
        "Sun, 01 Mar 2026 10:00:02 GMT",
        "2026-03-01 10:00:02.5 +0000 UTC m=+0.5",
        "2026-03-01 11:00:02 +0100 CET",
        "2026-03-01T11:00:02.25+01:00[Europe/Berlin]",
        "20260301T100002Z",
    ];
    for time in times {
        let text = said("2026-03-01T10:00:01Z", "a", 1) + &said(time, "b", 2) + &said("2026-03-01T10:00:03Z", "a", 1);
        let (code, report) = check_one("times", &text, &[]);
        assert!(code == 1 && report.contains("10:00:02"), "{time}: {report}");
    }
    for (time, at) in [("2026-03-01 10:00:02 PM", "22:00:02"), ("Sun Mar  1 10:00:02 2026", "10:00:02")] {
        let text = said("2026-03-01 10:00:01", "a", 1) + &said(time, "b", 2);
        let (code, report) = check_one("bare", &text, &[]);
        assert!(code == 0 && report.contains(at), "{time}: {report}");
    }
    let twice = said("2026-03-01T10:00:01Z", "a", 1).replace(r#""token":1"#, r#""token":1,"token":2"#);
    let (code, report) = check_one("twice", &twice, &[]);
    assert!(code == 64 && report.contains("says the field `token` twice"), "{report}");
    let (code, report) =
        check("pairs", &[("log.log", "t_us=1 node=a token=1\nt_us=2 node=a token=1 token=2\n".to_owned())], &[]);
    assert!(code == 64 && report.contains("has a key twice"), "{report}");
    // A table as mysql draws it, with a line above its columns.
    let drawn = "+------+------+-------+--------+\n| t_us | node | token | verdict |\n+------+------+-------+--------+\n\
                 | 1000 | a    | 1     | ok     |\n| 2000 | b    | 2     | ok     |\n| 3000 | a    | 1     | ok     |\n\
                 +------+------+-------+--------+\n";
    assert_eq!(check("drawn", &[("log.txt", drawn.to_owned())], &["--set", "resource=r"]).0, 1);
    let text = said("1772359201", "a", 1) + &said("1772359202", "b", 2);
    let (code, report) = check_one("zone-of-numbers", &text, &["--time-unit", "s", "--zone", "+02:00"]);
    assert!(code == 64 && report.contains("--zone has no effect"), "{report}");
}
