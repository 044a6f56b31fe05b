//! How far a configuration stays clear of two leaders, judged by its timers alone.
//!
//! T is the shortest wait of any node that can replace a silent leader, on a clock that runs fast by d; r is the time
//! from one renewal to the next, k how late the client may be with it, and L the longest one-way latency:
//! ```text
//!  a pause changes no leader up to   T / (1 + d) − r − k − 3·L
//!  a cut changes none up to          (T / (1 + d) − r − k − 3·L − request timeout − 200 ms) / 2
//! ```
//! The last renewal was sent up to r + k ago and took L; its answer took another L, and the next renewal takes a third.
//! After a cut, TCP waits up to the cut's length before it sends again (RFC 6298: the timeout doubles), hence the half;
//! 200 ms is its shortest timeout. If the lease hangs on a connection that the client abandons after a silence, T is
//! that silence.
//!
//! Sources: the lease arithmetic of Gray and Cheriton, "Leases" (SOSP 1989), §2 and §5; the timers are each protocol's
//! own.

use crate::{
    belief,
    fault::Fault,
    params::Params,
    plan::{PPM_MAX, Plan},
};
use protocols::{
    election::{Conditions, Promise, Protocol, hazard},
    types::{MICROSECOND, MILLISECOND, SECOND},
};

/// TCP's shortest retransmission timeout on Linux, milliseconds.
const RETRANSMIT_MS: f64 = 200.0;

/// What the timers alone guarantee. Milliseconds of true time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clearance {
    /// The shortest wait of any node that can replace a silent leader, counted from the arrival of its last renewal;
    /// `None`: unknown or unbounded.
    pub waits_ms: Option<f64>,
    /// How old that renewal may be when a fault strikes the leader, latencies included.
    pub renewed_ms: f64,
    /// The longest pause that cannot change the leader.
    pub pause_ms: Option<f64>,
    /// The longest cut that cannot change the leader.
    pub cut_ms: Option<f64>,
}

/// What a protocol's timers guarantee with these parameters.
pub fn of(params: &Params, protocol: &Protocol) -> Clearance {
    let timings = params.timings(protocol);
    let drift = 1.0 + params.clock_drift_ppm as f64 / 1e6;
    let waits_ms = waits(params, protocol).map(|waits| waits as f64 / 1e6 / drift);
    let trip_ms = params.network().one_way_max_us() as f64 / 1e3;
    let tick_ms = (protocol.service.renewal_tick / MILLISECOND) as f64;
    let renewed_ms = timings.renew_interval_ms as f64 + tick_ms + 3.0 * trip_ms;
    let left_ms = waits_ms.map(|waits_ms| waits_ms - renewed_ms);
    let cut_ms = left_ms.map(|left_ms| (left_ms - timings.request_timeout_ms as f64 - RETRANSMIT_MS) / 2.0);
    // On a network that loses or queues packets, the last renewal may be of any age.
    let network = params.network();
    let prompt = network.loss == 0.0 && network.bandwidth_mbps == 0;
    let some = |ms: Option<f64>| ms.filter(|_| prompt).map(|ms| ms.floor().max(0.0));
    Clearance { waits_ms, renewed_ms, pause_ms: some(left_ms), cut_ms: some(cut_ms) }
}

/// Nanoseconds on the waiting node's clock.
fn waits(params: &Params, protocol: &Protocol) -> Option<u64> {
    let (service, timings) = (protocol.service, params.resolved(protocol));
    if let Some(lease) = protocol.read_lease {
        return Some(lease(&timings).1);
    }
    // Only a service that both sides ask reliably makes others wait, and a session that outlasts pauses ends by other
    // rules.
    let bound = service.elects && !service.outlasts_pauses && service.beside.is_none();
    // If several nodes lead even without faults, nobody waits.
    if !bound || (protocol.promise)(hazard::NONE, false) != Promise::Holds {
        return None;
    }
    let lease = (protocol.granted_ttl)(timings.lease_ttl);
    let lease = service.gives_up.map_or(lease, |connection| connection.safe(lease));
    let lost = match protocol.name {
        // Records have whole seconds: others may count from a renewal that is up to a second old.
        "k8s-lease" if timings.renew_interval < SECOND => SECOND,
        // A node that compares another's wall clock with its own waits less by the skew between them.
        "db-row-node-clock" => 2 * params.clock_skew_ms * MILLISECOND,
        _ => 0,
    };
    Some(lease.saturating_sub(lost).saturating_add(timings.own.lock_delay.unwrap_or(0)))
}

