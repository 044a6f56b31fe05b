//! Mistakes of other systems with fencing devices.

use crate::bug::{Bug, Shown};

/// Pairs of servers, and clusters configured to ignore a missing quorum.
pub const NO_QUORUM: Bug = Bug {
    id: "stonith-no-quorum",
    protocols: &["stonith"],
    what: "A node that loses contact with the others cuts their power without a majority: both sides of a partition do \
           so, and all are off.",
    source: "GitHub, downtime of 22 December 2012; Pacemaker's `no-quorum-policy=ignore`",
    violation: "metrics.elections",
    shown: Shown::by("quorum-loss", "stonith", 8).above(4),
};

/// A fence agent that reports success once the provider's API has accepted the request.
pub const ACCEPTED_IS_STOPPED: Bug = Bug {
    id: "stonith-accepted-is-stopped",
    protocols: &["stonith"],
    what: "A cloud provider's API accepts a request to stop a machine, and this is taken for the stop itself: the \
           former leader keeps running while a successor takes over.",
    source: "derived from ClusterLabs/fence-agents, fence_aws: `stop` returns while the instance is `stopping`, and the agent \
             goes on asking until it is `stopped`",
    violation: "leaders_acting_by_effect",
    shown: Shown::by("slow-fencing-device", "stonith", 4),
};
