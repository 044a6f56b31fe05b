//! For how long a leader believes, for how long others wait, and for how long two may believe at most.

use crate::{
    election::{
        Conditions, Timings,
        rules::{Manner, Rules},
    },
    types::MILLISECOND,
};

/// The paper's range, nanoseconds.
pub(super) const ELECTION_TIMEOUT: (u64, u64) = (150 * MILLISECOND, 300 * MILLISECOND);

/// For how long others wait at least, nanoseconds: the shortest election timeout.
pub(super) fn shortest(timings: &Timings) -> u64 {
    timings.election_timeout.map_or(timings.lease_ttl, |(min, _)| min)
}

pub(super) fn longest(timings: &Timings) -> u64 {
    timings.election_timeout.map_or(2 * timings.lease_ttl, |(_, max)| max)
}

/// For how long a leader believes since it counts; `None`: until it hears of a higher term.
pub(super) fn belief(timings: &Timings) -> Option<u64> {
    match timings.rules {
        Rules { manner: Manner::Hashicorp, .. } => Some(timings.lease_ttl),
        Rules { leader_lease: true, .. } => Some(timings.lease_ttl.min(shortest(timings) / 10 * 9)),
        Rules { check_quorum: true, .. } => Some(shortest(timings)),
        _ => None,
    }
}

/// A lease counts from sending, the others' promise from when that arrived; who starts again waits it out first. Where one
/// of that does not hold, what is left of the belief.
pub(super) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(belief(timings)?);
    let promised = c.fast(shortest(timings));
    match timings.rules {
        // From answers, which a leader that is stopped may read late; and who starts again promises nothing.
        Rules { manner: Manner::Hashicorp, .. } => {
            let late = c.travel.saturating_add(c.unread);
            let promised = if c.restarts { 0 } else { promised };
            Some(belief.saturating_add(late).saturating_sub(promised))
        }
        Rules { leader_lease: true, check_quorum: true, .. } => Some(belief.saturating_sub(promised)),
        // A leader that nobody has heard yet may be outvoted at once.
        _ => Some(belief),
    }
}
