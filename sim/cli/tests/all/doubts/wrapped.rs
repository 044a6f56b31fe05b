//! Logs whose lines are within others, or that begin late, and what `check` says of them: each once passed, or led nowhere.

use super::check;

fn files<'n>(logs: &[(&'n str, &str)]) -> Vec<(&'n str, String)> {
    logs.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
}

fn is(code: i32, says: &str, (name, logs, options): (&str, &[(&str, &str)], &[&str])) {
    let (ended, report) = check(name, &files(logs), options);
    assert!(ended == code && report.contains(says), "{name} ends with {ended}: {report}");
}

const CLIENT_GO: [&str; 2] = [
    "I1123 10:00:01.000000 1 leaderelection.go:260] successfully acquired lease default/x\n",
    "I1123 10:00:05.000000 1 leaderelection.go:260] successfully acquired lease default/x\n",
];

#[test]
fn patroni_has_three_ways_to_say_that_it_leads() {
    let first = "2026-11-23 10:00:01,000 INFO: initialized a new cluster\n2026-11-23 10:01:10,000 INFO: demoted self because DCS is \
                 not accessible and I was a leader\n";
    let second = "2026-11-23 10:00:40,000 INFO: promoted self to leader because I had the session lock\n";
    is(1, "pg-1 (generation 1) and pg-2", ("patroni", &[("pg-1.log", first), ("pg-2.log", second)], &[]));
    let later = second.replace("10:00:40", "10:01:40");
    is(0, "PASS", ("patroni-later", &[("pg-1.log", first), ("pg-2.log", &later)], &[]));
}

#[test]
fn whoever_stops_must_have_begun() {
    let log = |lines: [(u64, &str, &str); 4]| -> String {
        let line = |(at, event, node)| format!("{{\"t_us\":{at},\"event\":\"{event}\",\"node\":\"{node}\"}}\n");
        lines.map(line).concat()
    };
    let late = log([(1, "elected", "a"), (5, "deposed", "b"), (6, "deposed", "a"), (9, "elected", "b")]);
    is(2, "b stopped leading after a had begun", ("unbegun", &[("a.jsonl", &late)], &[]));
    // A refused write is no beginning.
    let refused =
        "{\"t_us\":0,\"node\":\"b\",\"token\":1,\"resource\":\"r\",\"verdict\":\"fenced\",\"event\":\"apply\"}\n";
    is(2, "b stopped leading after a had begun", ("refused", &[("a.jsonl", &(refused.to_owned() + &late))], &[]));
    let before = log([(0, "deposed", "b"), (1, "elected", "a"), (6, "deposed", "a"), (9, "elected", "b")]);
    is(0, "PASS", ("before-all", &[("a.jsonl", &before)], &[]));
    let resigns = "E1123 10:00:09.000000 1 leaderelection.go:1] failed to renew lease default/x: timeout\n";
    let [first, next] = [CLIENT_GO[0].to_owned() + &resigns.replace(":09", ":19"), CLIENT_GO[1].replace(":05", ":25")];
    let logs = [("a.log", &*first), ("b.log", resigns), ("c.log", &next)];
    is(2, "b stopped leading after a had begun", ("rotated", &logs, &[]));
    // A broker of Kafka says so whenever it ends.
    let kafka = "[2026-11-23 10:00:01,000] INFO [Controller id=1] 1 successfully elected as the controller. Epoch incremented to 5 and epoch zk version is now 5\n\
                 [2026-11-23 10:00:03,000] INFO [Controller id=2] Resigned\n\
                 [2026-11-23 10:00:07,000] INFO [Controller id=1] Resigned\n\
                 [2026-11-23 10:00:09,000] INFO [Controller id=2] 2 successfully elected as the controller. Epoch incremented to 6 and epoch zk version is now 6\n";
    is(0, "PASS", ("kafka", &[("k.log", kafka)], &[]));
}

#[test]
fn a_write_beside_known_messages_is_not_passed_over() {
    let stale = "I1123 10:00:09.000000 1 main.go:40] stored invoice 50 token=7\n";
    for stale in [stale, &stale.replace('=', " ")] {
        let logs = [("a.log", &*(CLIENT_GO[0].to_owned() + stale)), ("b.log", CLIENT_GO[1])];
        is(64, "has `token=7`, so it may be a write", ("beside", &logs, &[]));
    }
}

