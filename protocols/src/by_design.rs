//! Defects by design or configuration, which other systems have by mistake; the command shows them without a switch.

use crate::bug::{Bug, ByDesign, Shown};

crate::registry! {
    /// In the order of reports.
    pub const ALL: [&ByDesign] = [
        &UNFENCED,
        &ETCD_BELIEF_FROM_ANSWER,
        &K8S_NO_MARGIN,
        &REDLOCK_CLOCK,
        &REDIS_UNREPLICATED,
        &PROMOTED_UNFENCED,
        &ROW_BY_NODE_CLOCK,
        &NO_QUORUM,
        &NO_HYSTERESIS,
        &ASYNC_COPIES,
    ];
}

/// No fencing at all.
pub const UNFENCED: ByDesign = ByDesign {
    bug: Bug {
        id: "unfenced",
        protocols: &[],
        what: "The resource checks nothing: a leader that wakes up with a pending write is let in.",
        source: "Kleppmann, How to do distributed locking, 2016; here it is `--fencing off`",
        violation: "leaders_acting_by_effect",
        shown: Shown::by("gc-pause", "etcd-election", 4).with("--fencing off"),
    },
    mended: Shown::by("gc-pause", "etcd-election", 4),
};

/// etcd's own client library.
pub const ETCD_BELIEF_FROM_ANSWER: ByDesign = ByDesign {
    bug: Bug {
        id: "etcd-belief-from-answer",
        protocols: &["etcd-election", "etcd-key"],
        what: "The client counts a session's end from the keepalive's answer and checks it once a second, while the \
               server counts from the keepalive's arrival: the belief outlives the lease.",
        source: "derived from etcd-io/etcd, client/v3/lease.go: recvKeepAlive, deadlineLoop",
        violation: "no_stale_write",
        shown: Shown::by("partition", "etcd-election", 4).with("--fencing off"),
    },
    mended: Shown::by("partition", "redis-fenced", 4).with("--fencing off"),
};

/// Flink's defaults.
pub const K8S_NO_MARGIN: ByDesign = ByDesign {
    bug: Bug {
        id: "k8s-no-margin",
        protocols: &["k8s-lease"],
        what: "The renew deadline is as long as the lease: no margin is left for clocks and answers, and after a \
               partition two nodes believe.",
        source: "apache/flink, KubernetesLeaderElectionConfiguration: both are 15 s",
        violation: "metrics.dual_belief_ms",
        shown: Shown::by("partition", "k8s-lease", 12)
            .with("--lease-ttl 15s --set k8s-lease.renew-deadline=15s --fencing off"),
    },
    mended: Shown::by("partition", "k8s-lease", 12).with("--lease-ttl 15s --fencing off"),
};

/// Leases that expire by the servers' clocks.
pub const REDLOCK_CLOCK: ByDesign = ByDesign {
    bug: Bug {
        id: "redlock-clock",
        protocols: &["redlock"],
        what: "Keys expire by the servers' wall clocks: if those are set forward, the lock is free while its holder \
               still believes.",
        source: "Kleppmann, How to do distributed locking, 2016",
        violation: "no_stale_write",
        shown: Shown::by("clock-step", "redlock", 12),
    },
    mended: Shown::by("clock-step", "redis-fenced", 12),
};

/// Asynchronous replication.
pub const REDIS_UNREPLICATED: ByDesign = ByDesign {
    bug: Bug {
        id: "redis-unreplicated",
        protocols: &["redis-sentinel"],
        what: "A lock is acknowledged before any replica has it, even by a primary that is about to be replaced: after \
               a failover it is granted a second time, and without a fence two leaders write.",
        source: "redisson/redisson issue 2669",
        violation: "leaders_acting_by_effect",
        shown: Shown::by("unreplicated-grant", "redis-sentinel", 4).with("--fencing off"),
    },
    mended: Shown::by("unreplicated-grant", "redis-sentinel", 4),
};

/// A promotion that the former primary does not learn of.
pub const PROMOTED_UNFENCED: ByDesign = ByDesign {
    bug: Bug {
        id: "promoted-unfenced",
        protocols: &["redis-sentinel"],
        what: "A majority elsewhere promotes a replica but cannot fence the primary, which is healthy and keeps \
               serving all that reach it: both sides write, and writes acknowledged on one side are missing on the \
               other.",
        source: "GitHub, October 21 post-incident analysis (github.blog, 2018-10-30), of MySQL under Orchestrator",
        violation: "leaders_acting_by_effect",
        shown: Shown::by("incident-github-2016", "redis-sentinel", 4)
            .with("--set redis-sentinel.replica-lag=1s --fencing off"),
    },
    mended: Shown::by("incident-github-2016", "redis-sentinel", 4).with("--set redis-sentinel.replica-lag=1s"),
};

/// Expiry by the observer's clock.
pub const ROW_BY_NODE_CLOCK: ByDesign = ByDesign {
    bug: Bug {
        id: "row-by-node-clock",
        protocols: &["db-row-node-clock"],
        what: "Nodes decide by their own wall clocks whether a row has expired: one whose clock is minutes ahead takes \
               it from its holder.",
        source: "lukas-krecan/ShedLock issue 231; quartznet/quartznet issue 3515",
        violation: "metrics.false_failovers",
        shown: Shown::by("steady", "db-row-node-clock", 4).with("--clock-skew 3m"),
    },
    mended: Shown::by("steady", "db-row", 4).with("--clock-skew 3m"),
};

/// A node leads unless it hears a better one.
pub const NO_QUORUM: ByDesign = ByDesign {
    bug: Bug {
        id: "no-quorum",
        protocols: &["lowest-id"],
        what: "A node that hears no better one leads: if advertisements are lost in one direction, two nodes lead.",
        source: "acassen/keepalived issue 1528",
        violation: "leaders_acting_by_effect",
        shown: Shown::by("asymmetric-partition", "lowest-id", 4),
    },
    mended: Shown::by("asymmetric-partition", "raft-core", 4),
};

/// Copies without waiting for replication.
pub const ASYNC_COPIES: ByDesign = ByDesign {
    bug: Bug {
        id: "async-copies",
        protocols: &["raft-core"],
        what: "The leader's copy acknowledges writes that no other copy has yet: those between the partition and the \
               end of its belief are rewound when the partition heals, although two never led at once.",
        source: "PostgreSQL 16: pg_rewind, and synchronous_standby_names, which is empty by default",
        violation: "copies_agree",
        shown: Shown::by("diverging-copies", "raft-core", 4),
    },
    mended: Shown::by("majority-copies", "raft-core", 4),
};

/// The best node takes over whenever it returns.
pub const NO_HYSTERESIS: ByDesign = ByDesign {
    bug: Bug {
        id: "no-hysteresis",
        protocols: &["bully"],
        what: "The highest id takes leadership back each time it returns, and loses it again: leaders change with every stall of \
               one node.",
        source: "baidu/braft issue 261 (its like); Garcia-Molina 1982",
        violation: "metrics.elections",
        shown: Shown::by("slow-top-node", "bully", 4).above(4),
    },
    mended: Shown::by("slow-top-node", "raft-core", 4),
};
