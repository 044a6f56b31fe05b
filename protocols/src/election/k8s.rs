//! `k8s-lease`: the leader election of client-go, over a Lease object of Kubernetes.
//!
//! **Where it comes from.** kubernetes/client-go, `tools/leaderelection/leaderelection.go` (`acquire`, `renew`,
//! `release`, `tryAcquireOrRenew`, `isLeaseValid`), `tools/leaderelection/resourcelock/leaselock.go` and `interface.go`
//! (`NewFromKubeconfig`: a request may take max(1 s, renewDeadline/2)), and kubernetes/apimachinery, `pkg/util/wait`
//! (`JitterUntil`, `PollImmediateUntil`). Core components use leaseDuration 15 s, renewDeadline 10 s and retryPeriod 2
//! s; other leases here keep these proportions. The API server only compares resourceVersions: the candidates
//! themselves decide whose lease it is and whether it has expired.
//!
//! **What it assumes about time.** Nobody reads another node's clock. A candidate takes the lease once it has not seen
//! the record *change* for the duration in the record, by its own monotonic clock. A leader renews every retryPeriod,
//! and stops when it has failed to for renewDeadline. So two may believe unless the clocks' *rates* differ by less than
//! leaseDuration : retryPeriod + renewDeadline. That is 15 : 12, not the 15 : 10 that the package's documentation
//! promises, since a round begins a retryPeriod after the answer to the last renewal, and its deadline is set only
//! then.
//!
//! **What breaks it.**
//! - leaseDuration = renewDeadline, which client-go refuses but Flink has by default (apache/flink,
//!   `KubernetesLeaderElectionConfiguration`: both 15 s): then two may believe after a partition, for up to a
//!   retryPeriod, even with perfect clocks. `--set k8s-lease.renew-deadline`; `tests/all/client_timers.rs`.
//! - The compared record has times in whole seconds, so a change is seen at most once a second. With a retryPeriod
//!   below 1 s, others may count from a renewal that is up to a second old; leases below 5 s have no margin for it.
//! - A pause. The deadline is set when a round *begins*: a leader that pauses between two rounds wakes up, finds the
//!   record taken, and leads for another whole renewDeadline, since it retries even a hopeless renewal.
//!
//! **The token** is leaseTransitions plus one, since 0 means none: it grows when another identity takes the lease, in
//! the same write. It restarts when the object is deleted; leaders are then refused until it has caught up.
//!
//! Programs exit when they stop leading, and are restarted: here a candidate starts over under a new identity. It first
//! releases the lease if it still has it (`ReleaseOnCancel`).
//!
//! **What shows it.** `gc-pause`, `partition`, `lost-lease`.

mod candidate;
mod client_go;
mod round;

use super::{
    Conditions, OwnTimer, OwnTimers, Preference, Promise, Protocol, Timer, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    parameter::{Parameter, Place, Takes},
    service::kubernetes,
    types::{MILLISECOND, SECOND},
};
use candidate::Candidate;
pub use client_go::{
    COMPARES_CLOCKS, LEADS_BEFORE_UPDATE, NO_REQUEST_TIMEOUT, ONE_IDENTITY_TWICE, OWN_DURATION, RENEWS_FOR_EVER,
    SAME_HOST, name_of, token,
};
use client_go::{granted, refuses, renew_deadline};

/// A waiting candidate sees a renewal up to one poll late, and needs up to another one to see that it was the last;
/// polls are up to 2.2 retryPeriods apart.
fn takeover_max(timings: &Timings, _: u16) -> u64 {
    2 * (timings.renew_interval * 22 / 10) + 300 * MILLISECOND
}

/// The leader counts from an answer, the others from when they see the write; and they see whole seconds.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let unseen = if timings.renew_interval < SECOND { SECOND } else { 0 };
    let belief = c.slow(unseen + timings.renew_interval + renew_deadline(timings));
    // A pause between two rounds, or before an answer is read, delays the deadline by as much.
    let late = c.travel.saturating_mul(2).saturating_add(c.unread);
    let lease = if c.drops { 0 } else { c.fast(granted(timings.lease_ttl)) };
    Some(belief.saturating_add(late).saturating_sub(lease))
}

const DEADLINE: Parameter = Parameter {
    name: "renew-deadline",
    takes: Takes::Duration { least_ms: 1 },
    usual: "two thirds of the lease",
    about: "How long a leader keeps trying to renew before it gives up",
    place: Place::Timer(Timer::RenewDeadline),
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "k8s-lease",
    about: "client-go's leader election on a Kubernetes Lease; leaseTransitions is the token",
    service: &kubernetes::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 15 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: |ttl| ttl / 15 * 2,
    takeover_max,
    // The belief ends with the renewal loop, not by a clock.
    claim: None,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[DEADLINE],
    timers: OwnTimers {
        list: &[
            OwnTimer { timer: Timer::RenewDeadline, default: Some(|ttl| ttl / 15 * 10) },
            OwnTimer { timer: Timer::RetryPeriod, default: Some(|ttl| ttl / 15 * 2) },
        ],
        renews_at_retry: true,
        refuses,
    },
    elector: |setup| boxed(Candidate::new(setup)),
    promise: |hazard, fencing| match hazard {
        // leaseTransitions restarts with a new object, so tokens are granted twice.
        hazard::LOST_LEASE => Promise::Breaks(&["elections"]),
        // If the object is gone, the leader itself may create it again.
        hazard::SERVICE_DATA_LOSS => promise::GRANTED_AGAIN,
        hazard::SERVICE_RESTORED => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
