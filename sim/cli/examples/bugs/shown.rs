//! Runs the commands of `list bugs`. The test of known bugs includes this file as well.

use protocols::bug::{Bug, Shown};
use reports::Judgement;
use scenarios::{Plan, scenario};
use sim::run::{self, Options};
pub use sim::shown::shows;
use sim_cli::commands::shown::params;
use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// A seed's plan, with or without the bug.
pub fn plan(shown: &Shown, bug: Option<&Bug>, seed: u64) -> Plan {
    let scenario = scenario::find(shown.scenario).expect("a scenario");
    let protocol = protocols::election::find(shown.protocol).expect("a protocol");
    let command = shown.command();
    let params = params(shown, bug).unwrap_or_else(|e| panic!("{e}"));
    scenario.compile(&params, protocol, seed).unwrap_or_else(|e| panic!("{command}: {e}"))
}

/// The judgement of a run.
pub fn judged(plan: &Plan) -> Judgement {
    run::run(plan, Options::default()).expect("the run ends").judgement
}

/// How many of the seeds show the bug.
pub fn found(bug: &Bug, shown: &Shown, switch: bool, seeds: Range<u64>) -> u64 {
    let plans = seeds.map(|seed| plan(shown, switch.then_some(bug), seed));
    plans.filter(|plan| shows(bug, &judged(plan))).count() as u64
}

/// Applies `work` to each element on two threads, and returns the results.
pub fn each<T: Sync, R: Send>(of: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(one) = of.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(one);
                    done.lock().expect("no thread has panicked").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no thread has panicked")
}
