//! Several Redis servers in one cluster: five that know nothing of each other, and a primary with its replicas and
//! sentinels.

use super::common::{Folder, program, say, servers::find, text};
use serde_json::Value;

/// Plays a scenario or a plan; the exit code and the report.
fn play(what: &str, options: &[&str]) -> (Option<i32>, Value) {
    let folder = Folder::new();
    let mut command = program();
    command.args(["chaos", "run", what, "--json", "--dir", &folder.file("run"), "--lease-ttl", "2s", "--rate", "100"]);
    let output = command.args(options).output().expect("the program runs");
    let report = serde_json::from_slice(&output.stdout);
    let report: Value = report.unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    say(&format!("{what} {}: {}", options.join(" "), report["verdict"]));
    (output.status.code(), report)
}

fn installed() -> bool {
    find("redis-server", "redis-server", "several Redis in a cluster").is_some()
}

/// A machine that stands still shows nothing, and says so.
fn is_well(report: &Value) -> bool {
    report["machine"]["inconclusive"].is_null() && report["machine"]["unwell"].is_null()
}

#[test]
fn five_redis_let_a_paused_leader_write() {
    if !installed() {
        return;
    }
    let mut played = play("gc-pause", &["--backend", "redlock"]);
    for _ in 0..4 {
        if is_well(&played.1) {
            break;
        }
        played = play("gc-pause", &["--backend", "redlock"]);
    }
    // There is no token: fencing is on, and cannot help.
    assert_eq!((played.0, &played.1["verdict"]), (Some(1), &Value::from("safety")), "{:#}", played.1);
    assert!(played.1["metrics"]["leaders_acting_by_effect_max"].as_u64() >= Some(2), "{:#}", played.1);
}

#[test]
fn behind_sentinels_a_paused_leader_is_refused() {
    if !installed() {
        return;
    }
    let mut played = play("gc-pause", &["--backend", "sentinel"]);
    for _ in 0..4 {
        if is_well(&played.1) {
            break;
        }
        played = play("gc-pause", &["--backend", "sentinel"]);
    }
    assert_eq!((played.0, &played.1["verdict"]), (Some(0), &Value::from("pass")), "{:#}", played.1);
    assert!(played.1["metrics"]["writes_fenced"].as_u64() >= Some(1), "{:#}", played.1);
}
