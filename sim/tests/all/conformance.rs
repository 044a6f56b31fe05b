//! Compares the models with real servers: scripts and generated commands run on both through the same client code over
//! real sockets. (This build is for the simulation, but outside of a simulation, tokio works normally.)
//!
//! A script's replies are in `testdata/conformance`, as recorded from the real server; the model must give the same.
//! Generated commands have no recorded replies, but both sides must agree. Ids are replaced by names, revisions count
//! from the start of a script, and times must lie within stated bounds.
//!
//! `FENCEPOST_SERVERS` says what to do if a server is not installed (see the crate `servers`);
//! `FENCEPOST_CONFORMANCE_CASES` sets the number of generated sequences, and `FENCEPOST_CONFORMANCE_SEED` their seed.

mod clusters;
mod consul;
mod etcd;
mod etcd_generated;
mod etcd_recipes;
mod etcd_scripts;
mod kubernetes;
mod postgres;
mod postgres_generated;
mod postgres_session;
mod redis;
mod redis_cli;
mod redis_generated;
mod script;
mod sentinel;
mod sentinel_failover;
mod zookeeper;
mod zookeeper_generated;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::{fmt::Debug, future::Future, time::Duration};

/// Longer than any of these tests takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(280);

/// Runs a test's future on its own runtime.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("it ends") })
}

/// Runs a generated sequence with a timeout.
async fn in_time<T>(sequence: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), sequence).await.expect("a sequence ends")
}

/// Whether to record the scripts' replies anew.
fn updating() -> bool {
    std::env::var_os("FENCEPOST_UPDATE").is_some_and(|v| v == "1")
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// Reports how much was compared, even if the test passes.
fn report(server: &str, count: usize, how: &str) {
    servers::say(&format!("{server}: {count} {how} commands compared with the model"));
}

/// Runs `case` on generated values; a failure prints the smallest failing one.
fn generate<S>(strategy: S, cases: u64, mut case: impl FnMut(&S::Value) -> Result<(), String>)
where
    S: proptest::strategy::Strategy,
    S::Value: Debug,
{
    let cases = number("FENCEPOST_CONFORMANCE_CASES", cases) as u32;
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("FENCEPOST_CONFORMANCE_SEED", 1).to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let case = std::cell::RefCell::new(&mut case);
    let result = runner.run(&strategy, |value| (*case.borrow_mut())(&value).map_err(TestCaseError::fail));
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, _)) => panic!("the smallest sequence on which they differ:\n{why}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}
