//! Logs within what ships them, or in what a service answers when it is asked for lines.

use super::{
    shapes::{EPOCH, Write, iso, of_writes, twins, writes},
    systems::Twins,
};
use serde_json::{Value, json};

/// A writer's own line.
fn inner(s: u64, who: &str, token: u64, ok: bool) -> String {
    let verdict = if ok { "ok" } else { "fenced" };
    format!(r#"{{"t_us":"{}","node":"{who}","token":{token},"resource":"ledger","verdict":"{verdict}"}}"#, iso(s))
}

/// All of them.
pub fn all() -> Vec<Twins> {
    let quoted = |text: &str| serde_json::to_string(text).expect("text is JSON");
    vec![
        of_writes("cri.log", |s, who, token, ok| format!("{} stdout F {}", iso(s), inner(s, who, token, ok))),
        of_writes("journal.jsonl", |s, who, token, ok| {
            let us = (EPOCH + s) * 1_000_000;
            format!(
                r#"{{"__REALTIME_TIMESTAMP":"{us}","_HOSTNAME":"h","SYSLOG_IDENTIFIER":"store","PRIORITY":"6","MESSAGE":{}}}"#,
                quoted(&inner(s, who, token, ok))
            )
        }),
        of_writes("logcli.jsonl", |s, who, token, ok| {
            format!(
                r#"{{"labels":{{"app":"store"}},"line":{},"timestamp":"{}"}}"#,
                quoted(&inner(s, who, token, ok)),
                iso(s)
            )
        }),
        twins("psql.txt", |bad| {
            let head = "          t_us           | node | token | resource | verdict \n-------------------------+------+-------+----------+---------\n";
            let row = |(s, who, token, ok): &Write| {
                let verdict = if *ok { "ok" } else { "fenced" };
                format!(" {} | {who} | {token} | ledger | {verdict}\n", iso(*s).replace('T', " ").replace('Z', "+00"))
            };
            format!("{head}{}({} rows)\n", writes(bad).iter().map(row).collect::<String>(), writes(bad).len())
        }),
        // A stream for each level, newest first.
        twins("loki.json", |bad| loki(&writes(bad), |(s, who, token, ok)| inner(*s, who, *token, *ok)).to_string()),
        // A batch a line, each of one node's.
        twins("otlp.jsonl", |bad| by_node(&writes(bad)).iter().map(|writes| format!("{}\n", otlp(writes))).collect()),
        twins("otlp-pretty.json", |bad| {
            by_node(&writes(bad)).iter().map(|writes| format!("{:#}\n", otlp(writes))).collect()
        }),
        twins("insights.json", |bad| format!("{:#}", insights(&writes(bad)))),
    ]
}

fn by_node(all: &[Write]) -> [Vec<Write>; 2] {
    ["w-2", "w-1"].map(|who| all.iter().filter(|write| write.1 == who).copied().collect())
}

fn loki(all: &[Write], line: impl Fn(&Write) -> String) -> Value {
    let stream = |(level, ok): (&str, bool)| {
        let value = |write: &Write| json!([format!("{}125000000", EPOCH + write.0), line(write)]);
        let values: Value = all.iter().rev().filter(|write| write.3 == ok).map(value).collect();
        json!({"stream": {"service_name": "store", "level": level}, "values": values})
    };
    let result: Value = [("warn", false), ("info", true)].map(stream).into_iter().collect();
    json!({"status": "success", "data": {"resultType": "streams", "result": result, "stats": {"summary": {"execTime": 0.01}}}})
}

/// As docs/writing-logs.md names the attributes.
fn otlp(writes: &[Write]) -> Value {
    let text = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
    let record = |(s, who, token, ok): &Write| {
        json!({
            "timeUnixNano": format!("{}125000000", EPOCH + s), "severityNumber": 9, "severityText": "INFO",
            "body": {"stringValue": "a write"},
            "attributes": [
                text("event", "apply"), text("node", who), text("resource", "ledger"),
                text("verdict", if *ok { "ok" } else { "fenced" }), {"key": "token", "value": {"intValue": token.to_string()}},
            ],
        })
    };
    let records: Value = writes.iter().map(record).collect();
    json!({"resourceLogs": [{
        "resource": {"attributes": [text("service.name", "store"), text("telemetry.sdk.language", "go")]},
        "scopeLogs": [{"scope": {"name": "store"}, "logRecords": records}],
    }]})
}

/// Newest first, as it answers.
fn insights(writes: &[Write]) -> Value {
    let record = |(s, who, token, ok): &Write| {
        let time = iso(*s).replace('T', " ").replace('Z', "");
        let cells = [("@timestamp", &*time), ("@message", &inner(*s, who, *token, *ok)), ("@ptr", "Cm0K")];
        cells.iter().map(|(name, value)| json!({"field": name, "value": value})).collect::<Value>()
    };
    let results: Value = writes.iter().rev().map(record).collect();
    json!({"results": results, "statistics": {"recordsMatched": 5.0}, "status": "Complete"})
}
