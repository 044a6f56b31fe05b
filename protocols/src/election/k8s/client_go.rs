//! client-go as it is: the object, its token and its durations; and the bugs of it and its ports.

use crate::{
    bug::{Bug, Shown},
    election::Timings,
    types::{NodeId, SECOND},
};

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

/// client-go's original behaviour.
pub const RENEWS_FOR_EVER: Bug = Bug {
    id: "k8s-renews-for-ever",
    protocols: &["k8s-lease"],
    what: "A leader that cannot renew tries again for ever, even when another holds the lease: it never stops leading.",
    source: "kubernetes/kubernetes issue 23731: \"Split-Brain bug in leaderelection client\"",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("partition", "k8s-lease", 4).with("--fencing off --lease-ttl 15s"),
};

/// client-go's former behaviour, and that of ports.
pub const OWN_DURATION: Bug = Bug {
    id: "k8s-own-duration",
    protocols: &["k8s-lease"],
    what: "A candidate waits for the duration in its own configuration, not for the one in the leader's record.",
    source: "kubernetes/kubernetes issue 47671; fabric8io/kubernetes-client issue 7160, pull request 7249",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("mixed-timings", "k8s-lease", 4).with("--fencing off"),
};

/// client-go's behaviour before its requests had a timeout.
pub const NO_REQUEST_TIMEOUT: Bug = Bug {
    id: "k8s-no-request-timeout",
    protocols: &["k8s-lease"],
    what: "Requests have no timeout of their own: on a hung connection, a candidate waits as long as the kernel does.",
    source: "kubernetes/kubernetes issue 65090, fixed by pull request 65094; issue 125530",
    violation: "liveness",
    shown: Shown::by("hung-connection", "k8s-lease", 4),
};

/// The fabric8 client's behaviour.
pub const LEADS_BEFORE_UPDATE: Bug = Bug {
    id: "k8s-leads-before-update",
    protocols: &["k8s-lease"],
    what: "A candidate leads as soon as it sees that it may, before its update of the lease is accepted; another \
           candidate may have been faster.",
    source: "fabric8io/kubernetes-client issue 7350",
    violation: "phantom_leader",
    shown: Shown::by("clean-kill", "k8s-lease", 8),
};

/// The behaviour of kubert's lease.
pub const COMPARES_CLOCKS: Bug = Bug {
    id: "k8s-compares-clocks",
    protocols: &["k8s-lease"],
    what: "A candidate compares the record's renewTime plus its duration, which the leader's clock wrote, with its own wall clock: \
           one whose clock is ahead takes a lease that is being renewed, and one whose clock is behind waits for minutes.",
    source: "read from olix0r/kubert 0.25.0, src/lease.rs: `Claim::is_current` and `LeaseManager::get`",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("clock-skew", "k8s-lease", 8).with("--fencing off"),
};

/// Components that identify themselves by their host name.
pub const ONE_IDENTITY_TWICE: Bug = Bug {
    id: "k8s-one-identity-twice",
    protocols: &["k8s-lease"],
    what: "The identity is the host's name, and the first two candidates run on one host (hostNetwork), or on machines cloned with \
           their name: each takes the lease for its own and renews it. Both have the same token, so no fence tells them apart.",
    source: "kubernetes/kubernetes issues 22775 and 61151; kubernetes-csi/external-provisioner pull request 690",
    violation: "tokens_monotone",
    // Whichever leads first, one of the two leads after it.
    shown: Shown::by("clean-kill", "k8s-lease", 4),
};

/// Under [`ONE_IDENTITY_TWICE`] the first of these has the host name of the second.
pub const SAME_HOST: (NodeId, NodeId) = (NodeId(1), NodeId(0));

/// How long the kernel retransmits unacknowledged data (`tcp_retries2`), nanoseconds.
pub(super) const NO_TIMEOUT: u64 = 924 * SECOND;
