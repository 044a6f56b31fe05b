//! redlock 2.0.0, `redlock.rs` line 152: `ttl - drift - elapsed` is of `usize`. An answer that takes longer than the lease
//! makes it wrap, in a release build and wherever overflow is not checked, and so `lock` returns a lock that has expired,
//! valid for 584 million years ("Time the lock is still valid. Should only be slightly smaller than the requested TTL").
//! With overflow checks, it panics.

use crate::{
    services::redlock::service,
    suite::{STRIKES_S, quiet},
    world::{at, tell},
};
use scenarios::fault::{Fault, Who};

#[test]
fn a_slow_answer_makes_a_lock_that_never_ends() {
    // A connection and an answer take longer than the lease; a second is what a busy network may need.
    let slow =
        |from: Who, to: Who| Fault::Latency { from: vec![from], to: vec![to], extra_us: 1_000_000, for_ms: None };
    let story = quiet(&service()).lasting(60.0);
    let story = story.with(at(STRIKES_S), slow(Who::Candidates, Who::Service));
    let told = tell(&service(), &story.with(at(STRIKES_S), slow(Who::Service, Who::Candidates)));
    let for_ever: Vec<_> = told.said("leads for 18446744").into_iter().map(|(_, node)| node).collect();
    assert!(for_ever.len() > 1, "{}", told.log());
    assert!(told.two_lead(), "{:?}", told.violated);
}
