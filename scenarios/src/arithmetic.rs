//! Proofs by arithmetic alone that no run can be unsafe, for the scenarios about a lease and what uses it up.
//!
//! - `read-lease`: the inequality of [`crate::read_lease`], between two clocks.
//! - `gc-pause`, whatever the store checks: nobody is elected while the sleeper's last lease is alive. T is the
//!   shortest wait of any node that can replace it, on a clock that runs fast by d; φ is the latest phase after a
//!   renewal at which the pause begins; l and L are the shortest and the longest one-way latency:
//! ```text
//!  pause + φ + 2·L  ≤  T / (1 + d) + 2·l
//! ```
//!   One L lies between the renewal's arrival and the leader's receipt of the answer, the other before the sleeper's
//!   write. A successor's write travels at least twice, as a grant and as a write.

use crate::{
    params::Params,
    read_lease,
    scenario::{Scenario, gc_pause, read_lease as reads},
};
use protocols::{election::Protocol, types::MICROSECOND};

const MILLION: u128 = 1_000_000;

/// The verdict of such arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Says {
    /// The only invariant it covers; `None` covers all of them.
    pub invariant: Option<&'static str>,
    /// True if no run with these parameters can violate it.
    pub safe: bool,
}

/// The arithmetic's verdict on a scenario, a protocol and parameters; `None` if no arithmetic covers them.
pub fn says(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Option<Says> {
    if scenario.name == reads::SCENARIO.name {
        let bound = read_lease::bound(protocol, &params.resolved(protocol), &params.network());
        let from_memory = params.read_lease != Some(false);
        let safe = bound?.holds_at(params.clock_drift_ppm);
        return Some(Says { invariant: Some("no_stale_read"), safe }).filter(|_| from_memory);
    }
    if scenario.name == gc_pause::SCENARIO.name {
        return Some(Says { invariant: None, safe: wakes_in_time(protocol, params)? });
    }
    None
}

/// True if the sleeper of `gc-pause` writes before any successor can have written.
fn wakes_in_time(protocol: &Protocol, params: &Params) -> Option<bool> {
    if protocol.service.outlasts_pauses {
        return None;
    }
    let (_, others) = (protocol.read_lease?)(&params.resolved(protocol));
    let pause_ms = params.pause_ms.unwrap_or_else(|| gc_pause::default_pause_ms(params, protocol));
    let network = params.network();
    let us = |us: u64| u128::from(us) * u128::from(MICROSECOND);
    let asleep =
        us((gc_pause::pauses_by_ms(params, protocol) * 1e3).ceil() as u64) + us(pause_ms.saturating_mul(1_000));
    let needs = asleep + 2 * us(network.one_way_max_us());
    let waits = u128::from(others) * MILLION / (MILLION + u128::from(params.clock_drift_ppm));
    Some(needs <= waits + 2 * us(network.latency_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use protocols::election;

    fn safe(scenario: &str, protocol: &str, params: &Params) -> Option<bool> {
        let scenario = scenario::find(scenario).expect("a scenario");
        says(scenario, election::find(protocol).expect("a protocol"), params).map(|says| says.safe)
    }

    #[test]
    fn a_sleeper_that_wakes_within_its_lease_is_safe() {
        // etcd renews every second of three; the pause begins at most 950 ms after a renewal.
        let paused = |ms| safe("gc-pause", "etcd-election", &Params { pause_ms: Some(ms), ..Params::default() });
        assert_eq!((paused(2_000), paused(2_100)), (Some(true), Some(false)));
        // The default pause outlasts the lease.
        assert_eq!(safe("gc-pause", "redis-fenced", &Params::default()), Some(false));
    }

    #[test]
    fn what_has_no_lease_of_its_own_has_no_arithmetic() {
        for protocol in ["bully", "redis-naive", "pg-advisory"] {
            assert_eq!(safe("gc-pause", protocol, &Params::default()), None, "{protocol}");
        }
        assert_eq!(safe("steady", "redis-fenced", &Params::default()), None);
    }

    #[test]
    fn reads_are_bounded_by_drift_and_only_from_memory() {
        let drifting = |ppm| Params { clock_drift_ppm: ppm, ..Params::default() };
        assert_eq!(safe("read-lease", "redis-fenced", &drifting(199)), Some(true));
        assert_eq!(safe("read-lease", "redis-fenced", &drifting(201)), Some(false));
        let from_store = Params { read_lease: Some(false), ..drifting(0) };
        assert_eq!(safe("read-lease", "redis-fenced", &from_store), None);
    }
}
