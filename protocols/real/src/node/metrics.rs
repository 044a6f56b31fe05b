//! A node's metrics for Prometheus.

use super::health::Health;
use crate::exposition::{self, doubling};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use protocols::{
    node::Standing,
    types::{MILLISECOND, SECOND},
};
use std::sync::atomic::AtomicU64;

type Label = [(&'static str, String); 1];
type Labels = [(&'static str, String); 2];
type Real = Gauge<f64, AtomicU64>;

pub struct Metrics {
    registry: Registry,
    node: String,
    roles: Family<Labels, Gauge>,
    transitions: Family<[(&'static str, String); 3], Counter>,
    master: Family<Label, Gauge>,
    acting: Gauge,
    lease_remaining: Real,
    renewed_at: Real,
    accepted_age: Real,
    service_up: Gauge,
    store_up: Gauge,
    token_short: Gauge,
    /// From the moment leadership is free to the election, seconds.
    pub campaign_seconds: Histogram,
    /// From sending a write to the store's answer, seconds.
    pub write_seconds: Histogram,
    /// From a request to the service to its answer, seconds.
    pub service_seconds: Histogram,
    renewals: Counter,
    /// Renewals that failed while this node led.
    pub renewal_failures: Counter,
    /// Requests to the service that failed.
    pub service_failures: Counter,
    /// Writes and seals that the store refused because of their token.
    pub fencing_rejections: Counter,
}

/// A node's role in its fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It believes that it leads, and the belief has not expired.
    Leader,
    /// It knows who leads.
    Follower,
    /// It campaigns, or does not know the leader.
    Candidate,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Leader, Role::Follower, Role::Candidate];

    pub const fn name(self) -> &'static str {
        match self {
            Role::Leader => "leader",
            Role::Follower => "follower",
            Role::Candidate => "candidate",
        }
    }

    /// The role of a node with that standing when its monotonic clock shows `mono` nanoseconds.
    pub fn of(standing: &Standing, mono: u64) -> Role {
        match standing {
            Standing { incarnation: Some(_), valid_until, .. } if mono < *valid_until => Role::Leader,
            Standing { incarnation: None, observed: Some(_), .. } => Role::Follower,
            _ => Role::Candidate,
        }
    }
}

impl Metrics {
    /// Metrics of a node that has just started. It contends for `election` and was built from `commit`.
    pub fn new(node: &str, election: &str, commit: &str) -> Self {
        let mut metrics = Metrics {
            registry: exposition::registry(commit),
            node: node.to_owned(),
            roles: Family::default(),
            transitions: Family::default(),
            master: Family::default(),
            acting: Gauge::default(),
            lease_remaining: Real::default(),
            renewed_at: Real::default(),
            accepted_age: Real::default(),
            service_up: Gauge::default(),
            store_up: Gauge::default(),
            token_short: Gauge::default(),
            campaign_seconds: doubling(0.001, 16),
            write_seconds: doubling(0.001, 14),
            service_seconds: doubling(0.001, 14),
            renewals: Counter::default(),
            renewal_failures: Counter::default(),
            service_failures: Counter::default(),
            fencing_rejections: Counter::default(),
        };
        metrics.master.get_or_create(&[("name", election.to_owned())]).set(0);
        for (from, to) in Role::ALL.into_iter().flat_map(|from| Role::ALL.map(|to| (from, to))) {
            // Shown from the beginning: Prometheus sees no increase in a counter that first appears as 1.
            if from != to {
                drop(metrics.transitions.get_or_create(&metrics.transition_labels(from, to)));
            }
        }
        metrics.register_standing();
        metrics.register_work();
        metrics
    }

    fn register_standing(&mut self) {
        let registry = &mut self.registry;
        registry.register("fencepost_node_role", "1 for the node's role, 0 for the others", self.roles.clone());
        registry.register("fencepost_transitions", "Times that the node's role changed", self.transitions.clone());
        registry.register(
            "leader_election_master_status",
            "Is this node the master of the election: 1 if so, else 0",
            self.master.clone(),
        );
        registry.register(
            "fencepost_node_acting",
            "1 while this node leads by its own belief, has sealed every resource and the store answers; what the fleet did \
             is the store's fencepost_leaders_acting",
            self.acting.clone(),
        );
        registry.register(
            "fencepost_lease_remaining_seconds",
            "How much longer this node believes that it leads; 0 when it does not",
            self.lease_remaining.clone(),
        );
        registry.register(
            "fencepost_last_renewal_timestamp_seconds",
            "When the lease was last renewed, by this node's wall clock; 0 before the first time",
            self.renewed_at.clone(),
        );
        registry.register(
            "fencepost_campaign_seconds",
            "Time from when leadership was free, as far as this node could see, to its election",
            self.campaign_seconds.clone(),
        );
        registry.register("fencepost_renewals", "Renewals that were confirmed", self.renewals.clone());
        registry.register(
            "fencepost_renewal_failures",
            "Renewals that failed while this node led",
            self.renewal_failures.clone(),
        );
    }

    fn register_work(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "fencepost_service_failures",
            "Requests to the coordination service that failed",
            self.service_failures.clone(),
        );
        registry.register(
            "fencepost_service_up",
            "0 from the coordination service's last failure until it answers again",
            self.service_up.clone(),
        );
        registry.register(
            "fencepost_service_seconds",
            "From a request to the coordination service to its answer",
            self.service_seconds.clone(),
        );
        registry.register("fencepost_store_up", "0 while the store owes an answer for 1 s", self.store_up.clone());
        registry.register(
            "fencepost_write_seconds",
            "From sending a write to the store's answer",
            self.write_seconds.clone(),
        );
        registry.register(
            "fencepost_last_write_accepted_age_seconds",
            "How long ago the store last accepted something from this node; -1 before the first time",
            self.accepted_age.clone(),
        );
        registry.register(
            "fencepost_fencing_rejections",
            "Writes and seals that the store refused for their token",
            self.fencing_rejections.clone(),
        );
        registry.register(
            "fencepost_token_short",
            "How far the coordination service's tokens are below the highest that the store has seen; 0 if they are not",
            self.token_short.clone(),
        );
    }

    /// Counts a change of the node's role.
    pub fn transition(&self, from: Role, to: Role) {
        self.transitions.get_or_create(&self.transition_labels(from, to)).inc();
    }

    fn transition_labels(&self, from: Role, to: Role) -> [(&'static str, String); 3] {
        [("node", self.node.clone()), ("from", from.name().to_owned()), ("to", to.name().to_owned())]
    }

    /// Counts a renewal of the lease, when the node's wall clock showed `wall` nanoseconds.
    pub fn renewed(&self, wall: u64) {
        self.renewals.inc();
        self.renewed_at.set((wall / MILLISECOND) as f64 / 1e3);
    }

    /// All metrics in Prometheus' text format, for a node with that standing and health whose monotonic clock shows
    /// `mono`.
    pub fn exposition(&self, election: &str, standing: &Standing, health: &Health, mono: u64) -> String {
        let now = Role::of(standing, mono);
        for role in Role::ALL {
            let labels = [("node", self.node.clone()), ("role", role.name().to_owned())];
            self.roles.get_or_create(&labels).set(i64::from(role == now));
        }
        let leads = now == Role::Leader;
        let silent = health.store_is_silent(mono);
        self.master.get_or_create(&[("name", election.to_owned())]).set(i64::from(leads));
        self.acting.set(i64::from(leads && standing.works && !silent));
        let remaining = if leads { standing.valid_until.saturating_sub(mono) } else { 0 };
        let seconds = |nanoseconds: u64| nanoseconds as f64 / SECOND as f64;
        self.lease_remaining.set(seconds(remaining));
        self.service_up.set(i64::from(!health.service_is_failing()));
        self.store_up.set(i64::from(!silent));
        self.accepted_age.set(health.accepted_ago(mono).map_or(-1.0, seconds));
        self.token_short.set(health.short(mono).min(i64::MAX as u64) as i64);
        exposition::text(&self.registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{
        service::redis,
        types::{Incarnation, NodeId},
    };

    #[test]
    fn a_belief_that_has_run_out_is_no_leadership() {
        let incarnation = Some(Incarnation { token: 1, node: NodeId(0), generation: 1 });
        let standing = Standing { incarnation, valid_until: 10, works: true, ..Standing::default() };
        let metrics = Metrics::new("n1", "sequence", "");
        let health = Health::new(Vec::new(), &redis::SERVICE, String::new());
        let text = metrics.exposition("sequence", &standing, &health, 9);
        assert!(text.contains("leader_election_master_status{name=\"sequence\"} 1"), "{text}");
        assert!(text.contains("fencepost_node_acting 1"), "{text}");
        let text = metrics.exposition("sequence", &standing, &health, 10);
        assert!(text.contains("leader_election_master_status{name=\"sequence\"} 0"), "{text}");
        assert!(text.contains("fencepost_node_role{node=\"n1\",role=\"candidate\"} 1"), "{text}");
    }
}
