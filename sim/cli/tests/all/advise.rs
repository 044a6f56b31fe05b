//! `advise` as a process: its advice for two fleets, that a shorter step would be wrong, and its rejections.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A Java service with too small a heap, and a virtual machine that is migrated now and then.
const JVM: [&str; 9] =
    ["--slo", "99.95%", "--crashes", "3/30d", "--warm-up", "60s", "--protocol", "etcd-election", "--pauses"];
const MIGRATIONS: [&str; 13] = [
    "--slo",
    "99.99%",
    "--over",
    "30d",
    "--crashes",
    "2/30d",
    "--warm-up",
    "30s",
    "--lease-ttl",
    "1s,3s,10s,30s",
    "--protocol",
    "redis-fenced",
    "--pauses",
];

fn profile(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/experiments/profiles").join(name)
}

fn advise(arguments: &[&str], file: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").current_dir(env!("CARGO_TARGET_TMPDIR")).arg("advise").args(arguments);
    command.args(file).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "long: .ci/run runs it"]
fn its_advice_meets_the_target_and_one_step_shorter_changes_the_leader_more_often() {
    for (arguments, name, ttl_ms) in [(&JVM[..], "jvm-g1.log", 6_000), (&MIGRATIONS[..], "migrations.txt", 10_000)] {
        let output = advise(&[&["--json"], arguments].concat(), Some(&profile(name)));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let advice: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(advice["advice"]["lease_ttl_ms"], ttl_ms, "{advice:#}");
        let [tried, shorter] = advice["trials"].as_array().expect("trials").as_slice() else { panic!("{advice:#}") };
        assert_eq!(tried["meets"], true, "{name}: {advice:#}");
        let changes = |trial: &Value| trial["changes"].as_u64().expect("a number");
        assert!(changes(tried) < changes(shorter), "{name}: {advice:#}");
        for trial in [tried, shorter] {
            // Whatever the lease, no two leaders took effect: safety does not depend on the availability target.
            assert_eq!(trial["leaders_acting_by_effect_max"], 1, "{name}: {advice:#}");
        }
        // The arithmetic's expectation and the simulated result are close.
        let (expected, seen) = (advice["advice"]["dark"].as_f64().unwrap(), tried["dark"].as_f64().unwrap());
        assert!((0.7..1.4).contains(&(seen / expected)), "{name}: {advice:#}");
    }
}

