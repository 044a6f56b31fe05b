//! How far clocks may drift before a leader that answers reads from memory can return a stale value.
//!
//! The leader believes for L on its clock from the moment it *sent* the request that was confirmed last; its successor
//! waits for T on another clock from the moment that request *arrived*. If the leader's clock is slow and the other
//! fast by a share d, and a takeover takes at least m of true time, no read is stale while
//! ```text
//! L / (1 − d)  ≤  T / (1 + d) + m        which is, without m,        (1 + d) / (1 − d)  ≤  T / L
//! ```
//! Source: Ongaro, "Consensus: Bridging Theory and Practice" (2014), §6.4.1, which bounds the drift between servers'
//! clocks for leases; Gray and Cheriton, "Leases" (SOSP 1989), §5, which subtracts the clocks' error from the lease.

use crate::plan::{Network, PPM_MAX, Plan};
use protocols::{
    election::{self, Protocol, raft_core},
    types::{MICROSECOND, MILLISECOND},
};

/// The least duration of a takeover beyond the wait, in one-way latencies: the leader's last request, a vote or grant,
/// a seal and its answer, the successor's first answer to a client, and that client's question to the former leader.
const TRIPS: u64 = 6;
const MILLION: u64 = 1_000_000;

/// The bound and its terms. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// How long the leader believes, on its own clock.
    pub leader: u64,
    /// How long a successor waits, on another clock.
    pub others: u64,
    /// The least duration of a takeover beyond that wait, true time.
    pub takeover: u64,
    /// The largest drift of either clock at which no read can be stale, parts per million; `None`: reads can be stale
    /// even with perfect clocks.
    pub holds_up_to_ppm: Option<u64>,
}

/// The bound of a protocol with these timers on this network; `None` if its belief never expires by itself.
pub fn bound(protocol: &Protocol, timings: &election::Timings, network: &Network) -> Option<Bound> {
    let (leader, others) = (protocol.read_lease?)(timings);
    let takeover = TRIPS.saturating_mul(network.latency_us).saturating_mul(MICROSECOND);
    let holds = |ppm| safe(leader, others, takeover, ppm);
    // The condition only gets harder to meet as clocks get worse.
    let (mut low, mut high) = (0, PPM_MAX + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    Some(Bound { leader, others, takeover, holds_up_to_ppm: holds(0).then_some(low) })
}

/// The bound of a plan whose reads are answered from memory. None for LeaseGuard, which compares wall clocks.
pub fn of_plan(plan: &Plan, protocol: &Protocol) -> Option<Bound> {
    let timings = plan.resolved(protocol);
    bound(protocol, &timings, &plan.network).filter(|_| plan.read_lease && raft_core::guard(&timings).is_none())
}

/// Clocks drift for no longer than this in a run that is not asked to be longer, milliseconds.
const DRIFTS_FOR_MS: u64 = 60_000;

/// Whether wall clocks stay within LeaseGuard's bound, nanoseconds, if they begin this many milliseconds wrong at most,
/// drift by this many parts per million, and nobody sets them.
pub fn guard_holds(clock_bound: u64, skew_ms: u64, drift_ppm: u64) -> bool {
    let drift = u128::from(drift_ppm) * u128::from(DRIFTS_FOR_MS);
    u128::from(skew_ms) * u128::from(MILLISECOND) + drift <= u128::from(clock_bound)
}

impl Bound {
    /// True if no read can be stale while both clocks drift by at most this many parts per million.
    pub fn holds_at(&self, ppm: u64) -> bool {
        self.holds_up_to_ppm.is_some_and(|most| ppm <= most)
    }

    /// The bound in prose, without its subject.
    pub fn words(&self) -> String {
        let ms = |ns: u64| (ns / MICROSECOND) as f64 / 1e3;
        let (leader, others) = (ms(self.leader), ms(self.others));
        let clocks = format!("{leader} ms of the leader's clock against {others} ms of the others'");
        match self.holds_up_to_ppm {
            Some(ppm) => format!("{clocks}; holds up to ±{ppm} ppm"),
            None => format!("{clocks}: too long for any clock"),
        }
    }
}

/// L·(1 + d) ≤ T·(1 − d) + m·(1 − d²), in millionths.
fn safe(leader: u64, others: u64, takeover: u64, ppm: u64) -> bool {
    let [leader, others, takeover] = [leader, others, takeover].map(u128::from);
    let (slow, fast) = (u128::from(MILLION.saturating_sub(ppm)), u128::from(MILLION + ppm));
    leader * fast * u128::from(MILLION) <= others * slow * u128::from(MILLION) + takeover * slow * fast
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_takeovers_time_it_is_the_textbooks_ratio() {
        // (1 + d) / (1 − d) = 150 / 135 at d = 15 / 285.
        let (leader, others) = (135 * MILLISECOND, 150 * MILLISECOND);
        assert!(safe(leader, others, 0, 52_631) && !safe(leader, others, 0, 52_632));
        assert!(safe(others, others, 0, 0) && !safe(others, others, 0, 1));
        assert!(!safe(others, leader, 0, 0));
    }

    #[test]
    fn what_a_takeover_takes_counts_in_true_time() {
        let (lease, takeover) = (3_000 * MILLISECOND, 1_200 * MICROSECOND);
        // d ≈ m / (L + T).
        assert!(safe(lease, lease, takeover, 199) && !safe(lease, lease, takeover, 201));
    }

    #[test]
    fn wall_clocks_stay_within_the_bound_with_their_skew_and_their_drift() {
        // 100 ppm are 6 ms a minute.
        assert!(guard_holds(206 * MILLISECOND, 200, 100) && !guard_holds(206 * MILLISECOND, 200, 101));
        assert!(!guard_holds(206 * MILLISECOND, 201, 100) && guard_holds(0, 0, 0));
    }

    #[test]
    fn the_longest_lease_does_not_overflow() {
        let day = u64::MAX;
        assert!(safe(day, day, day, 0) && !safe(day, day, 0, PPM_MAX));
    }
}