#[test]
fn messages_of_a_known_program_within_records_are_named() {
    let docker = |line: &str| {
        let line = serde_json::Value::from(line);
        format!("{{\"log\":{line},\"stream\":\"stderr\",\"time\":\"2026-11-23T10:00:00Z\"}}\n")
    };
    let [one, other] = CLIENT_GO.map(docker);
    let logs = [("a.json", &*one), ("b.json", &*other)];
    is(64, "pass --preset client-go to judge who leads", ("docker-klog", &logs, &[]));
    // The time of the record that the line is within counts.
    let lost = docker("E1123 10:00:09.000000 1 leaderelection.go:1] failed to renew lease default/x: timeout\n");
    let [one, other] = [one + &lost.replace("00Z", "09Z"), other.replace("00Z", "05Z") + &lost.replace("00Z", "19Z")];
    let known = ["--preset", "client-go", "--map", "t_us=time", "--ignore", "stream"];
    is(1, "a (generation 1) and b", ("docker-klog-known", &[("a.json", &one), ("b.json", &other)], &known));
    let gcp = |second: u32, text: &str| {
        format!("{{\"timestamp\":\"2026-11-23T10:00:0{second}Z\",\"textPayload\":\"{text}\"}}\n")
    };
    let log = gcp(1, "a became leader") + &gcp(2, "b became leader") + &gcp(3, "a lost it") + &gcp(4, "b lost it");
    is(
        1,
        "a (generation 1) and b",
        (
            "gcp",
            &[("g.json", &log)],
            &["--elected", "{node} became leader", "--deposed", "{node} lost it", "--map", "t_us=timestamp"],
        ),
    );
}

#[test]
fn journald_may_write_bytes() {
    let line = |at: u64, text: &str| {
        format!("{{\"__REALTIME_TIMESTAMP\":\"{at}000000\",\"_HOSTNAME\":\"x\",\"MESSAGE\":{:?}}}\n", text.as_bytes())
    };
    let [one, other] = ["\u{1b}[32ma became leader\u{1b}[0m", "b became leader"];
    let log = line(1_790_000_001, one)
        + &line(1_790_000_002, other)
        + &line(1_790_000_003, "a lost it")
        + &line(1_790_000_004, "b lost it");
    let options = ["--elected", "{node} became leader", "--deposed", "{node} lost it", "--ignore", "_HOSTNAME"];
    let options = [&options[..], &["--map", "t_us=__REALTIME_TIMESTAMP"]].concat();
    is(1, "a (generation 1) and b", ("journal", &[("j.json", &log)], &options));
    is(
        64,
        "journalctl --output json",
        ("export", &[("j.export", "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1790000001000000\nMESSAGE=x\n")], &[]),
    );
}

#[test]
fn a_record_takes_the_time_of_what_it_is_within_if_it_has_none() {
    let line = |at: u64, node: &str, token: u64| {
        let line = format!("{{\"node\":\"{node}\",\"token\":{token},\"resource\":\"r\",\"verdict\":\"ok\"}}");
        format!(
            "{{\"log\":{},\"stream\":\"stdout\",\"time\":\"2026-11-23T10:00:0{at}Z\"}}\n",
            serde_json::Value::from(line + "\n")
        )
    };
    let good = line(1, "a", 7) + &line(2, "a", 7) + &line(3, "b", 8) + &line(4, "b", 8);
    is(0, "PASS", ("docker-good", &[("d.json", &good)], &["--map", "t_us=time"]));
    is(1, "token 7", ("docker-bad", &[("d.json", &(good.clone() + &line(5, "a", 7)))], &["--map", "t_us=time"]));
}

#[test]
fn a_record_may_come_in_parts() {
    let line = |at: u64, node: &str, token: u64| {
        let line =
            format!("{{\"node\":\"{node}\",\"t_us\":{at},\"token\":{token},\"resource\":\"r\",\"verdict\":\"ok\"}}");
        let (first, rest) = line.split_at(15);
        format!("2026-11-23T10:00:0{at}Z stdout P {first}\n2026-11-23T10:00:0{at}Z stdout F {rest}\n")
    };
    let good = line(1, "a", 7) + &line(2, "a", 7) + &line(3, "b", 8) + &line(4, "b", 8);
    is(0, "PASS", ("parts-good", &[("c.log", &good)], &["--format", "json"]));
    is(1, "token 7", ("parts-bad", &[("c.log", &(good.clone() + &line(5, "a", 7)))], &["--format", "json"]));
    let cut = good.clone() + line(5, "a", 7).lines().next().expect("a part") + "\n";
    is(64, "its end is missing", ("parts-cut", &[("c.log", &cut)], &["--format", "json"]));
}

#[test]
fn what_a_line_came_on_is_no_resource() {
    let line = |at: u64, node: &str, token: u64, stream: &str| {
        format!("{{\"t_us\":{at},\"node\":\"{node}\",\"token\":{token},\"verdict\":\"ok\",\"stream\":\"{stream}\"}}\n")
    };
    let log = line(1, "a", 7, "stdout")
        + &line(2, "a", 7, "stdout")
        + &line(3, "b", 8, "stderr")
        + &line(4, "a", 7, "stdout");
    is(64, "add --set resource=s --ignore stream", ("stream", &[("s.jsonl", &log)], &[]));
    is(1, "token 7", ("stream-one", &[("s.jsonl", &log)], &["--set", "resource=s", "--ignore", "stream"]));
}

