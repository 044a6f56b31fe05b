//! How soon after the last fault has healed a leader must act again in a generated plan; derived from the plan.
//!
//! These may have to happen one after the other:
//! 1. The last grant, or the belief in it, expires and another candidate takes over: lease and takeover, on clocks that
//!    may be slow, or that others compare with theirs. On a lossy network a takeover may fail; candidates notice after another lease's silence and try
//!    again.
//! 2. Messages into silence, or to a process that was down, are sent again. Timers that double (TCP's retransmissions,
//!    connects, ZooKeeper's notifications) wait for about as long as the silence lasted, plus a first timeout; a leader
//!    abandons a silent connection to the store after a timeout of its own. A process that answers later than the other
//!    waits is as silent to it, and a leader that its clients do not hear keeps its leadership meanwhile.
//! 3. Queues in slow disks and slow links drain.
//! 4. ZooKeeper elects a server that does not have a quorum's connections, which notices after its init limit.
//! 5. Reconnecting, sealing, one lost request: [`LIVENESS_SLACK_MS`], as in every scenario.

use crate::{
    fault::{Fault, Later, Who},
    params::{LIVENESS_SLACK_MS, Params},
    plan::{Network, Plan},
};
use protocols::{
    election::{Protocol, db_row_node_clock, redlock, zab_fle},
    types::MICROSECOND,
};

/// Clocks that are off by more are not sound, parts per million: ten times the poor quartz that `--clock-drift`
/// assumes.
pub(super) const SOUND_PPM: u64 = 1_000;
/// First retransmission of a connect, milliseconds (RFC 6298): the longest first timeout.
const FIRST_TIMEOUT_MS: u64 = 1_000;
/// Elections in vain, one after the other, at most: each may rest on the votes of a server that has gone.
const IN_VAIN: usize = 2;
/// Syncs that may queue on one disk: a vote, a log entry, and the one in progress.
const SYNCS: u64 = 3;

/// The bound, milliseconds.
pub(super) fn liveness_ms(plan: &Plan, params: &Params, protocol: &Protocol, trouble_ms: u64) -> u64 {
    let tries = if plan.network.loss > 0.0 { 2 } else { 1 };
    let lease_ms = tries * (params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol));
    // A clock that is slow by a share p takes 1 / (1 - p) of the time.
    let slow = 1_000_000 - worst_ppm(plan).min(500_000);
    let lease_ms = (lease_ms * 1_000_000).div_ceil(slow) + readers_wait_ms(plan, protocol, trouble_ms);
    lease_ms + in_vain_ms(plan, protocol) + silence_ms(plan, protocol, trouble_ms) + queues_ms(plan) + LIVENESS_SLACK_MS
}

/// For how long servers may lead that have no quorum, and wait for one: ZooKeeper's init limit (`Leader.java: getEpochToPropose`).
fn in_vain_ms(plan: &Plan, protocol: &Protocol) -> u64 {
    if protocol.name != zab_fle::PROTOCOL.name {
        return 0;
    }
    let goes = |what: &Fault| {
        matches!(what, Fault::Kill { .. } | Fault::PowerLoss { .. } | Fault::Restart { .. } | Fault::Resign { .. })
    };
    let gone = plan.faults.iter().filter(|fault| goes(&fault.what)).count();
    gone.min(IN_VAIN) as u64 * zab_fle::init_limit(plan.timings.lease_ttl_ms)
}

/// Whether a lease is over when the reader's wall clock says so.
pub(super) fn ends_by_readers_clocks(protocol: &Protocol) -> bool {
    protocol.name == db_row_node_clock::PROTOCOL.name
}

/// For how long after its end a lease may still seem to hold to others that compare its holder's wall clock with theirs.
fn readers_wait_ms(plan: &Plan, protocol: &Protocol, trouble_ms: u64) -> u64 {
    if !ends_by_readers_clocks(protocol) {
        return 0;
    }
    let steps = plan.faults.iter().filter_map(|fault| match fault.what {
        Fault::ClockStep { by_ms, .. } => Some(by_ms.unsigned_abs()),
        _ => None,
    });
    // One may be slow, and the other fast.
    let drift_ms = (2 * worst_ppm(plan) * trouble_ms).div_ceil(1_000_000);
    clocks_apart_ms(plan) + steps.sum::<u64>() + drift_ms
}

