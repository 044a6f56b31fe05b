//! `k8s-lease`: the leader election of client-go, over a Lease object of Kubernetes.
//!
//! **Where it comes from.** kubernetes/client-go, `tools/leaderelection/leaderelection.go` (`acquire`, `renew`, `release`,
//! `tryAcquireOrRenew`, `isLeaseValid`), `tools/leaderelection/resourcelock/leaselock.go` and `interface.go`
//! (`NewFromKubeconfig`: a request may take max(1 s, renewDeadline/2)), and kubernetes/apimachinery, `pkg/util/wait`
//! (`JitterUntil`, `PollImmediateUntil`). Core components have leaseDuration 15 s, renewDeadline 10 s and retryPeriod 2 s;
//! other leases here are divided in the same proportion. The API server compares resourceVersions and nothing else: whose
//! lease it is, and whether it has run out, the candidates say themselves.
//!
//! **What it assumes about time.** Nobody reads another's clock. A candidate that has not seen the record *change* for as
//! long as it says, by its own monotonic clock, takes it. A leader renews every retryPeriod; when it has failed to for
//! renewDeadline it stops. So two may believe unless clocks' *rates* differ by less than leaseDuration to what the leader
//! takes: retryPeriod and then renewDeadline, 15 : 12, not the 15 : 10 that the package's own words promise, since a round
//! begins a retryPeriod after the answer to the last renewal, and only then its deadline is set.
//!
//! **What breaks it.**
//! - leaseDuration = renewDeadline, which client-go refuses and Flink has by default (apache/flink,
//!   `KubernetesLeaderElectionConfiguration`: both 15 s): then two may believe after a cut, for up to a retryPeriod, with
//!   perfect clocks. `--renew-deadline`; `tests/all/client_timers.rs`.
//! - The record that is compared has times in whole seconds, so a change is seen once a second at most. With a retryPeriod
//!   below 1 s others may count from a renewal that is up to a second old; leases of less than 5 s have no margin for it.
//! - A pause. The deadline is set when a round *begins*: who sleeps between two rounds wakes up, finds the record another's,
//!   and leads on for a whole renewDeadline, since a renewal that fails for good is retried like any other.
//!
//! **The token** is leaseTransitions, plus one, as 0 is none: it grows when another identity takes the lease, in the same
//! write. It starts again when the object is deleted: then leaders are refused until it has caught up.
//!
//! Programs exit when they stop leading, and are started again: here a candidate begins anew under a new identity. It gives
//! the lease back first if it still has it (`ReleaseOnCancel`).
//!
//! **What shows it.** `gc-pause`, `partition`, `lost-lease`.

mod bugs;
mod candidate;
mod round;
mod timing;

use super::{
    Conditions, Hazard, OwnTimer, OwnTimers, Preference, Promise, Protocol, Timer, Timings, Transport,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::kubernetes,
    types::{MILLISECOND, SECOND},
};
pub use bugs::{
    COMPARES_CLOCKS, LEADS_BEFORE_UPDATE, NO_REQUEST_TIMEOUT, ONE_IDENTITY_TWICE, OWN_DURATION, RENEWS_FOR_EVER,
    SAME_HOST,
};
use candidate::Candidate;
use timing::{granted, refuses, renew_deadline};
pub use timing::{name_of, token};

/// Who waits sees a renewal up to one poll late, and that it was the last one up to another; a poll is up to 2.2
/// retryPeriods after the last.
fn takeover_max(timings: &Timings, _: u16) -> u64 {
    2 * (timings.renew_interval * 22 / 10) + 300 * MILLISECOND
}

/// The leader counts from an answer, the others from when they see what was written; and they see seconds.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let unseen = if timings.renew_interval < SECOND { SECOND } else { 0 };
    let belief = c.slow(unseen + timings.renew_interval + renew_deadline(timings));
    // A pause between two rounds, or before an answer is read, puts the deadline off by as much.
    let late = c.travel.saturating_mul(2).saturating_add(c.unread);
    let lease = if c.drops { 0 } else { c.fast(granted(timings.lease_ttl)) };
    Some(belief.saturating_add(late).saturating_sub(lease))
}

/// The registry's entry.
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
    // No clock ends the belief: only the loop that renews.
    claim: None,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
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
        // leaseTransitions begins again with a new object, and tokens are given twice.
        Hazard::LostLease => Promise::Breaks(&["elections"]),
        // Without the object the leader itself may make it anew.
        Hazard::ServiceDataLoss => promise::GRANTED_AGAIN,
        Hazard::ServiceRestored => promise::granted_again(fencing),
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ClockSteps | Hazard::Starvation => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};
