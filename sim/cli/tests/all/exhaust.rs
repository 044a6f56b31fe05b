//! `exhaust`: every passage is paused, and only the store's comparison of tokens keeps what comes of it harmless.

use serde_json::Value;
use std::process::{Command, Output};

fn fencepost(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments.split_whitespace()).output().expect("the binary runs")
}

fn printed(arguments: &str) -> Value {
    let output = fencepost(&format!("{arguments} --json"));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments}: {e}: {text}"))
}

#[test]
fn all_pauses_are_tried_and_the_store_alone_keeps_them_harmless() {
    let search = |fencing: &str| {
        printed(&format!(
            "exhaust --protocol redis-fenced --rate 4 --pairs 50 --fencing {fencing} --out exhaust-{fencing}"
        ))
    };
    let (on, off) = (search("on"), search("off"));
    for found in [&on, &off] {
        let [alone, pairs] = ["alone", "pairs"].map(|kind| &found["protocols"][0][kind]);
        assert_eq!(
            (alone["runs"].as_u64(), pairs["runs"].as_u64()),
            (alone["schedules"].as_u64(), Some(50)),
            "{found:#}"
        );
        assert_eq!(alone["struck"], alone["runs"], "the fault-free run has these passages: {found:#}");
        let passages: u64 =
            found["protocols"][0]["passages"].as_object().expect("by point").values().filter_map(Value::as_u64).sum();
        assert_eq!(alone["schedules"].as_u64(), Some(4 * passages));
        assert!(alone["two_believed"].as_u64() > Some(0), "{found:#}");
    }
    let [on, off] = [&on, &off].map(|found| &found["protocols"][0]);
    assert_eq!((&on["alone"]["unsafe"], &on["pairs"]["unsafe"]), (&0.into(), &0.into()), "{on:#}");
    assert!(on["alone"]["refused"].as_u64() > Some(0), "{on:#}");
    assert!(off["alone"]["unsafe"].as_u64() > Some(0), "{off:#}");
    let again = off["first_unsafe"]["repro"].as_str().expect("a command");
    let replayed = fencepost(&again[again.find("replay").expect("a replay")..]);
    assert_eq!(replayed.status.code(), Some(1), "{again}");
}

/// A latch whose connection comes back counts as first by the node that it is about to delete: of some four hundred
/// pauses, two show it.
#[test]
fn a_protocol_that_breaks_its_promise_makes_the_exit_code_1() {
    let bug = "exhaust --protocol zk-election --rate 4 --bug zk-latch-keeps-flag --out exhaust-bug";
    let output = fencepost(bug);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("zk-election: n") && told.contains(" replay "), "{told}");
}

/// A session keeps its lock however long its process pauses, so nobody takes over: that nothing went wrong shows nothing.
#[test]
fn what_cannot_show_two_leaders_does_not_pass() {
    let output = fencepost("exhaust --protocol pg-advisory --rate 4 --out exhaust-kept");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("no pause led to another election, so nothing is shown: pg-advisory"), "{told}");
    for option in ["--duration 5s", "--pause 9s", "--nodes 1"] {
        let output = fencepost(&format!("exhaust --protocol redis-fenced {option}"));
        assert_eq!(output.status.code(), Some(64), "{option}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