/// How far apart two wall clocks are at the start.
fn clocks_apart_ms(plan: &Plan) -> u64 {
    let offsets = || plan.candidates.iter().map(|candidate| candidate.wall_offset_ms);
    offsets().max().unwrap_or(0).abs_diff(offsets().min().unwrap_or(0))
}

/// The largest error of any clock in the plan at any time, parts per million.
pub(super) fn worst_ppm(plan: &Plan) -> u64 {
    let by_fault = plan.faults.iter().filter_map(|fault| match fault.what {
        Fault::ClockRate { ppm, .. } => Some(ppm),
        _ => None,
    });
    let rates = plan.candidates.iter().map(|candidate| candidate.rate_ppm).chain(by_fault);
    rates.map(i64::unsigned_abs).max().unwrap_or(0)
}

/// How much faster than true time a candidate's clocks may run, parts per million. Redlock gives a server a fixed time to
/// accept a connection and answer: where two round trips may take as long, it hardly ever gets in on a faster clock.
pub(super) fn fastest_ppm(network: &Network, protocol: &Protocol) -> i64 {
    let hardly = two_round_trips_us(network) * MICROSECOND >= redlock::SERVER_TIMEOUT;
    if asks_in_a_hurry(protocol) && hardly { SOUND_PPM as i64 } else { i64::MAX }
}

/// Whether two wall clocks are so far apart that one may show the end of a lease before the other's renewal is due. To
/// a node that compares them, this is as if a clock had been set.
pub(super) fn clocks_outrun_lease(plan: &Plan) -> bool {
    let renewed_ms = plan.timings.renew_interval_ms + plan.timings.request_timeout_ms;
    clocks_apart_ms(plan) + renewed_ms > plan.timings.lease_ttl_ms
}

/// For how long messages may have been lost, and so how long their retransmission may yet wait.
fn silence_ms(plan: &Plan, protocol: &Protocol, trouble_ms: u64) -> u64 {
    let of = |what: &Fault| what.parts().silent_ms.or_else(|| too_late_ms(plan, protocol, what));
    let silent: Vec<f64> = plan.faults.iter().filter_map(|fault| of(&fault.what)).collect();
    if silent.is_empty() {
        return 0;
    }
    (silent.iter().sum::<f64>() as u64).min(trouble_ms) + FIRST_TIMEOUT_MS + plan.network.store_silence_ms()
}

/// For how long messages are so late that a client gives up before it is connected and has an answer, a leader before it
/// has one from the store, or a candidate of Redlock before it has one from a server.
fn too_late_ms(plan: &Plan, protocol: &Protocol, what: &Fault) -> Option<f64> {
    let Fault::Latency { from, to, extra_us, for_ms } = what else { return None };
    let ends_at = |who: &Who| from.contains(who) || to.contains(who);
    let one_way_us = plan.network.one_way_max_us();
    // Once while it connects, and once for the answer.
    let (patience_us, usual_us) = match () {
        () if ends_at(&Who::Clients) => (plan.network.attempt_timeout_ms() * 1_000, one_way_us),
        () if ends_at(&Who::Store) => (plan.network.store_silence_ms() * 1_000, one_way_us),
        () if asks_in_a_hurry(protocol) && ends_at(&Who::Service) => {
            (redlock::SERVER_TIMEOUT / MICROSECOND, two_round_trips_us(&plan.network))
        }
        () => return None,
    };
    (2 * extra_us + usual_us >= patience_us).then(|| for_ms.unwrap_or(0.0))
}

/// Whether a candidate gives each server a fixed time, whatever the network.
fn asks_in_a_hurry(protocol: &Protocol) -> bool {
    protocol.name == redlock::PROTOCOL.name
}

/// The longest that connecting and an answer take, microseconds.
fn two_round_trips_us(network: &Network) -> u64 {
    4 * network.one_way_max_us()
}

/// How long messages and syncs that are in flight when the last fault heals may still take, because of faults on disks
/// and links.
fn queues_ms(plan: &Plan) -> u64 {
    let later = plan.faults.iter().filter_map(|fault| fault.what.parts().later);
    let extra_us =
        later.map(|Later { extra_us, packets, syncs }| extra_us * (u64::from(packets) + if syncs { SYNCS } else { 0 }));
    extra_us.sum::<u64>().div_ceil(1_000)
}
