//! What the timers of Consul's and Kubernetes' clients protect against, and what not.

use crate::common::run;
use protocols::election;
use reports::{Judgement, Verdict};
use scenarios::{Params, Registry, scenario, set::Settings};

fn judged(scenario: &str, protocol: &str, params: &Params, seed: u64) -> Judgement {
    let scenario = scenario::find(scenario).expect("a scenario");
    let protocol = election::find(protocol).expect("a protocol");
    run(&scenario.compile(params, protocol, seed).expect("the parameters make sense")).judgement
}

fn set(text: &str) -> Settings {
    Registry::default().setting(text).into_iter().collect()
}

/// The leader is paused under a lock-delay. A session of 10 s ends 20 s after its last renewal, which came up to 5 s
/// before the pause.
fn asleep(lock_delay_ms: u64, pause_ms: u64, fencing: bool, seed: u64) -> Judgement {
    let set = set(&format!("consul-session.lock-delay={lock_delay_ms}ms"));
    let params = Params { set, pause_ms: Some(pause_ms), fencing: fencing.into(), rate: 20, ..Params::default() };
    judged("gc-pause", "consul-session", &params, seed)
}

#[test]
fn lock_delay_is_needed_and_not_enough() {
    for seed in 0..4 {
        // Without a lock-delay, a waiter is elected when the session ends, and the paused leader writes after it.
        assert_eq!(asleep(0, 27_000, false, seed).verdict, Verdict::Safety, "seed {seed}, no lock-delay");
        // With it, nobody is elected until the paused leader has written and checked its lock.
        let delayed = asleep(15_000, 27_000, false, seed);
        assert_ne!(delayed.verdict, Verdict::Safety, "seed {seed}: {delayed:?}");
        assert_eq!(delayed.metrics.writes_fenced, 0);
        // It does not help if the pause outlasts both.
        assert_eq!(asleep(15_000, 45_000, false, seed).verdict, Verdict::Safety, "seed {seed}, a longer pause");
        // A token needs no delay.
        for (delay_ms, pause_ms) in [(0, 27_000), (15_000, 45_000)] {
            let fenced = asleep(delay_ms, pause_ms, true, seed);
            assert_eq!(fenced.verdict, Verdict::Pass, "seed {seed}: {fenced:?}");
            assert!(fenced.metrics.writes_fenced > 0, "seed {seed}: nothing was refused");
        }
    }
}

/// The longest dual belief over a few seeds when the leader is cut off from the API server and all clocks are right, in
/// milliseconds.
fn dual_belief_ms(renew_deadline_ms: u64) -> f64 {
    let params = Params {
        lease_ttl_ms: Some(15_000),
        set: set(&format!("k8s-lease.renew-deadline={renew_deadline_ms}ms")),
        nodes: 7,
        rate: 20,
        clock_drift_ppm: 0,
        clock_skew_ms: 0,
        ..Params::default()
    };
    (0..10).map(|seed| judged("partition", "k8s-lease", &params, seed).metrics.dual_belief_ms).fold(0.0, f64::max)
}

#[test]
fn a_renew_deadline_as_long_as_the_lease_leaves_no_tolerance_for_clocks() {
    // client-go's defaults, 15 s, 10 s and 2 s: a leader stops 3 s before anybody may take the lease.
    assert_eq!(dual_belief_ms(10_000), 0.0);
    // Flink's: two believe for up to a retry period although all clocks are right.
    let worst_ms = dual_belief_ms(15_000);
    assert!(worst_ms > 0.0 && worst_ms < 2_100.0, "{worst_ms} ms");
}
