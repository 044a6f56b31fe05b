//! How long a leader believes, how long others wait, and for how long two may believe at most.

use crate::{
    election::{
        Conditions, Timings,
        rules::{Manner, Rules},
    },
    types::MILLISECOND,
};

/// The paper's range, nanoseconds.
pub(super) const ELECTION_TIMEOUT: (u64, u64) = (150 * MILLISECOND, 300 * MILLISECOND);

/// How long others wait at least, nanoseconds: the shortest election timeout.
pub(super) fn shortest(timings: &Timings) -> u64 {
    timings.election_timeout.map_or(timings.lease_ttl, |(min, _)| min)
}

pub(super) fn longest(timings: &Timings) -> u64 {
    timings.election_timeout.map_or(2 * timings.lease_ttl, |(_, max)| max)
}

/// How long a leader believes from the moment it counts from; `None`: until it hears of a higher term.
pub(super) fn belief(timings: &Timings) -> Option<u64> {
    match timings.rules {
        Rules { manner: Manner::Hashicorp, .. } => Some(timings.lease_ttl),
        Rules { leader_lease: true, .. } => Some(timings.lease_ttl.min(shortest(timings) / 10 * 9)),
        Rules { check_quorum: true, .. } => Some(shortest(timings)),
        _ => None,
    }
}

/// A lease counts from sending, the others' promise from the arrival; a restarted server first waits it out. Where one
/// of these does not hold, the rest of the belief.
pub(super) fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let belief = c.slow(belief(timings)?);
    let promised = c.fast(shortest(timings));
    match timings.rules {
        // Counts from answers, which a paused leader may read late; and a restarted server promises nothing.
        Rules { manner: Manner::Hashicorp, .. } => {
            let late = c.travel.saturating_add(c.unread);
            let promised = if c.restarts { 0 } else { promised };
            Some(belief.saturating_add(late).saturating_sub(promised))
        }
        Rules { leader_lease: true, check_quorum: true, .. } => Some(belief.saturating_sub(promised)),
        // A leader that no server has heard yet may be outvoted at once.
        _ => Some(belief),
    }
}
