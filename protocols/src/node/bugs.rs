//! Bugs of programs around their election: at shutdown, during work, and with a single thread.

use super::Node;
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::Output,
    elector::{Input, ServiceInput},
    types::SECOND,
    work::duties::Duties,
};

/// A program that releases the lease as soon as it is told to stop.
pub const RELEASED_BEFORE_JOINED: Bug = Bug {
    id: "released-before-joined",
    protocols: &[],
    what: "A leader that is told to stop gives leadership back at once, while its work is still under way.",
    source: "kubernetes/kubernetes pull request 139504 and KEP-5366: `ReleaseOnCancel` releases before `OnStartedLeading` has \
             returned",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("slow-drain", "etcd-election", 4).with("--fencing off"),
};

/// A controller manager's behaviour at shutdown.
pub const SHUTDOWN_STARTS_WORK: Bug = Bug {
    id: "shutdown-starts-work",
    protocols: &[],
    what: "A candidate that never led and is told to stop starts the leader's work on its way out, without a token.",
    source: "kubernetes-sigs/controller-runtime issue 2719, fixed by pull request 2724",
    violation: "acts_on_belief",
    shown: Shown::by("stood-down", "redis-lease", 4),
};

/// A worker with a single thread, as printed in the article.
pub const RENEWS_BETWEEN_JOBS: Bug = Bug {
    id: "renews-between-jobs",
    protocols: &["redis-lease", "redis-fenced", "etcd-election"],
    what: "The worker renews its lease only between jobs, and learns nothing during one: a job that takes longer than \
           the lease is also done by the successor.",
    source: "derived from a usual way to write a worker's loop: `process(msg)`, and then `session.renew()`",
    violation: "done_once",
    shown: Shown::by("long-job", "etcd-election", 4).with("--fencing off"),
};

/// Programs that call client-go's `LeaderElector.Run` once.
pub const STANDS_ONCE: Bug = Bug {
    id: "stands-once",
    protocols: &["redis-fenced", "etcd-election", "k8s-lease", "zk-selector"],
    what: "A candidate that has lost its lease never stands again, though its process runs and looks healthy: once each has lost one, \
           nobody leads until somebody restarts a process.",
    source: "kuberhealthy/kuberhealthy issue 1533; Smana/runlore pull request 250; client-go's `LeaderElector.Run` returns when the \
             lease is lost, and has to be called again; Curator's `LeaderSelector` stands once more only after `autoRequeue()`",
    violation: "liveness",
    shown: Shown::by("leases-lost-in-turn", "k8s-lease", 4),
};

/// An operator whose shutdown waited for its hooks.
pub const WORKS_ON_AFTER_LOSS: Bug = Bug {
    id: "works-on-after-loss",
    protocols: &[
        "redis-lease",
        "redis-fenced",
        "etcd-election",
        "consul-session",
        "k8s-lease",
        "db-row",
        "object-lease",
    ],
    what: "A leader that has lost its lease begins to shut down, and its work goes on for the 15 s that a shutdown hook blocks: longer \
           than from the renew deadline to the end of the lease.",
    source: "cilium/cilium pull request 42920: stop hooks blocked, and other components acted past the lease's end",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("partition", "k8s-lease", 4).with("--fencing off --lease-ttl 15s"),
};

/// How long the shutdown hook blocks, nanoseconds.
pub(super) const HOOK_BLOCKS: u64 = 15 * SECOND;

/// A library that waits for both the work and its renewals.
pub const NOT_CANCELLED: Bug = Bug {
    id: "work-not-cancelled",
    protocols: &["redis-lease", "redis-fenced", "db-row", "object-lease"],
    what: "The first renewal that fails ends all renewing, and nobody tells the job under way: it goes on to its end, and its error is \
           returned only then. Meanwhile the lease runs out and somebody else leads.",
    source: "read from kodebooth/dlock 0.2.0, src/lib.rs: `DLock::with` joins the closure and `renew`, which returns at the first \
             error",
    violation: "no_stale_write",
    shown: Shown::by("flapping", "redis-fenced", 12)
        .with("--fencing off --works sequencer,queue-worker --work-item-time 4s"),
};

// A node whose elector gets no inputs until the current job is done: the only thread is busy with the job, or the
// renewing task has ended and the node waits for the job before it notices.

impl Node {
    fn is_at_work(&self) -> bool {
        self.lead.as_ref().and_then(|lead| lead.work.as_ref()).is_some_and(Duties::is_at_work)
    }

    /// [`RENEWS_BETWEEN_JOBS`], and [`NOT_CANCELLED`] after a failed renewal: whether the elector waits for the job.
    pub(super) fn is_deaf(&self) -> bool {
        (self.renewal_failed || self.bugs.has(&RENEWS_BETWEEN_JOBS)) && self.is_at_work()
    }

    /// [`NOT_CANCELLED`]: a request that fails during a job ends the renewing task.
    pub(super) fn note_failed_renewal(&mut self, input: &Input) {
        let failed = matches!(input, Input::Service(ServiceInput::Reply { reply: Err(_), .. }));
        self.renewal_failed |= failed && self.bugs.has(&NOT_CANCELLED) && self.is_at_work();
    }

    /// If no job is running any more, hands the elector its waiting inputs and due timers.
    pub(super) fn hear(&mut self, now: Now, out: &mut Vec<Output>) {
        self.renewal_failed &= self.is_at_work();
        while !self.unheard.is_empty() && !self.is_deaf() {
            let input = self.unheard.remove(0);
            self.elect(now, input, out);
        }
    }
}
