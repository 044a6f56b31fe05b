//! Property: whatever the protocol, the faults and the clocks, with fencing on no tokened leader's past takes effect.
//! Shrinking works on the plan; a failure prints the smallest one, ready for `fencepost replay`.

#![cfg(madsim)]

mod common;

use common::run;
use proptest::prelude::*;
use reports::Verdict;
use scenarios::generate;

/// Cases per run of the tests; the environment can ask for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(512)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fenced_leaders_never_act_out_of_turn(plan in generate::plans()) {
        prop_assert_eq!(plan.validate(), Ok(()));
        let protocol = plan.election().expect("generated plans are valid");
        let run = run(&plan);
        let violated: Vec<_> = run.judgement.invariants.iter().filter(|i| !i.holds).collect();
        let safe = run.judgement.verdict != Verdict::Safety;
        // What has no token cannot be fenced, and is not asked to hold.
        prop_assert!(safe || !protocol.tokened, "{violated:#?}\n{}", plan.to_json_pretty());
    }
}
