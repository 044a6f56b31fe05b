//! Predicts the time without a leader from a lease's arithmetic: for a situation, and a candidate lease.
//!
//! Let L be the lease, r the renewal interval, and K the longest time from the end of a lease to a successor. A fault
//! strikes the leader with R left of its lease, R uniform from L − r to L. A crash leaves the fleet dark for R plus the
//! takeover, K/2 on average. A pause shorter than R leaves it dark for the pause; a longer one costs as much as a
//! crash, however soon it ends afterwards. Every change of leader also costs the warm-up.

use protocols::{election::Protocol, types::MILLISECOND};
use scenarios::Params;

/// The parameters of a protocol that decide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lease {
    /// As granted, in milliseconds.
    pub ttl_ms: f64,
    /// The longest time between renewals, in milliseconds.
    pub renew_ms: f64,
    /// The longest time from the lease's end to a successor, in milliseconds.
    pub takeover_ms: f64,
}

/// The expected time without a leader by cause, as shares of time, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Dark {
    /// While a leader is paused, or its lease runs out because of the pause.
    pub pauses: f64,
    pub crashes: f64,
    /// While a new leader warms up.
    pub warm_up: f64,
    /// Changes of leader per day, by pauses and crashes.
    pub changes_a_day: f64,
}

impl Dark {
    /// The total share.
    pub fn share(&self) -> f64 {
        self.pauses + self.crashes + self.warm_up
    }
}

pub(super) const DAY_MS: f64 = 86_400_000.0;

impl Lease {
    /// The lease of `protocol` under `params`.
    pub fn of(params: &Params, protocol: &Protocol) -> Self {
        Lease {
            ttl_ms: params.granted_ttl_ms(protocol) as f64,
            renew_ms: (params.timings(protocol).renew_interval_ms + protocol.service.renewal_tick / MILLISECOND) as f64,
            takeover_ms: params.takeover_max_ms(protocol) as f64,
        }
    }

    /// The least time left of a lease renewed on schedule, in milliseconds. No shorter pause changes the leader.
    pub fn least_left_ms(&self) -> f64 {
        (self.ttl_ms - self.renew_ms).max(0.0)
    }

    /// The probability that a pause of that length changes the leader, 0 to 1.
    pub fn lost(&self, pause_ms: f64) -> f64 {
        ((pause_ms - self.least_left_ms()) / self.renew_ms.max(1.0)).clamp(0.0, 1.0)
    }

    /// The average dark time of a pause, in milliseconds, without the warm-up.
    pub fn paused_ms(&self, pause_ms: f64) -> f64 {
        let lost = self.lost(pause_ms);
        let left = (self.least_left_ms() + pause_ms.min(self.ttl_ms)) / 2.0;
        (1.0 - lost) * pause_ms + lost * (left + self.takeover_ms / 2.0)
    }

    /// The average dark time of a crash, in milliseconds, without the warm-up.
    pub fn crashed_ms(&self) -> f64 {
        self.ttl_ms - self.renew_ms / 2.0 + self.takeover_ms / 2.0
    }
}

/// The expected time without a leader.
pub fn dark(situation: &Situation, lease: &Lease) -> Dark {
    let Situation { pauses_ms, pauses_over_ms, crashes, crashes_over_ms, warm_up_ms, .. } = situation;
    // Folds from 0.0: an empty sum of floats is −0.
    let sum = |of: &dyn Fn(f64) -> f64| pauses_ms.iter().fold(0.0, |sum, pause_ms| sum + of(*pause_ms));
    let (lost, paused_ms) = (sum(&|pause_ms| lease.lost(pause_ms)), sum(&|pause_ms| lease.paused_ms(pause_ms)));
    let crash_rate = *crashes as f64 / crashes_over_ms;
    Dark {
        pauses: paused_ms / pauses_over_ms,
        crashes: crash_rate * lease.crashed_ms(),
        warm_up: warm_up_ms * (lost / pauses_over_ms + crash_rate),
        changes_a_day: (lost / pauses_over_ms + crash_rate) * DAY_MS,
    }
}

// A candidate lease.

/// One lease of one protocol, and its predicted result.
#[derive(Clone, Debug)]
pub struct Choice {
    pub protocol: &'static Protocol,
    /// The protocol's options, the lease time to live among them.
    pub params: Params,
    /// The lease that the service grants, in milliseconds.
    pub granted_ms: u64,
    /// Between renewals, in milliseconds.
    pub renew_ms: u64,
    pub dark: Dark,
    /// The confidence that the target is met, 0 to 1.
    pub confidence: f64,
}

// The input to a recommendation.

/// The pauses, crashes and target of a service.
#[derive(Clone, PartialEq, Debug)]
pub struct Situation {
    /// Observed pauses of the leader, in milliseconds, ascending.
    pub pauses_ms: Vec<f64>,
    /// The time over which they were observed, in milliseconds.
    pub pauses_over_ms: f64,
    /// How many leaders crashed.
    pub crashes: u64,
    /// The time over which they crashed, in milliseconds.
    pub crashes_over_ms: f64,
    /// How long a new leader needs to warm up (caches, queues, connections), in milliseconds.
    pub warm_up_ms: f64,
    /// The share of time that may pass without a leader, 0 to 1.
    pub may_be_dark: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Lease = Lease { ttl_ms: 3_000.0, renew_ms: 1_000.0, takeover_ms: 500.0 };

    #[test]
    fn a_pause_changes_the_leader_from_the_least_that_is_left_on() {
        let lost: Vec<f64> = [1_999.0, 2_000.0, 2_500.0, 3_000.0, 60_000.0].map(|ms| LEASE.lost(ms)).into();
        assert_eq!(lost, [0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(LEASE.paused_ms(1_500.0), 1_500.0);
        // Half the pauses keep the lease and are dark themselves; the others lose 2.25 s on average, plus the takeover.
        assert_eq!(LEASE.paused_ms(2_500.0), (2_500.0 + 2_250.0 + 250.0) / 2.0);
        assert_eq!(LEASE.paused_ms(60_000.0), LEASE.crashed_ms());
        assert_eq!(LEASE.crashed_ms(), 2_750.0);
    }

    #[test]
    fn a_share_is_made_of_its_parts() {
        let situation = Situation {
            pauses_ms: vec![100.0, 60_000.0],
            pauses_over_ms: DAY_MS,
            crashes: 3,
            crashes_over_ms: 30.0 * DAY_MS,
            warm_up_ms: 2_000.0,
            may_be_dark: 0.001,
        };
        let dark = dark(&situation, &LEASE);
        assert!((dark.pauses * DAY_MS - 2_850.0).abs() < 1e-6);
        assert!((dark.crashes * DAY_MS - 275.0).abs() < 1e-6);
        assert!((dark.warm_up * DAY_MS - 2_200.0).abs() < 1e-6);
        // One of the two pauses, and a tenth of a crash.
        assert!((dark.changes_a_day - 1.1).abs() < 1e-9);
    }
}
