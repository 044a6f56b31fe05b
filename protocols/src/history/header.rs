//! What the judge has to know about a run, and what the run must show.

use crate::{
    address,
    copies::Copies,
    fence::checks::Fencing,
    sharding::Placement,
    types::{NodeId, Resource, USUAL_RESOURCES},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the judge has to know about the run that it judges. The first line of a history that Fencepost wrote; a store's
/// own log does without.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of this format: 1.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The protocol's name.
    pub protocol: String,
    /// The seed that the plan was made from.
    pub seed: u64,
    /// What the store checked.
    pub fencing: Fencing,
    /// Does the protocol have a fencing token?
    pub tokened: bool,
    /// Digest of the plan.
    pub plan_digest: String,
    /// The names of all processes, by [`NodeId`].
    pub nodes: Vec<String>,
    /// The first so many of them are candidates.
    pub candidates: u16,
    /// The lease's time to live, milliseconds, as the service grants it.
    pub lease_ttl_ms: u64,
    /// Client requests a second, all clients together; they are the probe that dark time is measured with.
    pub rate: u64,
    /// After the last fault is healed, a leader must act again within this many milliseconds.
    pub liveness_bound_ms: u64,
    /// A write that is issued at t and accepted by t + this many milliseconds is not dark.
    pub dark_after_ms: u64,
    /// What the run must show; otherwise it is vacuous.
    pub requires: Vec<Requirement>,
    /// The coordination service's processes, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NodeId>,
    /// How many of them it takes, when that is more than one.
    #[serde(default, skip_serializing_if = "is_zero_u16")]
    pub services_needed: u16,
    /// The scheduler's period, milliseconds; 0 when it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tick_ms: u64,
    /// The fenced store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<NodeId>,
    /// Must a majority of the candidates hear each other before one of them can lead?
    #[serde(default, skip_serializing_if = "is_false")]
    pub majority: bool,
    /// Do the candidates elect along a ring in the order of their ids?
    #[serde(default, skip_serializing_if = "is_false")]
    pub ring: bool,
    /// For how long at most two nodes that run may believe at one time, microseconds, as the protocol promises under the
    /// hazards of this run; `None` when it promises nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_belief_bound_us: Option<u64>,
    /// The names of all resources, by [`Resource`].
    #[serde(default = "usual_resources", skip_serializing_if = "is_usual")]
    pub resources: Vec<String>,
    /// Has every candidate's node a copy of the data, and when does a leader's acknowledge? Otherwise there is one store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// How many groups there are. Each has its share of the resources and of the clients, in the order of the groups.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub groups: u16,
    /// The address by which clients find the leader; otherwise they ask every candidate in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<address::Kind>,
    /// How it is decided which candidate should lead which group, where anything decides that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Which of them this is about: resources are those of this group alone. No part of a history; see [`Header::of_group`].
    #[serde(skip)]
    pub group: u16,
}

impl Header {
    /// The resource of that name.
    pub fn resource(&self, name: &str) -> Option<Resource> {
        let place = self.resources.iter().position(|known| known == name)?;
        u16::try_from(place).ok().map(Resource)
    }

    /// What the judge of one group has to know.
    pub fn of_group(&self, group: u16) -> Header {
        let each = self.resources.len() / usize::from(self.groups.max(1));
        let resources = self.resources.iter().skip(usize::from(group) * each).take(each).cloned().collect();
        Header { group, resources, ..self.clone() }
    }

    /// The clients of the group that this is about, by [`NodeId`]: the last processes, in equal shares.
    pub fn clients(&self) -> Range<u16> {
        let servers = self.services.iter().chain(&self.store).map(|server| server.0 + 1);
        let (first, end) = (servers.max().unwrap_or(0).max(self.candidates), self.nodes.len() as u16);
        let each = end.saturating_sub(first) / self.groups.max(1);
        match self.groups {
            0 | 1 => first..end,
            _ => first + self.group * each..first + (self.group + 1) * each,
        }
    }
}

/// The resources of a history that does not list them.
pub fn usual_resources() -> Vec<String> {
    USUAL_RESOURCES.map(str::to_owned).into()
}

fn is_usual(resources: &Vec<String>) -> bool {
    *resources == USUAL_RESOURCES
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_zero_u16(value: &u16) -> bool {
    *value == 0
}

fn one() -> u16 {
    1
}

fn is_one(value: &u16) -> bool {
    *value == 1
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Something that must happen in a run, or the run proves nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// What is counted.
    pub fact: Fact,
    /// How much of it there must be.
    pub at_least: u64,
}

/// What requirements count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// Protected writes that were applied.
    WritesAccepted,
    /// Elections won.
    Elections,
    /// Incarnations with at least one accepted write.
    LeadersTookEffect,
    /// Most nodes that believed at one time.
    LeadersBelieving,
    /// Writes from an incarnation that reached the store after a newer one had sealed or written, whatever became of them.
    StaleWriteAttempts,
    /// The same of those that make a plan live.
    StaleEnactmentAttempts,
    /// The same of those that delete.
    StaleDeletionAttempts,
    /// The same of those that refresh a cache.
    StaleRefreshAttempts,
    /// Effects outside that were asked for, whatever became of them.
    EffectsTried,
    /// Effects outside that were asked for when their item had had its effect, whatever became of them.
    EffectsTriedAgain,
    /// Elections won while a node that had been elected before was paused.
    ElectedWhilePaused,
    /// Elections won while a node that believed was cut off.
    ElectedWhileCutOff,
    /// Reads that were answered by a leader while it was cut off.
    ReadsWhileCutOff,
    /// Reads put to a leader that was cut off after another had been elected, whatever it answered.
    ReadsOfReplacedLeader,
    /// Protected writes that were applied while their writer, which had believed, was cut off.
    WritesWhileCutOff,
    /// Beliefs that ended, and not on request, while their node was cut off.
    LapsedWhileCutOff,
    /// Elections before which at least two candidates had begun to campaign since the election before.
    ContestedElections,
    /// Leaderships that were to go to a named successor, and of which it won the next election.
    TransfersWon,
    /// Beliefs given up on request.
    Resignations,
    /// Candidates that became members, or ceased to be.
    MembershipChanges,
    /// Processes killed.
    Kills,
    /// Machines that lost their power.
    PowerOffs,
    /// Processes that were down and started again.
    Restarts,
    /// The same, of candidates, while another that had believed was cut off.
    RestartsWhileCutOff,
    /// Elections won after a moment at which every candidate was down.
    ElectedAfterOutage,
    /// Wall clocks that were set.
    ClockSteps,
    /// Processes stopped for a while.
    Pauses,
    /// Faults of any kind that struck.
    Faults,
}
