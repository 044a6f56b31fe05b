//! What went wrong in programs on their way out.

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
