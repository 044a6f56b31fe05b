//! `assess` as a process: its answers for client-go's timers, their reasons, and that its commands run.

use clap::Parser;
use serde_json::Value;
use sim_cli::commands::args::Cli;
use std::process::{Command, Output};

fn assess(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env("NO_COLOR", "1").env_remove("CARGO").current_dir(env!("CARGO_TARGET_TMPDIR")).arg("assess");
    command.args(arguments.split(' ')).output().expect("the binary runs")
}

fn report(arguments: &str) -> (Option<i32>, Value) {
    let output = assess(&format!("{arguments} --json"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments}: {e}: {said}"));
    (output.status.code(), report)
}

/// The value above which the event happens.
fn edge(report: &Value, event: &str) -> Option<f64> {
    let edges = report["edges"].as_array().expect("edges");
    edges.iter().find(|edge| edge["event"] == event).unwrap_or_else(|| panic!("no {event}: {report:#}"))["at"].as_f64()
}

const CLIENT_GO: &str = "k8s-lease --lease-ttl 15s --set k8s-lease.renew-deadline=10s --retry-period 2s";

#[test]
fn a_pause_of_twelve_seconds_is_within_client_gos_lease() {
    let (code, said) = report(&format!("{CLIENT_GO} --pause 12s"));
    assert_eq!((code, &said["answer"]), (Some(0), &"safe".into()), "{said:#}");
    assert!(said["because"].as_str().is_some_and(|why| why.contains("nobody takes over within 12 s")), "{said:#}");
    // The lease less a retry period, the drift of a poor quartz and three latencies.
    let timers = edge(&said, "takeover_by_timers").expect("a bound");
    assert!((12_990.0..13_000.0).contains(&timers), "{said:#}");
    // Others check every 2 to 4.4 s, so runs show it a little later, and never earlier.
    for event in ["takeover", "two_believe", "stale_write"] {
        let at = edge(&said, event).unwrap_or_else(|| panic!("{event}: {said:#}"));
        assert!((timers..timers + 2_200.0).contains(&at), "{event}: {said:#}");
    }
    // It stops after a retry period and the renew deadline, 12 s; others wait for 15 s.
    let stops = said["stops_believing_before_takeover_ms"].as_f64().expect("a bound");
    assert!((2_900.0..3_000.0).contains(&stops), "{said:#}");
    assert_eq!(said["takeovers_at_asked"], 0, "{said:#}");
    // The defaults are the typed values.
    assert_eq!(report("k8s-lease --pause 12s").1["edges"], said["edges"]);
}

#[test]
fn what_is_asked_decides_between_safe_not_safe_and_cannot_be_said() {
    for (arguments, code, why) in [
        ("k8s-lease --pause 20s --fencing off", 1, "the store compares no tokens"),
        ("k8s-lease --pause 20s", 0, "the store compares tokens"),
        // Between the timers' guarantee and what runs show.
        ("k8s-lease --pause 13.1s --fencing off", 2, "the timers exclude a change of leader only up to"),
        ("k8s-lease --partition 40s --fencing off", 0, "stops believing"),
        (
            "k8s-lease --lease-ttl 15s --set k8s-lease.renew-deadline=14s --partition 40s --fencing off",
            2,
            "two nodes may believe for",
        ),
        ("redis-lease --pause 20s", 1, "no token tells it apart"),
        ("redis-lease --pause 5s", 0, "nobody takes over within 5 s"),
        ("pg-advisory --pause 2m", 0, "however long its process stops"),
        ("etcd-election --lease-ttl 5s --cut 20s --fencing off", 1, "the store compares no tokens"),
        ("db-row-node-clock --lease-ttl 5s --clock-skew 3m --fencing off", 1, "the store compares no tokens"),
        ("k8s-lease --drift 50000 --fencing off", 0, "stops believing"),
        // Lost packets may be renewals.
        ("k8s-lease --pause 12s --fencing off --loss 1%", 2, "exclude nothing"),
    ] {
        let (ended, said) = report(arguments);
        assert_eq!(ended, Some(code), "{arguments}: {said:#}");
        assert!(said["because"].as_str().is_some_and(|because| because.contains(why)), "{arguments}: {said:#}");
        let answer = ["safe", "not-safe", "unknown"][code as usize];
        assert_eq!(said["answer"], answer, "{arguments}: {said:#}");
    }
}

#[test]
fn what_it_advises_is_what_makes_it_safe() {
    let (_, said) = report("k8s-lease --pause 20s --fencing off");
    let change = &said["changes"][0];
    assert_eq!((&change["options"], &change["violated"]), (&"--fencing on".into(), &0.into()), "{said:#}");
    let (_, said) = report("redis-lease --pause 20s");
    assert!(said["changes"][0]["what"].as_str().is_some_and(|what| what.contains("`redis-fenced`")), "{said:#}");
    // A longer lease, as typed, tolerates what the advice claims.
    let (_, said) = report(&format!("{CLIENT_GO} --pause 12s"));
    let options = said["changes"][0]["options"].as_str().expect("options");
    assert!(options.starts_with("--lease-ttl 21s "), "{said:#}");
    assert!(options.contains("--set k8s-lease.renew-deadline=14s"), "{said:#}");
    let (code, longer) = report(&format!("k8s-lease {options} --pause 18s"));
    assert_eq!((code, &longer["takeovers_at_asked"]), (Some(0), &0.into()), "{longer:#}");
}

#[test]
fn it_fits_a_screen_and_leads_on_to_commands() {
    for arguments in [
        "k8s-lease --pause 12s",
        "k8s-lease --pause 20s --fencing off",
        "consul-session --pause 40s",
        "raft --pause 400ms --fencing off",
        "zk-selector --latency 20ms",
        "pg-advisory-pooled --pause 3s",
    ] {
        let said = String::from_utf8(assess(arguments).stdout).expect("text");
        let lines: Vec<&str> = said.lines().collect();
        let wide =
            lines.iter().filter(|line| line.chars().count() > 80 && line.contains(' ') && !line.starts_with("  /"));
        assert_eq!(wide.collect::<Vec<_>>(), Vec::<&&str>::new(), "{arguments}");
        assert!(lines.len() <= 30, "{arguments}: {} lines\n{said}", lines.len());
        let (_, commands) = said.split_once("Go on:\n").expect("commands");
        let commands = commands.replace(" \\\n", " ");
        assert!(commands.contains(" matrix --protocol"), "{said}");
        for command in commands.lines() {
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let parsed = Cli::try_parse_from([&["fencepost"], &words[..]].concat());
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    for (arguments, why) in [
        ("k8s-lease", "name a hazard: --pause"),
        ("kubernetes --pause 12s", "did you mean `k8s-lease`?"),
        ("postgres --pause 12s", "did you mean `pg-advisory`, `db-row` or `db-row-node-clock`?"),
        ("etcd --pause 12s", "did you mean `etcd-election` or `etcd-key`?"),
        ("lease --pause 12s", "these have it in their name: redis-lease"),
        ("k8s-lease --pause 12", "`12` is not a duration"),
        ("k8s-lease --pause 12s --set k8s-lease.renew-deadline=20s", "refuses these timers"),
        ("etcd-election --pause 12s --set k8s-lease.renew-deadline=10s", "has no renew deadline"),
        ("etcd-election --pause 12s --retry-period 10s", "has no retry period"),
        ("k8s-lease --pause 12s --bug k8s-renews-for-ever", "--bug"),
    ] {
        let output = assess(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{arguments}: {said}");
        assert!(said.contains(why), "{arguments}: {said}");
    }
}
