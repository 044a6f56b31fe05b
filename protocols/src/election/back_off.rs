//! The intervals between attempts: the pace of polling, and the back-off of a candidate that the resource keeps
//! refusing.
//!
//! A leader refused by the resource has been replaced, and campaigns again at once: its next token is the highest. If
//! the service has lost its data, however, all its new tokens are lower than the resource's, and candidates would be
//! elected and refused dozens of times a second.

use crate::{
    bug::{Bug, Bugs, Shown},
    random::Random,
    types::{MILLISECOND, SECOND},
};

/// A loop with a fixed sleep.
pub const IN_STEP: Bug = Bug {
    id: "polls-in-step",
    protocols: &[
        "redis-naive",
        "redis-lease",
        "redis-fenced",
        "redis-sentinel",
        "k8s-lease",
        "object-lease",
        "db-row",
        "db-row-node-clock",
    ],
    what: "Candidates poll after exactly one interval: those that once ask at the same moment do so from then on.",
    source: "derived; Brooker, Exponential Backoff and Jitter (AWS Architecture Blog, 2015)",
    violation: "metrics.requests_to_service_in_ten_ms_max",
    // With 24 candidates, jitter alone brings up to 14 of their requests together.
    shown: Shown::by("outage-recovery", "db-row", 4).with("--groups 8").above(20),
};

/// Nanoseconds until the next poll, drawn from the given range so that candidates do not stay in step.
pub(super) fn paced(bugs: &Bugs, interval: u64, (shortest, longest): (u64, u64), random: &mut Random) -> u64 {
    if bugs.has(&IN_STEP) {
        return interval;
    }
    shortest + random.next_u64() % (longest.saturating_sub(shortest) + 1)
}

/// The back-off after the second refusal in a row; it doubles with each further one. Nanoseconds.
const SHORTEST: u64 = 500 * MILLISECOND;
/// The longest back-off, nanoseconds: how long a recovered service may go unnoticed.
pub const LONGEST: u64 = 16 * SECOND;

/// Counts refusals in a row, without a confirmed leadership in between. Draws nothing, so candidates keep their phases.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BackOff {
    refusals: u32,
}

impl BackOff {
    /// Records that the resource has refused this candidate's leadership; returns how long it must stay away,
    /// nanoseconds.
    pub fn refused(&mut self) -> u64 {
        self.refusals = self.refusals.saturating_add(1);
        match self.refusals {
            0 | 1 => 0,
            many => (SHORTEST << (many - 2).min(16)).min(LONGEST),
        }
    }

    /// Records that the service has confirmed a leadership that the resource had not refused.
    pub fn confirmed(&mut self) {
        self.refusals = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refusal_costs_nothing_and_the_others_double() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..9).map(|_| back_off.refused() / MILLISECOND).collect();
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
        back_off.confirmed();
        assert_eq!(back_off.refused(), 0);
        assert_eq!((0..100).map(|_| back_off.refused()).max(), Some(LONGEST));
    }
}