#[test]
fn it_says_what_it_goes_by_and_what_is_dangerous() {
    let output = advise(&[&JVM[..8], &["--no-trial", "--pauses"]].concat(), Some(&profile("jvm-g1.log")));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in
        ["Target 99.95%: of 30 days, 21.6 min may be without a leader.", "JVM safepoints", "Advice: etcd-election"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let flink = ["--slo", "99%", "--no-trial", "--protocol", "k8s-lease", "--lease-ttl", "15s"];
    let timers = ["--set", "k8s-lease.renew-deadline=14s", "--retry-period", "8s"];
    let said = text(&advise(&[&flink[..], &timers].concat(), None).stdout);
    assert!(said.contains("Warning: the lease of 15s has room for one renewal (every 8s)"), "{said}");
    let other = ["--slo", "99%", "--no-trial", "--protocol", "redis-fenced", "--set", "k8s-lease.renew-deadline=14s"];
    let refused = advise(&other, None);
    assert!(text(&refused.stderr).contains("is of none of the protocols asked about"), "{}", text(&refused.stderr));
    let nothing = advise(&["--slo", "99.9999%", "--no-trial", "--pause", "3s", "--over", "1d"], None);
    assert_eq!(nothing.status.code(), Some(2));
    let why = "a paused leader serves nobody, and pauses alone take 0.00347 %";
    assert!(text(&nothing.stdout).contains(why), "{}", text(&nothing.stdout));
}

#[test]
fn it_advises_what_can_be_deployed_and_says_when_a_trial_shows_nothing() {
    let said = text(&advise(&["--slo", "99.9%", "--no-trial", "--pause", "3s", "--over", "7d"], None).stdout);
    assert!(said.contains("redis-fenced") && !said.contains("zab-fle") && !said.contains("raft-core"), "{said}");
    let asked = advise(&["--slo", "99%", "--no-trial", "--json", "--protocol", "zab-fle,k8s-lease"], None);
    let report: Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    let [zab, kubernetes] = report["protocols"].as_array().expect("protocols").as_slice() else { panic!("{report:#}") };
    assert_eq!((&zab["protocol"], &kubernetes["protocol"]), (&"zab-fle".into(), &"k8s-lease".into()));
    // Renewals are recorded in whole seconds.
    assert!(kubernetes["steps"][0]["lease_ttl_ms"].as_u64() >= Some(5_000), "{report:#}");
    let brief =
        ["--slo", "99%", "--protocol", "redis-fenced", "--lease-ttl", "10s", "--pause", "200ms", "--over", "7d"];
    // It is much too short to change the leader, and the trial shows that.
    let output = advise(&brief, None);
    let said = text(&output.stdout);
    assert!(said.contains("200 pauses struck, 0 changed the leader"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let unnoticed = advise(&[&brief[..], &["--unnoticed", "300ms"]].concat(), None);
    assert!(text(&unnoticed.stdout).contains("the trial confirms nothing about pauses"), "{}", text(&unnoticed.stdout));
    assert_eq!(unnoticed.status.code(), Some(2), "nothing struck");
}

#[test]
fn it_stands_beside_what_there_is_now_and_claims_no_more_than_was_seen() {
    let pauses = ["--slo", "99.9%", "--pause", "12s", "--over", "7d", "--protocol", "k8s-lease"];
    let output = advise(&[&pauses[..], &["--no-trial", "--now", "k8s-lease@5s"]].concat(), None);
    let said = text(&output.stdout);
    // A lease that tolerates the pause changes the leader less often than any shorter one that also meets the target.
    for part in [
        "Now: k8s-lease with a lease of 5s",
        "Advice: k8s-lease with a lease of 15s",
        "0.1 to 4.7 a time",
        "still meets 99.9%",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("100 %") && !said.contains(" % sure"), "{said}");
    let naive = ["--slo", "99%", "--no-trial", "--now", "redis-lease@15s"];
    let said = text(&advise(&naive, None).stdout);
    assert!(said.contains("two leaders may take effect when one is paused"), "{said}");
    let report = advise(&[&pauses[..], &["--json", "--no-trial", "--now", "k8s-lease@10s"]].concat(), None);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["now"]["lease_ttl_ms"], 10_000, "{report:#}");
    let changes = |of: &str| report[of]["changes_a_day"].as_f64().expect("a number");
    assert!(changes("advice") < changes("now"), "{report:#}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let table: [(&[&str], &str); 11] = [
        (
            &["--slo", "99%", "--now", "k8s-lease"],
            "`k8s-lease` is no setting; write a protocol and its lease, as k8s-lease@15s",
        ),
        (&["--slo", "99%", "--now", "kubernetes@15s"], "did you mean `k8s-lease`?"),
        (&["--slo", "100%"], "`100%` is not a target; write one below 100%, such as 99.95%"),
        (&["--slo", "0.9995"], "`0.9995` could be a share or a percentage; write a percentage, such as 99.95%"),
        (
            &["--slo", "99%", "--pause", "1s"],
            "give the time over which these pauses were seen: --over, such as --over 7d",
        ),
        (
            &["--slo", "99%", "--pause", "1", "--over", "1d"],
            "--pause is `1`; write a duration, such as 1.2s, or several of it, as 3x 1.2s",
        ),
        (&["--slo", "99%", "--crashes", "often"], "`often` is not a number per time; write it like 3/30d"),
        (
            &["--slo", "99%", "--pause", "2s", "--over", "1s"],
            "the pauses add up to more than the time in which they were seen; check --over",
        ),
        (
            &["--slo", "99%", "--protocol", "redis-lease"],
            "`redis-lease` lets two leaders take effect when one is paused, whatever its lease; choose a protocol with a fencing token",
        ),
        (
            &["--slo", "99%", "--protocol", "redis-fenced", "--lease-ttl", "1ms"],
            "none of these protocols takes any of these leases; give others with --lease-ttl",
        ),
        (
            &["--slo", "99%", "--pauses", "nowhere.log"],
            "cannot read nowhere.log: No such file or directory (os error 2)",
        ),
    ];
    for (arguments, why) in table {
        let output = advise(arguments, None);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
    }
}
