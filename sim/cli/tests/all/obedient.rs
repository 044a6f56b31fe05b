//! A user who adds every option that `check` suggests until it gives a verdict, on good and bad twins of one log in
//! many formats. The verdict is right, or there is none and the question needs knowledge of the log; it is never wrong,
//! and no suggestion is rejected or repeated.

mod reader;
mod shapes;
mod systems;
mod tally;
mod wrapped;

use reader::{check, file, obeyed};

/// Milliseconds, node, token, number, and whether it was accepted.
type Row = (u64, &'static str, u64, u64, bool);

/// `b` takes over, and `a` tries again under its old token; the bad twin accepts that.
fn rows(bad: bool) -> Vec<Row> {
    let again = if bad { (4_000, "a", 7, 4, true) } else { (4_000, "a", 7, 4, false) };
    vec![(1_000, "a", 7, 1, true), (2_000, "a", 7, 2, true), (3_000, "b", 8, 3, true), again, (5_000, "b", 8, 5, true)]
}

fn lines(rows: &[Row], line: impl Fn(&Row) -> String) -> String {
    rows.iter().map(|row| line(row) + "\n").collect()
}

fn iso(ms: u64) -> String {
    format!("2026-11-24T05:40:{:02}.{:03}Z", ms / 1_000, ms % 1_000)
}

const UUIDS: [&str; 2] = ["05b6e6e3-07d4-bedc-5143-1193e6c3f339", "025b413f-8a9a-021e-a648-a7dd06839eb9"];

/// The log in many formats, by name.
fn shapes(rows: &[Row]) -> Vec<(&'static str, String)> {
    let of = |line: &dyn Fn(&Row) -> String| lines(rows, line);
    let zap = of(&|(t, n, k, s, ok)| {
        let (level, msg) = if *ok { ("info", "applied") } else { ("warn", "stale epoch") };
        let second = 1_795_255_200 + t / 1_000;
        format!(r#"{{"level":"{level}","ts":{second}.25,"msg":"{msg}","node":"{n}","writer_epoch":{k},"seq":{s}}}"#)
    });
    let slog = of(&|(t, n, k, s, ok)| {
        let result = said(*ok, "committed", "rejected");
        let time = iso(*t);
        format!(
            r#"{{"time":"{time}","level":"INFO","msg":"write {s}","pod":"{n}","lease_transitions":{k},"n":{s},"result":"{result}"}}"#
        )
    });
    let logrus = of(&|(t, n, k, s, ok)| {
        let accepted = said(*ok, "true", "false");
        format!("time=\"{}\" level=info msg=\"a write\" host={n} term={k} seq={s} accepted={accepted}", iso(*t))
    });
    let log4j = of(&|(t, n, k, s, ok)| {
        let at = 1_795_255_200_000 + t;
        let status = said(*ok, "SUCCESS", "CONFLICT");
        format!(
            r#"{{"timeMillis":{at},"thread":"main","level":"INFO","loggerName":"x.Store","message":"write","contextMap":{{"owner":"{n}","timeline":{k},"number":{s},"status":"{status}"}}}}"#
        )
    });
    let docker = of(&|(t, n, k, s, ok)| {
        let line = format!(
            r#"{{\"ts\":\"{}\",\"node\":\"{n}\",\"epoch\":{k},\"seq\":{s},\"verdict\":\"{}\"}}\n"#,
            iso(*t),
            said(*ok, "ok", "fenced")
        );
        format!(r#"{{"log":"{line}","stream":"stdout","time":"{}"}}"#, iso(*t))
    });
    let mut all = vec![
        ("zap.jsonl", zap),
        ("slog.jsonl", slog),
        ("logrus.log", logrus),
        ("log4j.jsonl", log4j),
        ("docker.jsonl", docker),
    ];
    all.extend(more_shapes(rows));
    all
}

fn said(ok: bool, yes: &'static str, no: &'static str) -> &'static str {
    if ok { yes } else { no }
}

fn more_shapes(rows: &[Row]) -> Vec<(&'static str, String)> {
    let of = |line: &dyn Fn(&Row) -> String| lines(rows, line);
    let head = "created_at,worker,fence_token,invoice_no,fenced\n".to_owned();
    let csv = head
        + &of(&|(t, n, k, s, ok)| format!("2026-11-24 05:40:0{}+00,{n},{k},{s},{}", t / 1_000, said(*ok, "f", "t")));
    let hex = of(&|(t, n, k, s, ok)| {
        format!("ts={} node={n} lease_epoch=0x{k:x} seq={s} status={}", iso(*t), said(*ok, "200", "409"))
    });
    let lsn = of(&|(t, n, k, _, ok)| {
        format!(
            r#"{{"@timestamp":"{}","host":"{n}","fence":"0/{k:X}","outcome":"{}"}}"#,
            iso(*t),
            said(*ok, "ok", "stale")
        )
    });
    let uuid = of(&|(t, n, k, _, ok)| {
        let token = UUIDS[usize::from(*k == 8)];
        format!(
            r#"{{"@timestamp":"{}","host":"{n}","fence":"{token}","outcome":"{}"}}"#,
            iso(*t),
            said(*ok, "ok", "stale")
        )
    });
    let words = of(&|(t, n, k, s, ok)| {
        let msg = said(*ok, "the store took it", "not the leader any more");
        format!(r#"{{"ts":"{}","msg":"{msg}","node":"{n}","token":{k},"seq":{s}}}"#, iso(*t))
    });
    let untold = of(&|(t, n, _, _, ok)| {
        format!(r#"{{"ts":"{}","host":"{n}","result":"{}"}}"#, iso(*t), said(*ok, "ok", "refused"))
    });
    let klog = of(&|(t, n, ..)| format!("I1124 05:40:0{}.000000 1 store.go:12] write of {n}", t / 1_000));
    let pretty = of(&|(t, n, k, s, ok)| {
        let verdict = said(*ok, "ok", "fenced");
        format!(
            "{{\n \"t_us\": \"{}\",\n \"node\": \"{n}\",\n \"token\": {k},\n \"seq\": {s},\n \"verdict\": \"{verdict}\"\n}}",
            iso(*t)
        )
    });
    let rows = pretty.trim_end().replace("}\n{", "},\n{");
    let items = format!("{{\"kind\": \"List\", \"items\": [{rows}]}}");
    vec![
        ("table.csv", csv),
        ("hex.log", hex),
        ("lsn.jsonl", lsn),
        ("uuid.jsonl", uuid),
        ("words.jsonl", words),
        ("untold.jsonl", untold),
        ("klog.log", klog),
        ("pretty.json", pretty),
        ("items.json", items),
    ]
}

#[test]
fn whoever_adds_what_is_suggested_is_never_led_astray() {
    let (mut right, mut open) = (0, Vec::new());
    for bad in [false, true] {
        for (name, text) in shapes(&rows(bad)) {
            let called = format!("{}-{name}", if bad { "bad" } else { "good" });
            let came = obeyed(&called, &[file(&called, &text)]);
            match came {
                Some(code @ (0 | 1)) => {
                    assert_eq!(code == 1, bad, "{called} is judged wrongly");
                    right += 1;
                }
                Some(2) | None => open.push(called),
                Some(other) => panic!("{called} ends with {other}"),
            }
        }
    }
    println!("right: {right}; no verdict, with a reason: {}: {}", open.len(), open.join(", "));
    assert!(right >= 20, "only {right} are judged; not {open:?}");
    assert!(
        open.iter().all(|name| ["words", "untold", "klog", "slog"].iter().any(|shape| name.contains(shape))),
        "{open:?}"
    );
}

#[test]
fn the_order_of_files_and_of_lines_of_one_moment_never_changes_the_verdict() {
    let line = |t: u64, node: &str, token: u64| {
        format!(r#"{{"t_us":"2026-11-24T05:40:0{t}Z","node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#)
    };
    // A handover within a second; a violation in any order; a plain one.
    let open = [line(4, "a", 1), line(5, "a", 1), line(5, "b", 2), line(6, "b", 2)];
    let violated = [line(4, "a", 1), line(5, "b", 2), line(6, "a", 1), line(6, "b", 2)];
    let plain = [line(4, "a", 1), line(5, "a", 1), line(6, "b", 2), line(7, "b", 2)];
    for (name, all, code) in [("open", open, 2), ("violated", violated, 1), ("plain", plain, 0)] {
        let mut swapped = all.clone();
        swapped.reverse();
        swapped.sort_by_key(|line| line[26..28].to_owned());
        for (turn, lines) in [&all, &swapped].into_iter().enumerate() {
            let one = file(&format!("{name}-{turn}.jsonl"), &(lines.join("\n") + "\n"));
            assert_eq!(check(&[one], &[]).0, code, "{name} {turn}");
            let of = |node: &str| {
                let own = lines.iter().filter(|line| line.contains(&format!(r#""node":"{node}""#)));
                let text: String = own.map(|line| format!("{line}\n")).collect();
                file(&format!("{name}-{turn}-{node}.jsonl"), &text)
            };
            for files in [[of("a"), of("b")], [of("b"), of("a")]] {
                let (is, report) = check(&files, &[]);
                assert_eq!(is, code, "{name} {turn}: {report}");
            }
        }
    }
    // Lines that only clock skew could explain.
    let skewed = |name: &str, t: &str, node: &str, token: u64| {
        let text = format!(
            r#"{{"t_us":"2026-11-24T05:40:{t}Z","node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#
        );
        file(name, &text)
    };
    let files = [skewed("a-skew.jsonl", "05.150", "a", 1), skewed("b-skew.jsonl", "05.000", "b", 2)];
    for (skew, code) in [("100ms", 1), ("200ms", 2)] {
        for files in [files.to_vec(), files.iter().rev().cloned().collect()] {
            assert_eq!(check(&files, &["--skew".to_owned(), skew.to_owned()]).0, code, "{skew}");
        }
    }
}

#[test]
fn logs_of_real_systems_never_lead_an_obedient_reader_astray() {
    let (mut right, mut open) = (0, Vec::new());
    for (name, good, bad) in systems::elections().into_iter().chain(systems::writes()) {
        for (code, text) in [(0, good), (1, bad)] {
            let called = format!("{}-{name}", if code == 1 { "bad" } else { "good" });
            match obeyed(&called, &[file(&called, &text)]) {
                Some(is) if is == code => right += 1,
                Some(2) | None => open.push(called),
                Some(other) => panic!("{called} ends with {other}:\n{text}"),
            }
        }
    }
    println!("right: {right}; no verdict, with a reason: {}: {}", open.len(), open.join(", "));
    // Two hosts that run a job by turns may be two leaders; only the user knows what must happen once.
    // And only the user knows whether each shard has leaders of its own.
    let may = ["cron", "outbox", "good-shards", "good-tenants"];
    assert!(open.iter().all(|name| may.iter().any(|shape| name.contains(shape))), "{open:?}");
}
