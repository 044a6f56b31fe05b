//! Facts that a log hides from a reader who only uses names and first values: missing ends, words that are the same in
//! every line, renewals without a length, tokens that do not look like numbers.

use super::{check, check_one, line};

/// Words about sharing, items of effects and ends of work lead to a question; a zero length is not suggested.
#[test]
fn what_every_line_says_alike_may_decide_all_the_same() {
    let lock = |node: &str, kind: &str| {
        format!(r#"{{"resource":"x","type":"{kind}","owner":"{node}","since":"2026-08-07T17:52:16Z","ttl_secs":0}}"#)
    };
    let locks = |kind: &str| format!("{}\n{}\n", lock("n1", kind), lock("n2", kind));
    let (code, says) = check_one("shared", &locks("READ"), &[]);
    assert!(code == 64 && says.contains("--map shared=type"), "{says}");
    assert!(!says.contains("ttl=ttl_secs"), "{says}");
    let (code, says) = check_one("not-shared", &locks("WRITE"), &[]);
    assert!(code == 64 && !says.contains("shared="), "{says}");
    let charge = |token: u32, node: &str| {
        format!(
            r#"{{"t_us":{token}000000,"node":"{node}","token":{token},"resource":"payments","operation":"effect","invoice":7,"verdict":"ok"}}"#
        )
    };
    let charges = format!("{}\n{}\n", charge(1, "a"), charge(2, "b"));
    let (code, says) = check_one("charged", &charges, &[]);
    assert!(code == 64 && says.contains("--map request=invoice") && says.contains("--ignore operation"), "{says}");
    let (code, says) = check_one("charged", &charges, &["--map=request=invoice", "--ignore=operation"]);
    assert!(code == 1 && says.contains("one_number"), "{says}");
    let job = |minute: u32, node: &str, event: &str| {
        format!(r#"{{"time":"2026-03-01T02:{minute:02}:00Z","node":"{node}","event":"{event}"}}"#)
    };
    let jobs = [job(0, "a", "started"), job(30, "b", "started"), job(40, "b", "finished"), job(50, "a", "finished")];
    let (code, says) = check_one("jobs", &jobs.join("\n"), &["--map=t_us=time", "--set=verdict=ok,resource=job"]);
    assert!(code == 64 && says.contains("=elected'") && !says.contains("--only"), "{says}");
}

/// The timeline marks a node that may still lead, and a log of grants alone shows who was granted leadership.
#[test]
fn the_timeline_leaves_open_what_the_log_does() {
    let told: String = ["1 a elected", "2 b elected", "4 a deposed", "5 b deposed"].map(|said| line(said).2).concat();
    let (code, report) = check_one("lanes", &told, &[]);
    assert!(code == 1 && report.contains("10:00:02 ? █ b"), "{report}");
    assert!(report.contains("? not yet reported as stopped"), "{report}");
    let grant = |second: u32, node: &str, token: u32| {
        format!(r#"{{"t_us":{second}000000,"event":"grant","node":"{node}","token":{token},"ttl":"15s"}}"#)
    };
    let ended = r#"{"t_us":9000000,"event":"grant-end","node":"a","token":1}"#;
    let (code, report) = check_one("grants", &format!("{}\n{}\n{ended}\n", grant(1, "a", 1), grant(5, "b", 2)), &[]);
    assert!(code == 1 && report.contains("Granted to: a from 1.000 s, then b from 5.000 s."), "{report}");
    assert!(report.contains("leadership is granted to b with token 2"), "{report}");
    assert!(!report.contains("Nobody led") && report.contains("the grant to a ends"), "{report}");
}

/// If one row of locks or work has no end, although others have one, it may have continued.
#[test]
fn what_has_no_end_may_have_gone_on() {
    let row = |holder: &str, from: u32, to: &str| {
        format!(r#"{{"lock":"etl","holder":"{holder}","began":"2026-03-01T10:{from:02}:00Z","ended":{to}}}"#)
    };
    let at = |minute: u32| format!(r#""2026-03-01T10:{minute:02}:00Z""#);
    let rows = |open: &str| [row("a", 0, &at(5)), row("b", 6, open), row("c", 12, &at(15))].join("\n");
    let work = ["--map=t_us=began,node=holder,resource=lock,until=ended", "--set=verdict=ok"];
    let grants = ["--map=t_us=began,node=holder,resource=lock,until=ended", "--set=event=grant"];
    for options in [work, grants] {
        assert_eq!(check_one("ended", &rows(&at(10)), &options).0, 0);
        for open in
            ["null", r#""""#, r#""NULL""#, r#""infinity""#, r#""9999-12-31T23:59:59Z""#, r#""0001-01-01T00:00:00Z""#]
        {
            let (code, says) = check_one("open", &rows(open), &options);
            assert!(code == 2 && says.contains("line 2 does not say when"), "{open}: {says}");
        }
        // Nobody came after the last.
        let last = [row("a", 0, &at(5)), row("b", 6, "null")].join("\n");
        assert_eq!(check_one("last", &last, &options).0, 0);
    }
}

/// A renewal without a length has the previous length; each of several locks has to be shown.
#[test]
fn more_of_a_log_hides_nothing() {
    let told = |second: u32, lock: &str, node: &str, event: &str, more: &str| {
        format!(r#"{{"t_us":{second}000000,"resource":"{lock}","node":"{node}","event":"{event}"{more}}}"#)
    };
    let ttl = r#","ttl":"30s""#;
    let leased = |second: u32| {
        let first = [told(1, "l", "a", "grant", ttl), told(11, "l", "a", "grant", "")];
        [&first[..], &[told(second, "l", "b", "grant", ttl)]].concat().join("\n")
    };
    let (code, says) = check_one("renewed", &leased(15), &[]);
    assert!(code == 1 && says.contains("while the grant to a lasts until 41.000 s"), "{says}");
    assert_eq!(check_one("ended", &leased(45), &[]).0, 0);
    let (x, y) = (
        [told(1, "x", "a", "elected", ""), told(5, "x", "b", "elected", "")],
        [told(20, "y", "a", "elected", ""), told(25, "y", "a", "deposed", ""), told(26, "y", "b", "elected", "")],
    );
    assert_eq!(check_one("open", &x.join("\n"), &[]).0, 2);
    assert_eq!(check_one("shown", &y.join("\n"), &[]).0, 0);
    assert_eq!(check_one("both", &[&x[..], &y[..]].concat().join("\n"), &[]).0, 2);
    let open = [
        told(1, "l", "a", "grant", ""),
        told(5, "l", "a", "grant-end", ""),
        told(6, "l", "b", "grant", ""),
        told(12, "l", "c", "grant", ""),
        told(15, "l", "c", "grant-end", ""),
    ];
    let (code, says) = check_one("open-grant", &open.join("\n"), &[]);
    assert!(code == 2 && says.contains("line 3 does not say when"), "{says}");
}

/// Tokens with a prefix, separators or too many digits look numbered: a user who calls them opaque is told when they
/// fall.
#[test]
fn opaque_tokens_that_look_numbered_are_not_passed_when_they_fall() {
    let write = |second: u32, node: &str, token: &str| {
        format!(r#"{{"t_us":{second}000000,"node":"{node}","token":"{token}","resource":"r","verdict":"ok"}}"#)
    };
    let log = |tokens: [&str; 3]| {
        let [one, other, third] = tokens;
        let all = [write(1, "a", one), write(2, "a", one), write(3, "b", other), write(4, "c", third)];
        all.join("\n")
    };
    let opaque = ["--opaque-tokens"];
    assert_eq!(check_one("rise", &log(["L-09", "L-10", "L-11"]), &opaque).0, 0);
    let (code, says) = check_one("fall", &log(["L-09", "L-11", "L-10"]), &opaque);
    assert!(code == 2 && says.contains("L-10 was first accepted after L-11"), "{says}");
    assert_eq!(check_one("uuids", &log(["5f0c-2a", "12ab-99", "0c33-10"]), &opaque).0, 0);
}

/// A metric about leaders leads to a question, and fields within a `payload` or an `after` are read.
#[test]
fn roles_of_metrics_and_envelopes_are_read() {
    let gauge = "time,instance,leader_election_master_status\n2026-03-01T10:00:00Z,a,1\n2026-03-01T10:00:01Z,b,0\n\
                 2026-03-01T10:00:02Z,a,1\n2026-03-01T10:00:03Z,b,1\n";
    let (code, says) = check("gauge", &[("log.csv", gauge.to_owned())], &[]);
    assert!(code == 64 && says.contains("--map event=leader_election_master_status"), "{says}");
    assert!(!says.contains("resource=leader_election"), "{says}");
    let envelope = |second: u32, node: &str, fence: u32| {
        format!(
            r#"{{"emitted_at":"2026-03-01T10:00:{second:02}Z","payload":{{"node":"{node}","fence":{fence},"outcome":"applied"}}}}"#
        )
    };
    let log =
        |last: u32| [envelope(1, "a", 4), envelope(2, "b", 5), envelope(3, "b", 5), envelope(4, "a", last)].join("\n");
    let options =
        ["--map=t_us=emitted_at,node=payload.node,token=payload.fence,verdict=payload.outcome", "--set=resource=r"];
    let judged =
        |last: u32| check_one("envelope", &log(last), &[&options[..], &["--word=verdict:applied=ok"]].concat());
    let (code, says) = judged(4);
    assert!(code == 1, "{says}");
    assert_eq!(judged(6).0, 0);
}

/// a writes after b has taken over; the third of the four lines says so.
fn overtaken(third: &str) -> [String; 4] {
    let write = |second: u64, node: &str, token: u64| {
        format!(
            r#"{{"t_us":"2026-05-04T02:30:0{second}Z","node":"{node}","token":{token},"resource":"r","verdict":"ok"}}"#
        )
    };
    [write(0, "a", 7), write(5, "b", 8), third.to_owned(), write(7, "b", 8)]
}

const STALE: &str = r#""t_us":"2026-05-04T02:30:06Z","node":"a","token":7,"resource":"r","verdict":"ok""#;

#[test]
fn a_list_within_a_record_does_not_hide_the_record() {
    for list in [r#""items":[]"#, r#""events":[]"#, r#""items":[{"sku":"x"}]"#] {
        let text = overtaken(&format!("{{{STALE},{list}}}")).join("\n");
        let name = list.split('"').nth(1).expect("a name");
        let (code, said) = check("list", &[("w.jsonl", text.clone())], &[]);
        assert!(code == 64 && said.contains(name), "{list}: {said}");
        if list.ends_with("[]") {
            let (code, said) = check("list-ignored", &[("w.jsonl", text)], &["--ignore", name]);
            assert_eq!(code, 1, "{list}: {said}");
        }
    }
    // A list of the service's own is read as before.
    let list = format!(r#"{{"apiVersion":"v1","items":[{}]}}"#, overtaken(&format!("{{{STALE}}}")).join(","));
    assert_eq!(check("list-of-all", &[("w.json", list)], &[]).0, 1);
}

#[test]
fn a_row_that_lacks_cells_is_no_footer() {
    let table = |third: &str, footer: &str| {
        let rows = ["2026-05-04T02:30:00Z|a|7|r|ok|x", "2026-05-04T02:30:05Z|b|8|r|ok|x", third, footer];
        format!("t_us|node|token|resource|verdict|note\n{}\n", rows.join("\n"))
    };
    let short = table("2026-05-04T02:30:06Z|a|7|r|ok", "(3 rows)");
    let (code, said) = check("short", &[("w.psv", short)], &["--ignore", "note"]);
    assert!(code == 64 && said.contains("has 5 of the table's 6 columns"), "{said}");
    for footer in ["(3 rows)", "3 rows in set (0.00 sec)", "Time: 1.234 ms"] {
        let whole = table("2026-05-04T02:30:06Z|a|7|r|ok|x", footer);
        let (code, said) = check("footer", &[("w.psv", whole)], &["--ignore", "note"]);
        assert_eq!(code, 1, "{footer}: {said}");
    }
}

#[test]
fn a_field_that_is_there_twice_within_a_wrapper_or_an_array_is_refused() {
    let twice = format!("{{{STALE},\"token\":9}}");
    let wrapped = overtaken(&twice).map(|line| serde_json::json!({ "log": line, "stream": "stdout" }).to_string());
    let (code, said) = check("twice-wrapped", &[("w.jsonl", wrapped.join("\n"))], &[]);
    assert_eq!(code, 64, "{said}");
    let array = format!("[{}]", overtaken(&twice).join(","));
    let (code, said) = check("twice-listed", &[("w.json", array)], &[]);
    assert!(code == 64 && said.contains("the field `token` twice"), "{said}");
}

#[test]
fn what_stands_beside_a_line_that_is_called_log_counts() {
    let of = |pod: &str, token: u64, second: u64| {
        let line = format!(r#"{{"t_us":"2026-05-04T02:30:0{second}Z","token":{token},"resource":"r","verdict":"ok"}}"#);
        serde_json::json!({ "log": line, "kubernetes": { "pod_name": pod } }).to_string()
    };
    let text = [of("a", 7, 0), of("b", 7, 1), of("b", 8, 5)].join("\n");
    let (code, said) = check("pods", &[("w.jsonl", text.clone())], &["--set", "node=store"]);
    assert!(code == 64 && said.contains("kubernetes.pod_name"), "{said}");
    let (code, said) = check("pods-named", &[("w.jsonl", text)], &["--map", "node=kubernetes.pod_name"]);
    assert_eq!(code, 1, "{said}");
}

#[test]
fn an_answer_that_came_too_late_or_without_a_shard_is_not_judged() {
    let hits = |says: &str| {
        let all = overtaken(&format!("{{{STALE}}}")).map(|write| format!("{{\"_source\":{write}}}"));
        format!("{{{says},\"hits\":{{\"hits\":[{}]}}}}", all.join(","))
    };
    for (says, code) in [
        (r#""timed_out":true"#, 64),
        (r#""timed_out":false,"_shards":{"total":2,"successful":1,"failed":1}"#, 64),
        (r#""timed_out":false,"_shards":{"total":2,"successful":2,"failed":0}"#, 1),
    ] {
        let (ended, said) = check("hits", &[("w.json", hits(says))], &[]);
        assert_eq!(ended, code, "{says}: {said}");
    }
}

/// `--only` passes over text about something else, and over nothing that may have been a write.
#[test]
fn a_broken_record_is_not_passed_over() {
    let only = ["--only", "token"];
    let text = overtaken("a line about something else").join("\n");
    assert_ne!(check("text", &[("w.jsonl", text)], &only).0, 64);
    for third in [format!("{{{STALE}}} #retry"), format!("{{{STALE},\"token\":9}}"), format!("{{{STALE}")] {
        let (code, said) = check("broken", &[("w.jsonl", overtaken(&third).join("\n"))], &only);
        assert!(code == 64 && said.contains("is a broken JSON object"), "{third}: {said}");
    }
    let array = format!("[{}", overtaken(&format!("{{{STALE}}}")).join(","));
    let (code, said) = check("broken-array", &[("w.json", array)], &only);
    assert!(code == 64 && said.contains("is a broken JSON array"), "{said}");
    let wrapped = overtaken(&format!("{{{STALE},\"token\":9}}"));
    for name in ["log", "message"] {
        let wrapped = wrapped.clone().map(|line| serde_json::json!({ name: line }).to_string()).join("\n");
        let (code, said) = check("broken-within", &[("w.jsonl", wrapped)], &only);
        assert!(code == 64 && said.contains("the field `token` twice"), "{name}: {said}");
    }
    let prefixed = overtaken(&format!("{{{STALE},\"token\":9}}")).map(|line| format!("pod {line}")).join("\n");
    assert_eq!(check("broken-prefixed", &[("w.jsonl", prefixed)], &only).0, 64);
    let logfmt = |third: &str| {
        let write = |second: u64, node: &str, token: u64| {
            format!("t_us=2026-05-04T02:30:0{second}Z node={node} token={token} resource=r verdict=ok")
        };
        [write(0, "a", 7), write(5, "b", 8), third.to_owned(), write(7, "b", 8)].join("\n")
    };
    let twice = logfmt("t_us=2026-05-04T02:30:06Z node=a token=7 resource=r verdict=ok token=9");
    assert_eq!(check("broken-pairs", &[("w.log", twice)], &only).0, 64);
    assert_ne!(check("no-pairs", &[("w.log", logfmt("GET /?a"))], &only).0, 64);
    let short = "t_us,node,token,resource,verdict\n2026-05-04T02:30:00Z,a,7,r,ok\n2026-05-04T02:30:06Z,a,7,r\n";
    assert_eq!(check("broken-row", &[("w.csv", short.to_owned())], &only).0, 64);
    // Over several lines, nothing is read behind what is none.
    let objects = overtaken("hello").map(|line| line.replace(",\"", ",\n\"")).join("\n");
    let (code, said) = check("broken-objects", &[("w.json", objects)], &only);
    assert_eq!(code, 64, "{said}");
}
