//! The service is paused before each of its messages in turn: between its look at the lease and the write that follows,
//! too. Whether two leaders take effect depends on the store.

use crate::world::{SENDS, before_send, leader, plan_at, run_all};
use protocols::fence::checks::Fencing;
use reports::Verdict;
use scenarios::fault::{Fault, Who};
use sim::program::Program;

/// Longer than the lease.
const PAUSE_MS: f64 = 4_000.0;

/// The violated invariants after a pause before each of some sends.
fn paused_before_each_send(fencing: Fencing) -> Vec<Vec<String>> {
    let (_, node) = leader(1);
    let paused = |nth| {
        let pause = Fault::Pause { node: Who::Trigger, for_ms: PAUSE_MS };
        let mut plan = plan_at(1, before_send(&node, nth), Some(pause));
        plan.fencing = fencing;
        let (run, lines) = run_all(&plan);
        assert_eq!(run.faults, 1, "there are fewer sends: {lines:?}");
        let events = run.kept.expect("not too many events");
        let judgement = Program::judge(&events);
        assert_ne!(judgement.verdict, Verdict::Vacuous, "{lines:?}");
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
    // It looks at the lease, renews it and writes: the write is every third message.
    let twice = |violated: &Vec<String>| violated.iter().any(|name| name == "leaders_acting_by_effect");
    let unsafe_sends = violated.iter().filter(|violated| twice(violated)).count() as u64;
    assert_eq!(unsafe_sends, SENDS / 3, "{violated:?}");
}
