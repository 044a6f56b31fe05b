//! What a node counts, for Prometheus.

use crate::node::Standing;
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

type Label = [(&'static str, String); 1];
type Labels = [(&'static str, String); 2];

/// A node's metrics.
pub struct Metrics {
    registry: Registry,
    node: String,
    roles: Family<Labels, Gauge>,
    transitions: Family<Labels, Counter>,
    master: Family<Label, Gauge>,
    leaders_acting: Gauge,
    /// From wanting leadership to having it, seconds.
    pub campaign_seconds: Histogram,
    /// Renewals that were confirmed.
    pub renewals: Counter,
    /// Requests to the service that failed while this node led.
    pub renewal_failures: Counter,
    /// Requests to the service that failed.
    pub service_failures: Counter,
    /// Writes and seals that the store refused for their token.
    pub fencing_rejections: Counter,
}

/// What a node is to its fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It believes that it leads, and the belief is in time.
    Leader,
    /// It knows who leads.
    Follower,
    /// It wants to lead, or does not know who does.
    Candidate,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Leader, Role::Follower, Role::Candidate];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Leader => "leader",
            Role::Follower => "follower",
            Role::Candidate => "candidate",
        }
    }

    /// The role of a node of that standing when its monotonic clock shows `mono` nanoseconds.
    pub fn of(standing: &Standing, mono: u64) -> Role {
        match standing {
            Standing { incarnation: Some(_), valid_until, .. } if mono < *valid_until => Role::Leader,
            Standing { incarnation: None, observed: Some(_), .. } => Role::Follower,
            _ => Role::Candidate,
        }
    }
}

impl Metrics {
    /// Nothing has happened yet on the node of that name, which contends for `election`.
    pub fn new(node: &str, election: &str) -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            node: node.to_owned(),
            roles: Family::default(),
            transitions: Family::default(),
            master: Family::default(),
            leaders_acting: Gauge::default(),
            campaign_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 17)),
            renewals: Counter::default(),
            renewal_failures: Counter::default(),
            service_failures: Counter::default(),
            fencing_rejections: Counter::default(),
        };
        metrics.master.get_or_create(&[("name", election.to_owned())]).set(0);
        let registry = &mut metrics.registry;
        registry.register("fencepost_node_role", "1 for the node's role, 0 for the others", metrics.roles.clone());
        registry.register("fencepost_transitions", "Times that the node became", metrics.transitions.clone());
        registry.register(
            "leader_election_master_status",
            "Is this node the master of the election: 1 if so, else 0",
            metrics.master.clone(),
        );
        registry.register(
            "fencepost_leaders_acting",
            "1 while this node leads, has sealed every resource and its lease is valid; the fleet's sum must not pass 1",
            metrics.leaders_acting.clone(),
        );
        registry.register(
            "fencepost_campaign_seconds",
            "From wanting leadership to having it",
            metrics.campaign_seconds.clone(),
        );
        registry.register("fencepost_renewals", "Renewals that were confirmed", metrics.renewals.clone());
        registry.register(
            "fencepost_renewal_failures",
            "Requests to the coordination service that failed while this node led",
            metrics.renewal_failures.clone(),
        );
        registry.register(
            "fencepost_service_failures",
            "Requests to the coordination service that failed",
            metrics.service_failures.clone(),
        );
        registry.register(
            "fencepost_fencing_rejections",
            "Writes and seals that the store refused for their token",
            metrics.fencing_rejections.clone(),
        );
        metrics
    }

    /// The node has become that.
    pub fn transition(&self, to: &str) {
        self.transitions.get_or_create(&[("node", self.node.clone()), ("to", to.to_owned())]).inc();
    }

    /// Everything in Prometheus' text exposition, for a node of that standing whose monotonic clock shows `mono`.
    pub fn exposition(&self, election: &str, standing: &Standing, mono: u64) -> String {
        let now = Role::of(standing, mono);
        for role in Role::ALL {
            let labels = [("node", self.node.clone()), ("role", role.name().to_owned())];
            self.roles.get_or_create(&labels).set(i64::from(role == now));
        }
        let leads = now == Role::Leader;
        self.master.get_or_create(&[("name", election.to_owned())]).set(i64::from(leads));
        self.leaders_acting.set(i64::from(leads && standing.works));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Incarnation, NodeId};

    #[test]
    fn a_belief_that_has_run_out_is_no_leadership() {
        let incarnation = Some(Incarnation { epoch: 1, node: NodeId(0), term: 1 });
        let standing = Standing { incarnation, valid_until: 10, works: true, ..Standing::default() };
        let metrics = Metrics::new("n1", "sequence");
        let text = metrics.exposition("sequence", &standing, 9);
        assert!(text.contains("leader_election_master_status{name=\"sequence\"} 1"), "{text}");
        assert!(text.contains("fencepost_leaders_acting 1"), "{text}");
        let text = metrics.exposition("sequence", &standing, 10);
        assert!(text.contains("leader_election_master_status{name=\"sequence\"} 0"), "{text}");
        assert!(text.contains("fencepost_node_role{node=\"n1\",role=\"candidate\"} 1"), "{text}");
    }
}
