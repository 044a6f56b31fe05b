//! The object, its token, and client-go's durations.

use crate::{election::Timings, types::SECOND};

/// The name of the Lease that a group's candidates compete for.
pub fn name_of(group: u16) -> String {
    match group {
        0 => "fencepost-leader".to_owned(),
        group => format!("fencepost-leader-{group}"),
    }
}

/// The token for a record.
pub const fn token(transitions: u32) -> u64 {
    transitions as u64 + 1
}

/// The record holds whole seconds, and the API server refuses 0.
pub(super) fn granted(ttl: u64) -> u64 {
    (ttl / SECOND).max(1) * SECOND
}

/// How long a leader tries to renew before it stops.
pub(super) fn renew_deadline(timings: &Timings) -> u64 {
    timings.own.renew_deadline.unwrap_or(granted(timings.lease_ttl) / 15 * 10)
}

/// The settings that client-go refuses (`NewLeaderElector`), except for a deadline as long as the lease, which other
/// clients have.
pub(super) fn refuses(timings: &Timings) -> Option<String> {
    let (lease, deadline) = (granted(timings.lease_ttl), renew_deadline(timings));
    if deadline > lease {
        return Some("the renew deadline is longer than the lease".to_owned());
    }
    let attempts = deadline <= timings.renew_interval * 12 / 10;
    attempts.then(|| "the renew deadline is not longer than 1.2 times the retry period".to_owned())
}

/// The timeout of a request (`NewFromKubeconfig`).
pub(super) fn request_timeout(timings: &Timings) -> u64 {
    (renew_deadline(timings) / 2).max(SECOND)
}
