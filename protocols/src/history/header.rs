//! What the judge must know about a run, and what the run must show.

use crate::{
    address,
    copies::Copies,
    fence::checks::Fencing,
    sharding::Placement,
    types::{NodeId, Resource, USUAL_RESOURCES},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the judge must know about the run. The first line of a history written by Fencepost; a store's own log needs
/// none.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the line format.
    pub schema: u32,
    pub scenario: String,
    pub protocol: String,
    pub seed: u64,
    /// The store's checks.
    pub fencing: Fencing,
    /// Whether the protocol has fencing tokens.
    pub tokened: bool,
    /// The plan's digest.
    pub plan_digest: String,
    /// The names of all processes, by [`NodeId`].
    pub nodes: Vec<String>,
    /// How many of them, from the first on, are candidates.
    pub candidates: u16,
    /// The lease's TTL as granted by the service, milliseconds.
    pub lease_ttl_ms: u64,
    /// Requests per second of all clients together; dark time is measured by them.
    pub rate: u64,
    /// How soon after the last fault is healed a leader must act again, milliseconds.
    pub liveness_bound_ms: u64,
    /// A write accepted within this many milliseconds after it was issued is not dark.
    pub dark_after_ms: u64,
    /// What the run must show in order not to be vacuous.
    pub requires: Vec<Requirement>,
    /// The coordination service's processes, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NodeId>,
    /// How many of them are needed, if more than one.
    #[serde(default, skip_serializing_if = "is_zero_u16")]
    pub services_needed: u16,
    /// The services among them whose members elect one of them by majority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ServiceCluster>,
    /// The scheduler's period, milliseconds; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tick_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<NodeId>,
    /// Whether a majority of the candidates must hear each other before one can lead.
    #[serde(default, skip_serializing_if = "is_false")]
    pub majority: bool,
    /// Whether the candidates elect along a ring in the order of their ids.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ring: bool,
    /// For how long two running nodes may believe at the same time, microseconds, as the protocol promises under this
    /// run's hazards; `None` without a promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_belief_bound_us: Option<u64>,
    /// The names of all resources, by [`Resource`].
    #[serde(default = "usual_resources", skip_serializing_if = "is_usual")]
    pub resources: Vec<String>,
    /// If every candidate's node has a copy of the data, when a leader's copy acknowledges; `None` if there is one
    /// store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// Whether a leader goes on from its own copy before a majority has its seal, as LeaseGuard does: seal and writes are
    /// entries of one log, and take effect in its order.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferred_commit: bool,
    /// The number of groups. Each has its share of the resources and of the clients, in the order of the groups.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub groups: u16,
    /// The address by which clients find the leader; `None` if they ask the candidates in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<address::Kind>,
    /// How groups are assigned to candidates, if at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The group that this header is for, whose resources alone it lists. Not part of a history; see
    /// [`Header::of_group`].
    #[serde(skip)]
    pub group: u16,
}

impl Header {
    pub fn resource(&self, name: &str) -> Option<Resource> {
        let place = self.resources.iter().position(|known| known == name)?;
        u16::try_from(place).ok().map(Resource)
    }

    /// The header for the judge of one group.
    pub fn of_group(&self, group: u16) -> Header {
        let each = self.resources.len() / usize::from(self.groups.max(1));
        let resources = self.resources.iter().skip(usize::from(group) * each).take(each).cloned().collect();
        Header { group, resources, ..self.clone() }
    }

    /// The clients of this header's group, by [`NodeId`]: the last processes, in equal shares.
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

/// The resources of a history that does not list any.
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

/// A service with several members that elect one of them by majority.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCluster {
    pub members: Vec<NodeId>,
    /// The longest time until one of them leads once a majority is connected, milliseconds.
    pub failover_ms: u64,
}

/// Something that must happen in a run; otherwise the run proves nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The quantity.
    pub fact: Fact,
    /// Its minimum.
    pub at_least: u64,
}

/// The quantities that requirements count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// Applied writes.
    WritesAccepted,
    /// Elections won.
    Elections,
    /// Leaderships with at least one accepted write.
    LeadersTookEffect,
    /// The largest number of nodes that believed at the same time.
    LeadersBelieving,
    /// Writes that reached the store after a newer leadership had sealed or written, whatever the verdict.
    StaleWriteAttempts,
    /// The same, for writes that enact a plan.
    StaleEnactmentAttempts,
    /// The same, for deletions.
    StaleDeletionAttempts,
    /// The same, for writes that refresh a cache.
    StaleRefreshAttempts,
    /// External effects that were attempted, whatever the verdict.
    EffectsTried,
    /// External effects attempted after their item had already had its effect, whatever the verdict.
    EffectsTriedAgain,
    /// Elections won while a previously elected node was paused.
    ElectedWhilePaused,
    /// Elections won while a believing node was cut off.
    ElectedWhileCutOff,
    /// Reads answered by a leader while it was cut off.
    ReadsWhileCutOff,
    /// Reads sent to a leader that was cut off, after another had been elected, whatever the answer.
    ReadsOfReplacedLeader,
    /// Writes applied while their believing writer was cut off.
    WritesWhileCutOff,
    /// Beliefs that ended, without a request, while their node was cut off.
    LapsedWhileCutOff,
    /// Elections since whose predecessor at least two candidates had started to campaign.
    ContestedElections,
    /// Transfers to a named successor that won the next election.
    TransfersWon,
    /// Beliefs given up on request.
    Resignations,
    /// Candidates that became members or ceased to be.
    MembershipChanges,
    /// Processes killed.
    Kills,
    /// Machines that lost their power.
    PowerOffs,
    /// Processes that were down and restarted.
    Restarts,
    /// Restarts of candidates while another, which had believed, was cut off.
    RestartsWhileCutOff,
    /// Elections won after a moment with all candidates down.
    ElectedAfterOutage,
    /// Steps of wall clocks.
    ClockSteps,
    /// Processes paused.
    Pauses,
    /// Faults of any kind.
    Faults,
}
