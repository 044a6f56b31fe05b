//! How long a candidate stays away that the resource refuses again and again.
//!
//! A leader that the resource refuses was replaced, and stands again at once: its next token is the highest. Unless the
//! service has lost its data: then every token that it hands out is below what the resource has seen, and candidates would
//! be elected and refused dozens of times a second.

use crate::types::{MILLISECOND, SECOND};

/// After the second refusal in a row; doubled with each further one, nanoseconds.
const SHORTEST: u64 = 500 * MILLISECOND;
/// At most, nanoseconds: how long it may take until it is noticed that the service is well again.
pub const LONGEST: u64 = 16 * SECOND;

/// Counts refusals between which no leadership was ever confirmed. No draw: candidates keep the phases that they have.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BackOff {
    refusals: u32,
}

impl BackOff {
    /// The resource has refused this candidate's leadership: how long it is to stay away, nanoseconds.
    pub fn refused(&mut self) -> u64 {
        self.refusals = self.refusals.saturating_add(1);
        match self.refusals {
            0 | 1 => 0,
            many => (SHORTEST << (many - 2).min(16)).min(LONGEST),
        }
    }

    /// The service has confirmed a leadership that the resource did not refuse before.
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
