//! Migration from one lock to another: halfway there are two leaders; done right there is one (`mixed-locks`).

use crate::common::run;
use protocols::election;
use reports::Verdict;
use scenarios::{Params, scenario};

fn runs(scenario: &str, protocol: &str) -> impl Iterator<Item = sim::run::Run> {
    let (scenario, protocol) = (scenario::find(scenario).unwrap(), election::find(protocol).unwrap());
    let params = Params { rate: 50, ..Params::default() };
    (0..24).map(move |seed| run(&scenario.compile(&params, protocol, seed).unwrap()))
}

#[test]
fn where_the_new_version_takes_both_locks_one_leads_at_a_time() {
    for protocol in ["redis-lease-migrating", "redis-fenced-migrating"] {
        for run in runs("mixed-locks", protocol) {
            let broken: Vec<_> = run.judgement.violated().collect();
            assert_eq!(run.judgement.verdict, Verdict::Pass, "{protocol}, seed {}: {broken:?}", run.plan.seed);
            assert_eq!(run.judgement.metrics.dual_effect_ms, 0.0, "{protocol}, seed {}", run.plan.seed);
            assert!(run.judgement.metrics.elections >= 2, "{protocol}, seed {}: nobody took over", run.plan.seed);
        }
    }
}

#[test]
fn a_lock_of_ones_own_breaks_it() {
    let broken =
        |protocol| runs("mixed-locks", protocol).filter(|run| run.judgement.verdict == Verdict::Safety).count();
    assert_eq!(broken("redis-lease"), 24);
}

#[test]
fn both_locks_keep_what_one_keeps() {
    for scenario in ["steady", "clean-kill", "partition", "graceful-step-down"] {
        for run in runs(scenario, "redis-fenced-migrating").take(6) {
            let broken: Vec<_> = run.judgement.violated().collect();
            assert!(broken.is_empty(), "{scenario}, seed {}: {broken:?}", run.plan.seed);
        }
    }
}
