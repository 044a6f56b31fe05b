//! `mutants`: known bugs are detected, and one that is not makes the exit code 1.

use serde_json::Value;
use std::process::{Command, Output};

fn fencepost(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").env_remove("COLUMNS").current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments.split(' ')).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bug_is_detected_in_every_protocol_that_has_it() {
    let output = fencepost("mutants k8s-own-duration kraft-no-check-quorum mixed-locks --json");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    let mutants = found["mutants"].as_array().expect("a list");
    let named: Vec<_> = mutants.iter().map(|m| (m["id"].as_str(), m["protocol"].as_str())).collect();
    assert!(named.contains(&(Some("mixed-locks"), Some("redis-lease"))), "{named:?}");
    assert!(named.contains(&(Some("mixed-locks"), Some("redis-fenced"))), "{named:?}");
    assert_eq!(mutants.len(), 4, "{named:?}");
    for mutant in mutants {
        assert!(mutant["seeds_to_detection"].as_u64().is_some_and(|seeds| (1..=5).contains(&seeds)), "{mutant:#}");
        assert!(mutant["violated"].as_array().is_some_and(|violated| !violated.is_empty()), "{mutant:#}");
        // The store's fencing hides from the other protocol what the bug does in its own.
        let own = mutant["protocol"] != "redis-fenced";
        assert_eq!(mutant["detected_by"] == mutant["violation"], own, "{mutant:#}");
    }
}

/// Among seeds that do not show the bug, it survives.
#[test]
fn a_survivor_is_named_and_fails() {
    let silent = (0..30).find(|seed| {
        let seeds = format!("{seed}..{}", seed + 1);
        fencepost(&format!("mutants consul-renewal-not-retried --quiet --seeds {seeds}")).status.code() == Some(1)
    });
    let seed = silent.expect("it takes five seeds to find, as the median");
    let output = fencepost(&format!("mutants consul-renewal-not-retried --seeds {seed}..{}", seed + 1));
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("SURVIVED consul-renewal-not-retried in consul-session: none of 1 seed shows"), "{told}");
    assert!(told.ends_with(": 0 detected, 1 survived\n"), "{told}");
}

#[test]
fn an_unknown_bug_gets_the_nearest_and_64() {
    let output = fencepost("mutants mixed-lock");
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), told.contains("did you mean `mixed-locks`?")), (Some(64), true), "{told}");
}