/// The worst that clocks and packets do to a leader that is cut off once. A leader that still believes when the cut
/// ends renews then, so an answer delayed by the cut does no harm.
fn cut_once(plan: &Plan, protocol: &Protocol) -> Conditions {
    let mut plan = plan.clone();
    plan.faults.retain(|fault| !matches!(fault.what, Fault::Partition { .. }));
    Conditions { silent: true, ..belief::conditions(&plan, protocol) }
}

/// How long before anybody else can be elected a leader that cannot renew stops believing, milliseconds; negative: for
/// how long two may believe. `None`: unbounded. Every clock is off by at least `drift_ppm`, in the worst direction.
pub fn belief_ms(plan: &Plan, protocol: &Protocol, drift_ppm: u64) -> Option<f64> {
    let (timings, drawn) = (plan.resolved(protocol), cut_once(plan, protocol));
    let at_least = |ppm: u64| ppm.max(drift_ppm);
    let worst = Conditions {
        slow_ppm: at_least(drawn.slow_ppm),
        fast_ppm: at_least(drawn.fast_ppm),
        service_fast_ppm: at_least(drawn.service_fast_ppm),
        ..drawn
    };
    let overlap = |c: &Conditions| (protocol.belief_overlap)(&timings, c);
    match overlap(&worst)? {
        0 => {}
        over => return Some(-(over as f64 / 1e6)),
    }
    if let Some(lease) = protocol.read_lease {
        let (leader, others) = lease(&timings);
        return Some(worst.fast(others).saturating_sub(worst.slow(leader)) as f64 / 1e6);
    }
    // How much longer the leader could be kept from reading an answer.
    let later = |by: u64| overlap(&Conditions { unread: worst.unread.saturating_add(by), ..worst });
    let clear = |by: u64| later(by * MICROSECOND) == Some(0);
    let (mut low, mut high) = (0, 1_000 * 3_600_000);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if clear(middle) { low = middle } else { high = middle }
    }
    Some(low as f64 / 1e3)
}

/// The largest drift of candidates' clocks, either way, at which two cannot believe at once in this plan, parts per
/// million; `None`: two can even with perfect clocks.
pub fn drift_ppm(plan: &Plan, protocol: &Protocol) -> Option<u64> {
    let (timings, worst) = (plan.resolved(protocol), cut_once(plan, protocol));
    let apart = |ppm| {
        let conditions = Conditions { slow_ppm: ppm, fast_ppm: ppm, service_fast_ppm: ppm, ..worst };
        (protocol.belief_overlap)(&timings, &conditions) == Some(0)
    };
    let (mut low, mut high) = (0, PPM_MAX + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if apart(middle) { low = middle } else { high = middle }
    }
    apart(0).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use protocols::election;

    fn kubernetes() -> (Params, &'static Protocol) {
        (Params { lease_ttl_ms: Some(15_000), ..Params::default() }, election::find("k8s-lease").expect("a protocol"))
    }

    #[test]
    fn client_gos_timers_leave_a_second_after_twelve_and_three_after_a_cut() {
        let (params, protocol) = kubernetes();
        let clear = of(&params, protocol);
        // 15 s less 2 s, less the drift of a poor quartz and three latencies.
        assert!(clear.pause_ms.is_some_and(|ms| (12_990.0..13_000.0).contains(&ms)), "{clear:?}");
        let partition = scenario::find("partition").expect("a scenario");
        let plan = partition.compile(&params, protocol, 1).expect("a plan");
        // The leader stops after a retry period and the renew deadline, 12 s; others wait for 15 s.
        assert!(belief_ms(&plan, protocol, 0).is_some_and(|ms| (2_950.0..3_000.0).contains(&ms)));
        // (1 + d) / (1 − d) = 15 / 12 at d = 1/9.
        assert!(drift_ppm(&plan, protocol).is_some_and(|ppm| (110_000..111_200).contains(&ppm)));
    }

    #[test]
    fn who_counts_from_answers_overlaps_and_who_has_no_bound_says_so() {
        let of = |name: &str| {
            let protocol = election::find(name).expect("a protocol");
            let partition = scenario::find("partition").expect("a scenario");
            belief_ms(&partition.compile(&Params::default(), protocol, 1).expect("a plan"), protocol, 0)
        };
        assert!(of("etcd-election").is_some_and(|ms| (-1_050.0..-1_000.0).contains(&ms)));
        assert!(of("redis-naive").is_none());
        assert!(of("zk-election").is_some_and(|ms| ms > 0.0));
    }
}
