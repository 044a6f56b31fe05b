//! Logs whose times leave the order of lines open, and logs that do not say all: no verdict depends on how their lines stand, and
//! nothing is passed that they do not show.

use std::{fs, path::Path, process::Command};

/// A line of a log: second, node, event or verdict, token, and more fields.
type Said<'a> = (u64, &'a str, &'a str, Option<u64>, &'a str);

fn line((s, node, what, token, more): Said) -> String {
    let what = match what {
        "elected" | "deposed" | "grant" => format!(r#""event":"{what}""#),
        verdict => format!(r#""event":"apply","resource":"r","verdict":"{verdict}""#),
    };
    let token = token.map_or_else(String::new, |token| format!(r#","token":{token}"#));
    format!("{{\"t_us\":\"2026-03-01T10:00:{s:02}Z\",\"node\":\"{node}\",{what}{token}{more}}}\n")
}

/// What `check` says of files with these contents.
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

fn judged(name: &str, lines: &[Said], options: &[&str]) -> (i32, String) {
    check(name, &[("log.jsonl", lines.iter().copied().map(line).collect())], options)
}

/// Every order of lines of one second in which what one node tells of itself, and what it writes, each stay in order.
fn orders<'a>(lines: &[Said<'a>]) -> Vec<Vec<Said<'a>>> {
    let Some(first) = lines.first() else { return vec![Vec::new()] };
    let moment = lines.iter().take_while(|line| line.0 == first.0).count();
    let kind = |line: &Said| (line.1.to_owned(), ["elected", "deposed", "grant"].contains(&line.2));
    let mut all = Vec::new();
    for place in 0..moment {
        if lines[..place].iter().any(|before| kind(before) == kind(&lines[place])) {
            continue;
        }
        let rest: Vec<Said> = lines[..place].iter().chain(&lines[place + 1..]).copied().collect();
        all.extend(orders(&rest).into_iter().map(|rest| [vec![lines[place]], rest].concat()));
    }
    all
}

#[test]
fn how_lines_of_one_second_stand_decides_nothing() {
    let write = |s, node, token| (s, node, "ok", Some(token), "");
    let tells = |s, node, what| (s, node, what, None, "");
    let cases: [(&str, Vec<Said>, i32); 7] = [
        // A line between two tied writes that is none of them.
        (
            "failed",
            vec![
                write(1, "a", 1),
                write(2, "b", 2),
                (2, "b", "failed", Some(2), ""),
                write(2, "a", 1),
                write(3, "b", 2),
            ],
            2,
        ),
        ("clean", vec![write(1, "a", 1), write(2, "a", 1), write(4, "b", 2), write(4, "b", 2)], 0),
        ("stale", vec![write(1, "a", 1), write(2, "b", 2), write(2, "b", 2), write(4, "a", 1)], 1),
        // Whole seconds are too long to say who came first.
        (
            "handed-over",
            vec![
                tells(1, "a", "elected"),
                tells(5, "b", "elected"),
                tells(5, "a", "deposed"),
                tells(9, "b", "deposed"),
            ],
            2,
        ),
        // Whoever came and went within a second of another's lead led beside it, whichever way.
        (
            "within",
            vec![
                tells(0, "c", "elected"),
                tells(1, "b", "elected"),
                tells(1, "b", "deposed"),
                tells(2, "c", "deposed"),
            ],
            1,
        ),
        (
            "election-and-write",
            vec![
                tells(1, "b", "elected"),
                (1, "b", "ok", None, ""),
                tells(2, "b", "deposed"),
                tells(3, "a", "elected"),
                (3, "a", "ok", None, ""),
                tells(4, "a", "deposed"),
                (5, "b", "ok", None, ""),
                tells(5, "b", "elected"),
                (6, "b", "ok", None, ""),
            ],
            0,
        ),
        // More of them than a look ahead had reached once.
        (
            "crowded",
            [vec![write(1, "a", 1)], vec![write(2, "b", 2); 3], vec![write(2, "a", 1)], vec![write(3, "b", 2)]]
                .concat(),
            2,
        ),
    ];
    for (name, lines, code) in cases {
        for (turn, lines) in orders(&lines).into_iter().enumerate() {
            let (is, report) = judged(&format!("{name}-{turn}"), &lines, &[]);
            assert_eq!(is, code, "{name}: {lines:?}: {report}");
        }
    }
    let many: Vec<Said> = (0..1_200).map(|_| write(2, "b", 2)).collect();
    let numbered =
        |(place, said): (usize, &Said)| line(*said).replace("}\n", &format!(",\"request\":\"c:{place}\"}}\n"));
    let all = [vec![write(1, "a", 1)], many, vec![write(2, "a", 1)]].concat();
    let text: String = all.iter().enumerate().map(numbered).collect();
    assert_eq!(check("many", &[("log.jsonl", text)], &[]).0, 2);
    // Tokens without an order: which of two came first, no hash of their lines decides.
    for (one, other) in [("b", "c"), ("c", "b"), ("x", "y"), ("y", "x"), ("p", "q"), ("q", "p")] {
        let write = |s: u64, node: &str| line((s, node, "ok", None, &format!(",\"token\":\"lock-{node}\"")));
        let text = write(5, one) + &write(5, other) + &write(6, other);
        assert_eq!(check("opaque", &[("log.jsonl", text)], &[]).0, 2, "{one} {other}");
    }
    // Files of one name, and the order of the arguments where lines stand as they were taken.
    let of = |node: &str, seconds: [u64; 2]| {
        seconds.map(|s| line((s, node, "ok", Some(u64::from(node == "b") + 1), ""))).concat()
    };
    let files = [("x/app.jsonl", of("a", [1, 2])), ("y/app.jsonl", of("b", [3, 4]))];
    for files in [files.clone(), [files[1].clone(), files[0].clone()]] {
        assert_eq!(check("in-turn", &files, &["--order", "line"]).0, 0);
    }
    let bare =
        |seconds: [u64; 2]| seconds.map(|s| line((s, "?", "ok", None, "")).replace("\"node\":\"?\",", "")).concat();
    let files = [("x/app.jsonl", bare([1, 3])), ("y/app.jsonl", bare([2, 4]))];
    let (code, report) = check("same-name", &files, &["--set", "node={file}"]);
    assert!(code == 2 && report.contains("by turns"), "{report}");
}

#[test]
fn what_a_log_leaves_out_is_never_taken_for_good() {
    let ok = |s, node, token| (s, node, "ok", token, "");
    let cases: [(&str, Vec<Said>, &[&str], i32, &str); 13] = [
        (
            "refused",
            vec![(1, "a", "failed", Some(1), ""), (2, "b", "fenced", Some(2), "")],
            &[],
            2,
            "no write was accepted",
        ),
        (
            "alone",
            vec![ok(1, "a", Some(1)), (2, "b", "failed", Some(2), ""), ok(3, "a", Some(1))],
            &[],
            2,
            "only one leader wrote",
        ),
        // A refusal shows that the store knew of token 2; nobody had taken over with it.
        (
            "wrong-way",
            vec![ok(1, "a", Some(1)), (2, "b", "fenced", Some(2), ""), ok(3, "a", Some(1))],
            &[],
            1,
            "a wrote at 10:00:03 under token 1. The store",
        ),
        // Whose grant is over by its own length, and whose was given anew before that.
        (
            "granted-again",
            vec![
                (0, "c", "grant", None, ",\"ttl\":\"10s\""),
                (4, "a", "grant", None, ",\"ttl\":\"3s\""),
                (7, "c", "grant", None, ",\"ttl\":\"3s\""),
            ],
            &[],
            1,
            "while the grant to c lasts",
        ),
        (
            "renewed",
            vec![
                (0, "c", "grant", None, ",\"ttl\":\"10s\""),
                (7, "c", "grant", None, ",\"ttl\":\"3s\""),
                (11, "a", "grant", None, ",\"ttl\":\"3s\""),
            ],
            &[],
            0,
            "PASS",
        ),
        // Whoever was never granted or elected, and writes while another is.
        (
            "ungranted",
            vec![(0, "a", "grant", None, ",\"ttl\":\"50s\""), ok(2, "a", None), ok(30, "b", None)],
            &[],
            1,
            "which no grant was told of",
        ),
        (
            "unelected",
            vec![(1, "a", "elected", None, ""), ok(2, "a", None), ok(3, "b", None), (9, "a", "deposed", None, "")],
            &[],
            1,
            "a (generation 1) and b believe",
        ),
        (
            "untold",
            vec![(1, "a", "elected", None, ""), ok(2, "a", None), ok(9, "b", None)],
            &[],
            0,
            "nobody had said that a",
        ),
        (
            "under-way",
            vec![
                (1, "a", "elected", None, ""),
                (5, "b", "elected", None, ""),
                ok(6, "a", None),
                (9, "b", "deposed", None, ""),
            ],
            &[],
            2,
            "",
        ),
        // Numbers of writes are no tokens.
        (
            "each-its-own",
            vec![ok(1, "a", Some(10)), ok(2, "a", Some(11)), ok(3, "b", Some(12)), ok(4, "a", Some(13))],
            &[],
            2,
            "a token of its own",
        ),
        (
            "one-without",
            vec![ok(1, "a", Some(1)), ok(2, "b", Some(2)), ok(3, "b", Some(2)), ok(4, "a", None)],
            &[],
            2,
            "without a token",
        ),
        (
            "anew",
            vec![
                (1, "a", "ok", Some(1), ",\"seq\":1"),
                (2, "a", "ok", Some(1), ",\"seq\":2"),
                (3, "b", "ok", Some(2), ",\"seq\":1"),
            ],
            &[],
            2,
            "--ignore seq",
        ),
        (
            "goes-back",
            vec![
                (1, "a", "ok", Some(1), ",\"seq\":1"),
                (2, "a", "ok", Some(1), ",\"seq\":5"),
                (3, "b", "ok", Some(2), ",\"seq\":4"),
            ],
            &[],
            1,
            "seq_strictly_increasing",
        ),
    ];
    for (name, lines, options, code, says) in cases {
        let (is, report) = judged(name, &lines, options);
        assert!(is == code && report.contains(says), "{name} ends with {is}: {report}");
    }
    // Times with a zone beside others without one cannot be put into order.
    let text = [ok(1, "a", Some(1)), ok(2, "b", Some(2)), ok(3, "b", Some(2))].map(line).concat();
    let mixed = text.replacen("02Z", "02", 1);
    let (code, report) = check("zones", &[("log.jsonl", mixed.clone())], &[]);
    assert!(code == 2 && report.contains("--zone says the zone"), "{report}");
    assert_eq!(check("zone", &[("log.jsonl", mixed)], &["--zone", "+00:00"]).0, 0);
}

/// Fields that decide: none of them is left out, or taken for something else, unasked.
#[test]
fn no_field_that_may_decide_is_left_out_unasked() {
    let fields = [
        ("expires_at", r#""2026-03-01T10:00:50Z""#),
        ("lease_expiry", "1772359250"),
        ("not_after", r#""2026-03-01T10:00:50Z""#),
        ("renew_deadline", r#""2026-03-01T10:00:50Z""#),
        ("valid_for", "30"),
        ("session_timeout", "30"),
        ("expires_in", r#""30s""#),
        ("max_age", "30"),
        ("duration_s", "30"),
        ("committed_at", r#""2026-03-01T10:00:09Z""#),
        ("op", r#""GET""#),
        ("phase", r#""begin""#),
        ("dry_run", "true"),
        ("cookie", r#""x7""#),
        ("epoch", "1772359250"),
    ];
    for (field, value) in fields {
        let said = |s: u64, node: &str, value: &str| {
            format!(
                "{{\"ts\":\"2026-03-01T10:00:{s:02}Z\",\"who\":\"{node}\",\"resource\":\"r\",\"verdict\":\"ok\",\"{field}\":{value}}}\n"
            )
        };
        let other = match value {
            "true" => "false".to_owned(),
            r#""GET""# => r#""PUT""#.to_owned(),
            r#""begin""# => r#""commit""#.to_owned(),
            value => {
                value.replace("50", "52").replace("30", "31").replace("09", "08").replace('7', "8").replace("3\0", "4")
            }
        };
        let other = if other == value { "4".to_owned() } else { other };
        let text = said(1, "a", value) + &said(2, "a", value) + &said(3, "b", &other) + &said(4, "b", &other);
        let (code, answer) = check(field, &[("log.jsonl", text)], &[]);
        let (guess, asked) = answer.split_once("only you can say: ").unwrap_or((&answer, ""));
        assert!(
            code == 64 && !guess.contains("--ignore") && !guess.contains(&format!("={field}")),
            "{field}: {answer}"
        );
        assert!(asked.contains(&format!("`{field}`")), "{field}: {answer}");
    }
    // Words that say more than they begin with.
    for word in ["apply skipped", "commit dropped", "overwrote stale", "conflict resolved", "success=0", "queued"] {
        let said = |s: u64, node: &str, word: &str| {
            format!(
                "{{\"ts\":\"2026-03-01T10:00:{s:02}Z\",\"node\":\"{node}\",\"token\":{s},\"resource\":\"r\",\"result\":\"{word}\"}}\n"
            )
        };
        let text = said(1, "a", "ok") + &said(2, "b", "ok") + &said(3, "a", word);
        let (code, answer) = check("words", &[("log.jsonl", text)], &[]);
        assert!(
            code == 64 && !answer.contains(&format!("verdict:{word}=")) || answer.contains("only you can say"),
            "{answer}"
        );
        let (guess, _) = answer.split_once("only you can say: ").expect("a question");
        assert!(!guess.contains(word), "{word}: {answer}");
    }
    // What only some lines have is asked for: those without it may be the ones that count.
    let said = |s: u64, node: &str, token: u64, error: &str| {
        format!(
            "{{\"ts\":\"2026-03-01T10:00:{s:02}Z\",\"node\":\"{node}\",\"token\":{token},\"resource\":\"r\",\"error\":{error}}}\n"
        )
    };
    let text = said(1, "a", 1, "null")
        + &said(2, "b", 2, "null")
        + &said(3, "a", 1, "\"stale token\"")
        + &said(4, "b", 2, "null");
    let options = ["--map", "t_us=ts,verdict=error", "--word", "verdict:stale token=fenced"];
    let (code, answer) = check("some", &[("log.jsonl", text.clone())], &options);
    assert!(code == 64 && answer.contains("--set verdict=ok if what lacks it was accepted"), "{answer}");
    assert_eq!(check("some-ok", &[("log.jsonl", text)], &[&options[..], &["--set", "verdict=ok"]].concat()).0, 0);
}
