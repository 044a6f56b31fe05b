//! A fleet whose leader is killed repeatedly, as `cargo real measure` plays and replays it.

use protocols::election;
use scenarios::{Params, scenario::clean_kill};
use sim::run::{self, Options};

#[test]
fn every_kill_is_a_failover() {
    for name in ["etcd-election", "etcd-key", "redis-fenced", "raft"] {
        let protocol = election::find(name).expect("a protocol");
        let params = Params { rate: 50, lease_ttl_ms: Some(1_000), ..Params::default() };
        for seed in 0..3 {
            let plan = clean_kill::repeated(&params, protocol, seed, 6).expect("a plan");
            let judgement = run::run(&plan, Options::default()).expect("a run").judgement;
            assert_eq!(judgement.verdict.name(), "pass", "{name}, seed {seed}");
            assert_eq!(
                judgement.metrics.failover_ms.len(),
                6,
                "{name}, seed {seed}: {:?}",
                judgement.metrics.failover_ms
            );
        }
    }
}
