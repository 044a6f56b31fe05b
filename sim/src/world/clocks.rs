//! A node's clocks, derived from true time. Both run at the node's own rate; the wall clock is offset and may step.

use protocols::{clock::Now, types::MILLISECOND};

/// The value of every wall clock at true time 0: 2026-01-01T00:00:00Z, in nanoseconds since the Unix epoch.
pub const WALL_START: u64 = 1_767_225_600_000 * MILLISECOND;

/// The spacing of the nodes' initial monotonic clocks, so that no two nodes' readings can be mistaken for each other's.
const MONO_START: u64 = 1_000_000 * MILLISECOND;

#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The true time of the last change of rate, and the monotonic clock at that time.
    true_base: u64,
    mono_base: u64,
    ppm: i64,
    /// Wall clock minus monotonic clock, in nanoseconds.
    wall_minus_mono: i64,
}

impl Clocks {
    /// The clocks of the node at `index`.
    pub fn new(index: usize, wall_offset_ms: i64, ppm: i64) -> Self {
        let mono_base = MONO_START * (index as u64 + 1);
        let wall_minus_mono = WALL_START as i64 - mono_base as i64 + wall_offset_ms * MILLISECOND as i64;
        Clocks { true_base: 0, mono_base, ppm, wall_minus_mono }
    }

    /// The clocks at true time `t`.
    #[inline]
    pub fn at(&self, t: u64) -> Now {
        let mono = self.mono(t);
        Now { mono, wall: (mono as i64 + self.wall_minus_mono).max(0) as u64 }
    }

    /// The monotonic clock at true time `t`.
    #[inline]
    pub fn mono(&self, t: u64) -> u64 {
        let elapsed = t - self.true_base;
        if self.ppm == 0 {
            return self.mono_base + elapsed;
        }
        self.mono_base + elapsed.saturating_add_signed(scale(elapsed, self.ppm))
    }

    /// The first true time at which the monotonic clock shows at least `mono`.
    #[inline]
    pub fn true_time(&self, mono: u64) -> u64 {
        let ahead = mono.saturating_sub(self.mono_base);
        if self.ppm == 0 {
            return self.true_base.saturating_add(ahead);
        }
        // `mono` rounds down, so this rounds up, to be its exact inverse.
        let rate = (1_000_000 + self.ppm).max(1) as u128;
        let elapsed = (u128::from(ahead) * 1_000_000).div_ceil(rate);
        self.true_base.saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX / 2))
    }

    /// The first true time at which the wall clock shows at least `wall`, unless it is stepped before.
    pub fn true_time_of_wall(&self, wall: u64) -> u64 {
        self.true_time(u64::try_from(wall as i64 - self.wall_minus_mono).unwrap_or(0))
    }

    /// Changes the rate of both clocks from true time `t` on.
    pub fn set_rate(&mut self, t: u64, ppm: i64) {
        self.mono_base = self.mono(t);
        self.true_base = t;
        self.ppm = ppm;
    }

    /// How much faster than true time the clocks run, in parts per million.
    pub fn rate(&self) -> i64 {
        self.ppm
    }

    /// Wall clock minus true time at true time `t`, in nanoseconds.
    pub fn wall_offset(&self, t: u64) -> i64 {
        self.mono(t) as i64 + self.wall_minus_mono - (WALL_START + t) as i64
    }

    /// Steps the wall clock.
    pub fn step(&mut self, by_ms: i64) {
        self.wall_minus_mono += by_ms * MILLISECOND as i64;
    }
}

/// `elapsed` × ppm / 10⁶, rounded down, without overflow for centuries.
#[inline]
fn scale(elapsed: u64, ppm: i64) -> i64 {
    const MILLION: i64 = 1_000_000;
    let elapsed = elapsed as i64;
    elapsed / MILLION * ppm + (elapsed % MILLION * ppm).div_euclid(MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fast_clock_fires_early() {
        let clocks = Clocks::new(0, 0, 100_000);
        let due = clocks.mono(0) + 1_100_000_000;
        assert_eq!(clocks.true_time(due), 1_000_000_000);
    }

    #[test]
    fn a_step_moves_only_the_wall_clock() {
        let mut clocks = Clocks::new(0, 200, 0);
        let before = clocks.at(5);
        clocks.step(-1_000);
        let after = clocks.at(5);
        assert_eq!(before.mono, after.mono);
        assert_eq!(before.wall - after.wall, 1_000_000_000);
    }

    proptest! {
        #[test]
        fn a_timer_never_fires_before_its_time(
            ppm in -500_000i64..500_000, change in -500_000i64..500_000, at in 0u64..1 << 45, ahead in 0u64..1 << 45,
        ) {
            let mut clocks = Clocks::new(3, 0, ppm);
            let before = clocks.mono(at);
            clocks.set_rate(at, change);
            prop_assert_eq!(clocks.mono(at), before);
            let due = before + ahead;
            let t = clocks.true_time(due);
            prop_assert!(clocks.mono(t) >= due);
            prop_assert!(t == at || clocks.mono(t - 1) < due);
        }
    }
}
