//! The service is paused before each of its messages in turn: between its look at the lease and the write that follows,
//! too. Whether two leaders take effect depends on the store.

use crate::world::{leader, plan_at, run_all, seconds};
use protocols::fence::checks::Fencing;
use reports::Verdict;
use scenarios::fault::{Fault, Trigger, Who};
use sim::program::Program;

/// The seconds from which on pauses begin, and how long each lasts: longer than the lease.
const FROM_S: f64 = 5.0;
const PAUSE_MS: f64 = 4_000.0;
const SENDS: u64 = 12;

/// The violated invariants after a pause before each of some sends.
fn paused_before_each_send(fencing: Fencing) -> Vec<Vec<String>> {
    let (_, node) = leader(1);
    let paused = |nth| {
        let after = Some(Box::new(Trigger::At { ms: FROM_S * 1_000.0 }));
        let when = Trigger::Passage { point: "before_send".to_owned(), node: node.clone(), nth, after, delay_ms: 0.0 };
        let mut plan = plan_at(1, when, Some(Fault::Pause { node: Who::Trigger, for_ms: PAUSE_MS }));
        plan.fencing = fencing;
        let (run, lines) = run_all(&plan);
        assert_eq!(run.faults, 1, "there are fewer sends: {lines:?}");
        let events = run.kept.expect("not too many events");
        let judgement = Program::judge(&events);
        assert_ne!(
            judgement.verdict,
            Verdict::Vacuous,
            "{:?}",
            lines.iter().map(|l| (seconds(l), &l.text)).collect::<Vec<_>>()
        );
        judgement.violated().map(str::to_owned).collect()
    };
    (1..=SENDS).map(paused).collect()
}

#[test]
fn a_store_that_compares_tokens_lets_one_leader_take_effect() {
    let violated = paused_before_each_send(Fencing::On);
    assert!(violated.iter().all(Vec::is_empty), "{violated:?}");
}

#[test]
fn without_fencing_two_take_effect() {
    let violated = paused_before_each_send(Fencing::Off);
    let twice = violated.iter().filter(|violated| violated.iter().any(|name| name == "leaders_acting_by_effect"));
    assert!(twice.count() > 0, "{violated:?}");
    eprintln!("{violated:?}");
}