#[test]
fn a_token_below_another_s_on_another_resource_is_no_pass() {
    let line = |at: u64, node: &str, token: u64, table: &str| {
        format!("{{\"t_us\":{at},\"node\":\"{node}\",\"token\":{token},\"verdict\":\"ok\",\"table\":\"{table}\"}}\n")
    };
    let log = line(1, "a", 7, "x")
        + &line(2, "a", 7, "y")
        + &line(3, "b", 8, "x")
        + &line(4, "a", 7, "y")
        + &line(5, "b", 8, "x");
    let of = |name: &'static str, code: i32, says: &str, options: &[&str]| {
        is(code, says, (name, &[("t.jsonl", &log)], options))
    };
    of("tables", 2, "two led at once, unless each resource has leaders of its own", &["--map", "resource=table"]);
    of("own", 0, "PASS", &["--map", "resource=table", "--set", "group={resource}"]);
    of("one", 1, "token 7", &["--ignore", "table", "--set", "resource=all", "--set", "group=0"]);
    // What it says to add is added, and taken out.
    for field in ["table", "resource"] {
        let log = log.replace("table", field);
        let map = format!("resource={field}");
        let asked = if field == "table" { vec!["--map", &map] } else { Vec::new() };
        let (_, said) = check("crossed", &files(&[("t.jsonl", &log)]), &asked);
        let (_, one) = said.split_once("judge all as one, by ").expect("what to do");
        let words: Vec<&str> = one
            .split(['.', ')'])
            .next()
            .expect("options")
            .split(" in place of ")
            .next()
            .expect("them")
            .split(' ')
            .collect();
        is(1, "token 7", ("as-one", &[("t.jsonl", &log)], &words));
    }
    // In one group, as everywhere; in two, each has leaders of its own.
    let grouped = |group: fn(&str) -> u32| -> String {
        log.lines().map(|line| line.replace('}', &format!(",\"group\":{}}}\n", group(line)))).collect()
    };
    let map = ["--map", "resource=table"];
    is(2, "two led at once, unless", ("one-group", &[("t.jsonl", &grouped(|_| 1))], &map));
    is(0, "PASS", ("groups", &[("t.jsonl", &grouped(|line| if line.contains('x') { 1 } else { 2 }))], &map));
}

#[test]
fn what_has_no_date_is_answered_with_what_to_do() {
    is(
        64,
        "times of day without a date",
        ("logback", &[("l.log", "10:00:00.123 [main] INFO x - became leader\n")], &["--elected", "became leader"]),
    );
    is(64, "times of day without a date", ("serilog", &[("s.log", "[10:00:00 INF] became leader\n")], &[]));
    let events = "LAST SEEN   TYPE     REASON           OBJECT      MESSAGE\n5m          Normal   LeaderElection   lease/x     a became leader\n";
    is(64, "kubectl get events -o yaml", ("events", &[("e.txt", events)], &[]));
}

#[test]
fn a_file_of_each_day_is_of_one_node() {
    let [first, second] = ["22", "23"].map(|day| {
        format!("2026-11-{day} 10:00:01 INFO x - became leader\n2026-11-{day} 11:00:01 INFO x - lost the lease\n")
    });
    let options = ["--elected", "became leader", "--deposed", "lost the lease"];
    let logs = [("billing.2026-11-22.log", &*first), ("billing.2026-11-23.log", &*second)];
    let (_, report) = check("days", &files(&logs), &options);
    assert!(report.contains("billing (generation 2)"), "{report}");
}

#[test]
fn records_within_a_list_are_unwrapped_too() {
    let record = |at: u64, node: &str, token: u64| {
        let line =
            format!("{{\"t_us\":{at},\"node\":\"{node}\",\"token\":{token},\"resource\":\"r\",\"verdict\":\"ok\"}}");
        serde_json::json!({ "logStreamName": "s", "timestamp": at, "message": line, "ingestionTime": at, "eventId": "e" })
    };
    let events = [record(1, "a", 7), record(2, "a", 7), record(3, "b", 8), record(4, "b", 8), record(5, "a", 7)];
    let list =
        |count: usize| serde_json::to_string_pretty(&serde_json::json!({ "events": events[..count] })).expect("JSON");
    let options = ["--ignore", "logStreamName,eventId"];
    is(0, "PASS", ("events-good", &[("c.json", &list(4))], &options));
    is(1, "token 7", ("events-bad", &[("c.json", &list(5))], &options));
}
