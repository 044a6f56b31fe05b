//! What `--set raft-core.NAME=VALUE` sets: and how long a leader believes, how long others wait, and for how long two may
//! believe at most.

use crate::{
    election::{
        Conditions, Timer, Timings,
        rules::{Manner, Rules},
    },
    parameter::{Parameter, Place, Takes},
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

/// See [`crate::election::Protocol::takeover_max`].
pub(super) fn takeover_max(timings: &Timings) -> u64 {
    // A follower that has voted for a loser waits once more.
    let elected = 3 * longest(timings) + 50 * MILLISECOND;
    // Under LeaseGuard an earlier lease is waited out. Two clocks may be wrong in opposite directions, and each node
    // allows for that.
    let deferred = guard(timings).map_or(0, |(lease, bound)| lease.saturating_add(bound.saturating_mul(4)));
    elected.max(deferred).saturating_sub(timings.lease_ttl)
}

/// LeaseGuard's lease and the bound of clocks' errors, nanoseconds, if it is on.
pub fn guard(timings: &Timings) -> Option<(u64, u64)> {
    let values = &timings.own.values;
    Some((values.duration(&LEASE_GUARD)?, values.duration(&CLOCK_BOUND).unwrap_or(CLOCK_BOUND_USUAL)))
}

/// Whether the bound of clocks' errors was given.
pub fn bounds_clocks(timings: &Timings) -> bool {
    timings.own.values.get(&CLOCK_BOUND).is_some()
}

pub(super) const ALL: [Parameter; 7] =
    [PRESET, PRE_VOTE, CHECK_QUORUM, LEADER_LEASE, ENTRY_INTERVAL, LEASE_GUARD, CLOCK_BOUND];

const PRESET: Parameter = Parameter {
    name: "preset",
    takes: Takes::Word(&["hashicorp"]),
    usual: "none",
    about: "Timers of an implementation: hashicorp has hashicorp/raft's defaults",
    place: Place::Rules(|rules, _| rules.manner = Manner::Hashicorp),
};

const PRE_VOTE: Parameter = Parameter {
    name: "pre-vote",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a candidate first asks if it could win",
    place: Place::Rules(|rules, on| rules.pre_vote = on > 0),
};

const CHECK_QUORUM: Parameter = Parameter {
    name: "check-quorum",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a leader without a majority steps down, and a node that hears from a leader withholds its vote",
    place: Place::Rules(|rules, on| rules.check_quorum = on > 0),
};

const LEADER_LEASE: Parameter = Parameter {
    name: "leader-lease",
    takes: Takes::OnOff,
    usual: "on",
    about: "Whether a leader acts only until the lease from its last acknowledged heartbeat expires",
    place: Place::Rules(|rules, on| rules.leader_lease = on > 0),
};

const ENTRY_INTERVAL: Parameter = Parameter {
    name: "entry-interval",
    takes: Takes::Duration { least_ms: 1 },
    usual: "no entries",
    about: "Time from one log entry of the leader to the next, as if its clients wrote",
    place: Place::Timer(Timer::EntryInterval),
};

const LEASE_GUARD: Parameter = Parameter {
    name: "lease-guard",
    takes: Takes::Duration { least_ms: 1 },
    usual: "off",
    about: "Lease of a committed log entry, by LeaseGuard; needs --copies majority",
    place: Place::Values,
};

/// As wrong as the clocks of a plan are by default, nanoseconds: ±200 ms at the start, and drift.
const CLOCK_BOUND_USUAL: u64 = 250 * MILLISECOND;

const CLOCK_BOUND: Parameter = Parameter {
    name: "clock-bound",
    takes: Takes::Duration { least_ms: 0 },
    usual: "250 ms",
    about: "How far wall clocks may be from true time, as LeaseGuard assumes",
    place: Place::Values,
};
