//! The confidence that so few observed pauses and crashes allow.
//!
//! The Poisson bootstrap (Efron, "Bootstrap Methods", 1979): each of [`REPLICATES`] alternative pasts has every
//! observed pause zero or more times (Poisson, mean 1), and a crash rate drawn from the posterior of the observed count
//! (Gamma with Jeffreys' prior, k + ½). The confidence is the share of pasts that meet the target. Pauses longer than
//! the longest observed one never occur here: see [`unseen`].

use super::predict::{Lease, Situation};
use rand_core::RngCore;
use scenarios::streams;

/// The number of alternative pasts.
pub const REPLICATES: u32 = 1_000;
/// Pauses below this fraction of what changes a leader are many and alike: their sum is not resampled.
const SMALL: f64 = 0.1;

/// The share of alternative pasts in which the target is met, 0 to 1.
pub fn of(situation: &Situation, lease: &Lease) -> f64 {
    let Situation { pauses_ms, pauses_over_ms, crashes, crashes_over_ms, warm_up_ms, may_be_dark } = situation;
    let cost_ms = |pause_ms: f64| lease.paused_ms(pause_ms) + lease.lost(pause_ms) * warm_up_ms;
    let from = pauses_ms.partition_point(|pause_ms| *pause_ms < SMALL * lease.least_left_ms());
    let (small, large) = pauses_ms.split_at(from);
    let small_ms: f64 = small.iter().copied().map(cost_ms).sum();
    let large_ms: Vec<f64> = large.iter().copied().map(cost_ms).collect();
    let crash_ms = lease.crashed_ms() + warm_up_ms;
    // All leases use the same pasts, so that only the lease differs.
    let mut random = Random(streams::stream(0, "other pasts"));
    let met = (0..REPLICATES).filter(|_| {
        let crashed = random.gamma_and_a_half(*crashes) / crashes_over_ms * crash_ms;
        let paused_ms: f64 = small_ms + large_ms.iter().map(|ms| random.poisson_of_one() * ms).sum::<f64>();
        crashed + paused_ms / pauses_over_ms <= *may_be_dark
    });
    met.count() as f64 / f64::from(REPLICATES)
}

/// With 95 % confidence, no larger share of all pauses, 0 to 1, exceeds the longest of the observed ones (the rule of
/// three; Hanley and Lippman-Hand, JAMA 1983).
pub fn unseen(pauses: usize) -> f64 {
    (3.0 / pauses.max(1) as f64).min(1.0)
}

/// The 90 % confidence interval of the mean of a Poisson count.
pub fn interval(seen: u64) -> (f64, f64) {
    reports::statistics::poisson_interval(seen, 0.9)
}

struct Random<R>(R);

impl<R: RngCore> Random<R> {
    /// In (0, 1], from 53 bits.
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A draw from Poisson with mean 1 (Knuth's product of uniforms).
    fn poisson_of_one(&mut self) -> f64 {
        let (mut product, mut times) = (self.unit(), 0.0);
        while product > (-1.0f64).exp() {
            product *= self.unit();
            times += 1.0;
        }
        times
    }

    /// A draw from Gamma with shape `whole` + ½ and scale 1: exponentials plus half a squared normal (Box and Muller).
    fn gamma_and_a_half(&mut self, whole: u64) -> f64 {
        let exponentials: f64 = (0..whole).map(|_| -self.unit().ln()).sum();
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), std::f64::consts::TAU * self.unit());
        exponentials + (radius * angle.cos()).powi(2) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::predict::DAY_MS;

    const LEASE: Lease = Lease { ttl_ms: 3_000.0, renew_ms: 1_000.0, takeover_ms: 500.0 };

    fn situation(crashes: u64, may_be_dark: f64) -> Situation {
        Situation {
            pauses_ms: vec![2_500.0; 100],
            pauses_over_ms: 10.0 * DAY_MS,
            crashes,
            crashes_over_ms: 10.0 * DAY_MS,
            warm_up_ms: 0.0,
            may_be_dark,
        }
    }

    #[test]
    fn a_target_right_at_the_mean_is_met_in_about_half_of_all_pasts() {
        for crashes in [0, 4, 100] {
            let expected = super::super::predict::dark(&situation(crashes, 0.0), &LEASE).share();
            let at = |factor: f64| of(&situation(crashes, factor * expected), &LEASE);
            assert!((0.4..0.6).contains(&at(1.0)), "{crashes}: {}", at(1.0));
            assert!(at(1.5) > 0.98 && at(0.6) < 0.02, "{crashes}: {} and {}", at(1.5), at(0.6));
            assert_eq!(at(1.1), at(1.1));
        }
    }

    #[test]
    fn drawn_numbers_have_their_means() {
        let mut random = Random(streams::stream(7, "test"));
        let mean = |draws: Vec<f64>| draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean((0..20_000).map(|_| random.poisson_of_one()).collect()) - 1.0).abs() < 0.03);
        assert!((mean((0..20_000).map(|_| random.gamma_and_a_half(3)).collect()) - 3.5).abs() < 0.06);
    }

    #[test]
    fn few_that_were_seen_may_be_many() {
        // Tables of exact Poisson limits: 0 gives 0 to 3.00, 1 gives 0.0513 to 4.74, 10 gives 5.43 to 16.96.
        for (seen, least, most) in [(0, 0.0, 2.996), (1, 0.0513, 4.744), (10, 5.425, 16.962)] {
            let (low, high) = interval(seen);
            assert!((low - least).abs() < 0.001 && (high - most).abs() < 0.001, "{seen}: {low} to {high}");
        }
    }

    #[test]
    fn fewer_pauses_leave_more_unseen() {
        assert_eq!([unseen(1), unseen(300), unseen(0)], [1.0, 0.01, 1.0]);
    }
}
