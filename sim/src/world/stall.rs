//! Detects a run whose virtual time stands still, and ends it as a failure of the harness.
//!
//! Counts events instead of wall time, so that a plan ends at the same event on every machine.

use protocols::types::{MILLISECOND, SECOND};

/// The most events, and task steps, within a millisecond of virtual time. The busiest valid plans (50,000 requests per
/// second through hundreds of processes) need some ten thousand.
pub const EVENTS_MAX: u64 = 2_000_000;

/// Counts events while virtual time stands still.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stall {
    since: u64,
    events: u64,
}

impl Stall {
    /// Counts an event at time `now` in nanoseconds.
    ///
    /// # Panics
    /// [`EVENTS_MAX`] events have happened within a millisecond. The panic is reported with the plan.
    #[inline]
    pub fn event(&mut self, now: u64) {
        if now >= self.since + MILLISECOND {
            *self = Stall { since: now, events: 0 };
        }
        self.events += 1;
        if self.events > EVENTS_MAX {
            stands_still(now);
        }
    }
}

#[cold]
fn stands_still(now: u64) {
    let s = now as f64 / SECOND as f64;
    panic!("virtual time stands still at {s:.6} s: {EVENTS_MAX} events within a millisecond");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_run_goes_on() {
        let mut stall = Stall::default();
        for n in 0..3 * EVENTS_MAX {
            stall.event(n * MILLISECOND / 100_000);
        }
    }

    #[test]
    #[should_panic(expected = "virtual time stands still at 7.000000 s")]
    fn one_that_goes_round_at_one_instant_ends() {
        let mut stall = Stall::default();
        loop {
            stall.event(7 * SECOND);
        }
    }

    #[test]
    #[should_panic(expected = "virtual time stands still")]
    fn so_does_one_that_creeps() {
        let mut stall = Stall::default();
        for n in 0..u64::MAX {
            stall.event(n / 100);
        }
    }
}
