//! How soon after the last fault is healed a leader must act again in a generated plan: derived from the plan.
//!
//! What may have to happen one after the other:
//! 1. Whoever was granted leadership last, or is believed to have been, runs out of it, and somebody takes over: lease and
//!    takeover, by clocks that may be slow. On a network that loses packets a takeover may fail, which is noticed by as
//!    long a silence as a lease is, and have to be tried again.
//! 2. What was sent into silence, or to a process that was down, is sent again. Timers that double (TCP's retransmissions,
//!    connects, ZooKeeper's notifications) wait for about as long as the silence was, and a first timeout besides; a leader
//!    gives a silent connection to the store up after a time of its own.
//! 3. What queued up in slow disks and slow links comes through.
//! 4. Connecting anew, sealing, one lost request: [`LIVENESS_SLACK_MS`], as in every scenario.

use crate::{
    fault::{Fault, Later},
    params::{LIVENESS_SLACK_MS, Params},
    plan::Plan,
};
use protocols::election::Protocol;

/// First retransmission of a connect, milliseconds (RFC 6298): the longest first timeout there is.
const FIRST_TIMEOUT_MS: u64 = 1_000;
/// Syncs that may wait for each other on one disk: a vote, a log entry, and the one that is under way.
const SYNCS: u64 = 3;

/// The bound, milliseconds.
pub(super) fn liveness_ms(plan: &Plan, params: &Params, protocol: &Protocol, trouble_ms: u64) -> u64 {
    let tries = if plan.network.loss > 0.0 { 2 } else { 1 };
    let lease_ms = tries * (params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol));
    // A clock that is slow by a share p takes 1 / (1 - p) of the time.
    let slow = 1_000_000 - worst_ppm(plan).min(500_000);
    (lease_ms * 1_000_000).div_ceil(slow) + silence_ms(plan, trouble_ms) + queues_ms(plan) + LIVENESS_SLACK_MS
}

/// How much the worst clock of a plan is off at its worst, parts per million.
pub(super) fn worst_ppm(plan: &Plan) -> u64 {
    let by_fault = plan.faults.iter().filter_map(|fault| match fault.what {
        Fault::ClockRate { ppm, .. } => Some(ppm),
        _ => None,
    });
    let rates = plan.candidates.iter().map(|candidate| candidate.rate_ppm).chain(by_fault);
    rates.map(i64::unsigned_abs).max().unwrap_or(0)
}

/// For how long something may have been sent in vain, and so for how long it may yet wait to be sent again.
fn silence_ms(plan: &Plan, trouble_ms: u64) -> u64 {
    let silent: Vec<f64> = plan.faults.iter().filter_map(|fault| fault.what.parts().silent_ms).collect();
    if silent.is_empty() {
        return 0;
    }
    (silent.iter().sum::<f64>() as u64).min(trouble_ms) + FIRST_TIMEOUT_MS + plan.network.store_silence_ms()
}

/// How long what is under way when the last fault heals may still take because of faults on disks and links.
fn queues_ms(plan: &Plan) -> u64 {
    let later = plan.faults.iter().filter_map(|fault| fault.what.parts().later);
    let extra_us =
        later.map(|Later { extra_us, packets, syncs }| extra_us * (u64::from(packets) + if syncs { SYNCS } else { 0 }));
    extra_us.sum::<u64>().div_ceil(1_000)
}
