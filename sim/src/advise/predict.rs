//! How long nobody leads, from a lease's arithmetic.
//!
//! With L the lease, r the time from one renewal to the next, and K the longest until a successor stands once a lease is over:
//! whatever strikes the leader finds R left of its lease, R anywhere from L − r to L. A crash leaves the fleet dark for R and
//! the takeover, K/2 on average. A pause that is shorter than R leaves it dark for itself; a longer one is a crash to the
//! fleet, however soon it ends after that. Every change of leader costs the warm-up besides.

use super::situation::Situation;
use protocols::{election::Protocol, types::MILLISECOND};
use scenarios::Params;

/// What of a protocol and its options decides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lease {
    /// As granted, milliseconds.
    pub ttl_ms: f64,
    /// From one renewal to the next at most, milliseconds.
    pub renew_ms: f64,
    /// The longest from its end to a successor, milliseconds.
    pub takeover_ms: f64,
}

/// How long nobody is expected to lead, and why; shares of time, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Dark {
    /// While a leader is paused, or its lease runs out because of that.
    pub pauses: f64,
    /// After crashes.
    pub crashes: f64,
    /// While a new leader is of no use yet.
    pub warm_up: f64,
    /// Changes of leadership, by pauses and crashes, a day.
    pub changes_a_day: f64,
}

impl Dark {
    /// All of it.
    pub fn share(&self) -> f64 {
        self.pauses + self.crashes + self.warm_up
    }
}

/// Milliseconds of a day.
pub(super) const DAY_MS: f64 = 86_400_000.0;

impl Lease {
    /// The protocol's, with these options.
    pub fn of(params: &Params, protocol: &Protocol) -> Self {
        Lease {
            ttl_ms: params.granted_ttl_ms(protocol) as f64,
            renew_ms: (params.timings(protocol).renew_interval_ms + protocol.service.renewal_tick / MILLISECOND) as f64,
            takeover_ms: params.takeover_max_ms(protocol) as f64,
        }
    }

    /// The least that can be left of it while it is renewed in time, milliseconds. No shorter pause changes the leader.
    pub fn least_left_ms(&self) -> f64 {
        (self.ttl_ms - self.renew_ms).max(0.0)
    }

    /// How likely a pause of that length changes the leader, 0 to 1.
    pub fn lost(&self, pause_ms: f64) -> f64 {
        ((pause_ms - self.least_left_ms()) / self.renew_ms.max(1.0)).clamp(0.0, 1.0)
    }

    /// For how long a pause leaves the fleet dark on average, milliseconds, without the warm-up.
    pub fn paused_ms(&self, pause_ms: f64) -> f64 {
        let lost = self.lost(pause_ms);
        let left = (self.least_left_ms() + pause_ms.min(self.ttl_ms)) / 2.0;
        (1.0 - lost) * pause_ms + lost * (left + self.takeover_ms / 2.0)
    }

    /// The same of a crash.
    pub fn crashed_ms(&self) -> f64 {
        self.ttl_ms - self.renew_ms / 2.0 + self.takeover_ms / 2.0
    }
}

/// How long nobody is expected to lead.
pub fn dark(situation: &Situation, lease: &Lease) -> Dark {
    let Situation { pauses_ms, pauses_over_ms, crashes, crashes_over_ms, warm_up_ms, .. } = situation;
    // From 0.0 on: an empty sum of floats is −0.
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

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Lease = Lease { ttl_ms: 3_000.0, renew_ms: 1_000.0, takeover_ms: 500.0 };

    #[test]
    fn a_pause_changes_the_leader_from_the_least_that_is_left_on() {
        let lost: Vec<f64> = [1_999.0, 2_000.0, 2_500.0, 3_000.0, 60_000.0].map(|ms| LEASE.lost(ms)).into();
        assert_eq!(lost, [0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(LEASE.paused_ms(1_500.0), 1_500.0);
        // Half of them keep the lease and are dark for themselves; in the others 2.25 s were left on average, and the takeover.
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
        // One pause of the two, and a tenth of a crash.
        assert!((dark.changes_a_day - 1.1).abs() < 1e-9);
    }
}
