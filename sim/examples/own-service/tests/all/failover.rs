//! Whatever happens to the leader, another follows.

use crate::world::{
    SENDS, SENDS_FROM_S, STRIKES_S, TAKEOVER_S, before_send, leader, leaders, plan, plan_at, run, seconds,
};
use scenarios::fault::{Fault, Who};
use sim::{
    program::{From, Line},
    run::Run,
};
use std::process::Command;

/// The lines of a run in which this happens to the leader, and who leads next and when.
fn struck(seed: u64, what: impl Fn(Who) -> Fault) -> (Vec<Line>, f64) {
    let (leader, who) = leader(seed);
    let Run { printed: lines, .. } = run(&plan(seed, Some(what(who))));
    let next = leaders(&lines).into_iter().find(|(at, node)| *at > STRIKES_S && *node != leader);
    let (at, _) = next.unwrap_or_else(|| panic!("nobody else leads: {lines:?}"));
    assert!(at < STRIKES_S + TAKEOVER_S, "{lines:?}");
    (lines, at)
}

fn partition(who: Who, for_ms: f64) -> Fault {
    Fault::Partition { from: vec![who], to: vec![Who::Service], one_way: false, for_ms: Some(for_ms) }
}

#[test]
fn another_leads_after_a_kill_and_the_killed_process_says_no_more() {
    for seed in 0..3 {
        let (lines, _) = struck(seed, |node| Fault::Kill { node, restart_after_ms: None });
        let (killed, _) = leader(seed);
        assert!(lines.iter().all(|line| line.node != killed || seconds(line) < STRIKES_S), "{lines:?}");
    }
}

#[test]
fn a_process_that_starts_again_begins_anew() {
    let (killed, node) = leader(1);
    let kill = Fault::Kill { node, restart_after_ms: Some(1_000.0) };
    let Run { printed: lines, .. } = run(&plan(1, Some(kill)));
    let tokens =
        lines.iter().filter_map(|line| line.text.split_once("leads with token ").map(|(_, token)| (line, token)));
    let tokens: Vec<_> = tokens.map(|(line, token)| (line.node, line.starts, token)).collect();
    // It comes back before its lease has ended, and gets it as anybody else would.
    assert_eq!(tokens, [(killed, 0, "1"), (tokens[1].0, u32::from(tokens[1].0 == killed), "2")], "{lines:?}");
}

#[test]
fn a_paused_leader_finds_out_when_it_runs_again() {
    let (lines, _) = struck(1, |node| Fault::Pause { node, for_ms: 6_000.0 });
    let (paused, _) = leader(1);
    let stops = lines.iter().find(|line| line.node == paused && line.text.ends_with("leads no more"));
    let stops = stops.unwrap_or_else(|| panic!("{lines:?}"));
    assert!((STRIKES_S + 6.0..STRIKES_S + 7.1).contains(&seconds(stops)), "{lines:?}");
}

#[test]
fn a_leader_that_is_cut_off_is_succeeded() {
    struck(1, |node| partition(node, 6_000.0));
}

#[test]
fn a_power_loss_is_a_failover_too() {
    struck(1, |node| Fault::PowerLoss { node, restart_after_ms: None });
}

/// No point is written into the service, and yet it can be killed between any two of its messages.
#[test]
fn whichever_message_a_leader_dies_before_another_leads() {
    let (leader, node) = leader(1);
    for send in 1..=SENDS {
        let plan =
            plan_at(1, before_send(&node, send), Some(Fault::Kill { node: Who::Trigger, restart_after_ms: None }));
        let run = run(&plan);
        let lines = &run.printed;
        assert_eq!(run.faults, 1, "there is no send {send}: {lines:?}");
        let next = leaders(lines).into_iter().find(|(_, node)| *node != leader);
        assert!(
            next.is_some_and(|(at, _)| at < SENDS_FROM_S + 1.0 + TAKEOVER_S),
            "killed before send {send}: {lines:?}"
        );
    }
}

#[test]
fn nothing_is_refused_and_nobody_ends() {
    let Run { printed: lines, .. } = run(&plan(1, None));
    assert!(lines.iter().all(|line| line.from == From::Output), "{lines:?}");
}

#[test]
fn the_same_plan_gives_the_same_bytes_here_and_in_a_fresh_process() {
    let (_, who) = leader(7);
    let plan = plan(7, Some(partition(who, 6_000.0)));
    let [first, second] = [run(&plan), run(&plan)].map(|run| format!("{} {:?}", run.trace_hash(), run.printed));
    assert_eq!(first, second);
    const AGAIN: &str = "OWN_SERVICE_AGAIN";
    if std::env::var_os(AGAIN).is_some() {
        return println!("<{}>", first);
    }
    let name = "failover::the_same_plan_gives_the_same_bytes_here_and_in_a_fresh_process";
    let fresh =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]).env(AGAIN, "1").output();
    let said = String::from_utf8(fresh.unwrap().stdout).unwrap();
    assert!(said.contains(&format!("<{}>", first)), "{said}\nis not\n{}", first);
}
