//! What went wrong in programs around their election: on their way out, and while they were at work.

use crate::bug::{Bug, Shown};

/// What a program does that gives the lease back as soon as it is told to stop.
pub const RELEASED_BEFORE_JOINED: Bug = Bug {
    id: "released-before-joined",
    protocols: &[],
    what: "A leader that is told to stop gives leadership back at once, while work of its is still under way.",
    source: "kubernetes/kubernetes pull request 139504 and KEP-5366: `ReleaseOnCancel` releases before `OnStartedLeading` has \
             returned",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("slow-drain", "etcd-election", 4).with("--fencing off"),
};

/// What a controller manager did on its way out.
pub const SHUTDOWN_STARTS_WORK: Bug = Bug {
    id: "shutdown-starts-work",
    protocols: &[],
    what: "A candidate that never led and is told to stop starts the leader's work on its way out, without a token.",
    source: "kubernetes-sigs/controller-runtime issue 2719, fixed by pull request 2724",
    violation: "acts_on_belief",
    shown: Shown::by("stood-down", "redis-lease", 4),
};

/// A worker with one thread, as printed.
pub const RENEWS_BETWEEN_JOBS: Bug = Bug {
    id: "renews-between-jobs",
    protocols: &["redis-lease", "redis-fenced", "etcd-election"],
    what: "The worker renews its lease when it is done with a job, and hears of nothing while it is at one: a job that takes longer \
           than the lease is done by whoever takes over as well.",
    source: "derived from a usual way to write a worker's loop: `process(msg)`, and then `session.renew()`",
    violation: "done_once",
    shown: Shown::by("long-job", "etcd-election", 4).with("--fencing off"),
};
