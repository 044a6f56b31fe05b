//! A store's metrics and logs: every refusal, and how many leaders took effect concurrently.

use super::wire::{self, Reply, Request, Seal, Sealed, State, Verdict, Write, Written};
use crate::exposition;
use axum::{Router, http::HeaderMap, routing::get};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    time::{Duration, Instant},
};

/// A leader stops counting as acting after this long without an accepted write; the scheduler writes every second.
const WINDOW: Duration = Duration::from_secs(10);

type ByResource = [(&'static str, &'static str); 1];
type ByNode = [(&'static str, String); 1];
type Decision = [(&'static str, &'static str); 3];

/// A store's metrics, across all connections.
pub struct Metrics {
    registry: Registry,
    decisions: Family<Decision, Counter>,
    rejections: Family<ByResource, Counter>,
    highest: Family<ByResource, Gauge>,
    last_seq: Family<ByResource, Gauge>,
    acting: Gauge,
    stale_accepted: Counter,
    leader_token: Family<ByNode, Gauge>,
    leader_accepted_age: Family<ByNode, Gauge<f64, AtomicU64>>,
    batch_seconds: Histogram,
    effects: Mutex<Effects>,
}

/// The leaders whose writes took effect recently.
#[derive(Debug, Default)]
struct Effects {
    writes: u64,
    leaders: Vec<Leader>,
    /// The highest token of an accepted write; it outlasts its leader's entry.
    highest: u64,
}

#[derive(Debug)]
struct Leader {
    node: String,
    generation: u32,
    token: u64,
    /// The ordinals of its first and its last accepted write among all accepted ones.
    first: u64,
    last: u64,
    last_at: Instant,
}

impl Effects {
    /// Records an accepted write of that leader. Returns whether it was stale: a later leader had already taken effect.
    fn accepted(&mut self, node: &str, generation: u32, token: u64, now: Instant) -> bool {
        self.writes += 1;
        let nth = self.writes;
        let mut stale = token < self.highest;
        self.highest = self.highest.max(token);
        let known = self.leaders.iter().position(|l| l.node == node && l.generation == generation && l.token == token);
        match known {
            Some(place) => {
                let first = self.leaders[place].first;
                stale |= self.leaders.iter().any(|later| later.first > first);
                (self.leaders[place].last, self.leaders[place].last_at) = (nth, now);
            }
            None => {
                self.forget(now);
                let node = node.to_owned();
                self.leaders.push(Leader { node, generation, token, first: nth, last: nth, last_at: now });
            }
        }
        stale
    }

    fn forget(&mut self, now: Instant) {
        self.leaders.retain(|leader| now.duration_since(leader.last_at) < WINDOW);
    }

    /// The largest number of leaders that acted at one moment of the window, each from its first to its last accepted
    /// write, as in the invariant `leaders_acting_by_effect`.
    fn acting(&mut self, now: Instant) -> usize {
        self.forget(now);
        let covers = |at: u64| self.leaders.iter().filter(|l| l.first <= at && at <= l.last).count();
        self.leaders.iter().map(|leader| covers(leader.first)).max().unwrap_or(0)
    }

    /// Each node's latest leadership that took effect within the window.
    fn latest(&self) -> BTreeMap<&str, &Leader> {
        let mut latest: BTreeMap<&str, &Leader> = BTreeMap::new();
        for leader in &self.leaders {
            let of_node = latest.entry(&leader.node).or_insert(leader);
            if leader.last > of_node.last {
                *of_node = leader;
            }
        }
        latest
    }
}

impl Metrics {
    /// Metrics without any decision yet; `commit` is what the store was built from.
    pub fn new(commit: &str) -> Self {
        let (registry, batch_seconds) = (exposition::registry(commit), exposition::doubling(0.000_1, 16));
        let (decisions, rejections, highest, last_seq) = Default::default();
        let (acting, stale_accepted, leader_token, leader_accepted_age, effects) = Default::default();
        let mut metrics = Metrics {
            registry,
            decisions,
            rejections,
            highest,
            last_seq,
            acting,
            stale_accepted,
            leader_token,
            leader_accepted_age,
            batch_seconds,
            effects,
        };
        metrics.register_decisions();
        metrics.register_leaders();
        for resource in wire::RESOURCES {
            // Shown from the beginning.
            drop(metrics.rejections.get_or_create(&[("resource", resource)]));
        }
        metrics
    }

    fn register_decisions(&mut self) {
        let registry = &mut self.registry;
        registry.register("fencepost_store_decisions", "Seals and writes decided on", self.decisions.clone());
        registry.register(
            "fencepost_store_rejections",
            "Seals and writes refused for their token",
            self.rejections.clone(),
        );
        registry.register(
            "fencepost_store_highest_token",
            "The highest token that the resource has accepted",
            self.highest.clone(),
        );
        registry.register("fencepost_store_last_seq", "The resource's last sequence number", self.last_seq.clone());
        registry.register(
            "fencepost_store_batch_seconds",
            "How long a batch of decisions took to become durable",
            self.batch_seconds.clone(),
        );
    }

    fn register_leaders(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "fencepost_leaders_acting",
            "How many leaders of the fleet took effect at once in the last 10 s, with interleaved accepted writes; it \
             must not exceed 1, and is 0 while nobody writes",
            self.acting.clone(),
        );
        registry.register(
            "fencepost_store_stale_accepted",
            "Writes accepted although a later leader had taken effect; it stays 0 with fencing on",
            self.stale_accepted.clone(),
        );
        registry.register(
            "fencepost_store_leader_token",
            "The token of the node's latest leadership that took effect in the last 10 s; 0 without tokens",
            self.leader_token.clone(),
        );
        registry.register(
            "fencepost_store_leader_accepted_age_seconds",
            "How long ago that leadership's last write was accepted",
            self.leader_accepted_age.clone(),
        );
    }

    /// Counts a durable, answered batch.
    pub(super) fn decided(&self, batch: &[Request], replies: &[Reply], took: Duration) {
        self.batch_seconds.observe(took.as_secs_f64());
        batch.iter().zip(replies).for_each(|(request, reply)| self.answered(request, reply));
    }

    fn answered(&self, request: &Request, reply: &Reply) {
        let name = wire::name(request.resource());
        let resource = [("resource", name)];
        match (request, reply) {
            (Request::Seal(Seal { node, generation, token, .. }), Reply::Sealed(Sealed { verdict, seq, .. })) => {
                self.count(name, "seal", *verdict);
                match verdict {
                    Verdict::Fenced { highest } => self.refused(name, "seal", node, *generation, *token, *highest),
                    _ => {
                        self.highest.get_or_create(&resource).set(*token as i64);
                        self.last_seq.get_or_create(&resource).set(*seq as i64);
                    }
                }
            }
            (Request::Write(Write { node, generation, token, .. }), Reply::Written(Written { verdict, seq, .. })) => {
                self.count(name, "write", *verdict);
                match verdict {
                    Verdict::Fenced { highest } => self.refused(name, "write", node, *generation, *token, *highest),
                    Verdict::Ok => {
                        tracing::debug!(resource = name, node, token, seq, generation, "accepted");
                        self.last_seq.get_or_create(&resource).set(*seq as i64);
                        if self.effects().accepted(node, *generation, *token, Instant::now()) {
                            self.stale_accepted.inc();
                            tracing::error!(
                                resource = name,
                                node,
                                generation,
                                token,
                                "accepted a write although a later leader had taken effect"
                            );
                        }
                    }
                    Verdict::Duplicate { .. } | Verdict::Failed { .. } => {}
                }
            }
            (Request::State(_), Reply::State(State { highest, seq, .. })) => {
                self.highest.get_or_create(&resource).set(*highest as i64);
                self.last_seq.get_or_create(&resource).set(*seq as i64);
            }
            _ => {}
        }
    }

    fn count(&self, resource: &'static str, what: &'static str, verdict: Verdict) {
        let labels = [("resource", resource), ("what", what), ("verdict", verdict.name())];
        self.decisions.get_or_create(&labels).inc();
    }

    fn refused(&self, resource: &'static str, what: &str, node: &str, generation: u32, token: u64, highest: u64) {
        self.rejections.get_or_create(&[("resource", resource)]).inc();
        tracing::warn!(resource, node, generation, token, highest, "refused a {what}: its token is stale");
    }

    fn effects(&self) -> std::sync::MutexGuard<'_, Effects> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All metrics in Prometheus' text format.
    pub fn exposition(&self) -> String {
        let now = Instant::now();
        let mut effects = self.effects();
        self.acting.set(effects.acting(now) as i64);
        self.leader_token.clear();
        self.leader_accepted_age.clear();
        for (node, leader) in effects.latest() {
            let label = [("node", node.to_owned())];
            self.leader_token.get_or_create(&label).set(leader.token as i64);
            let age = now.duration_since(leader.last_at).as_secs_f64();
            self.leader_accepted_age.get_or_create(&label).set(age);
        }
        // The lock is held until here, so that concurrent scrapes do not mix.
        let text = exposition::text(&self.registry);
        drop(effects);
        text
    }
}

/// Serves `/metrics` and `/healthz`.
pub fn router(metrics: Arc<Metrics>) -> Router {
    let answer = move |asked: HeaderMap| {
        let text = metrics.exposition();
        async move { exposition::answer(&asked, text) }
    };
    Router::new().route("/metrics", get(answer)).route("/healthz", get(|| async { "ok\n" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_that_follow_each_other_do_not_act_at_once() {
        let (mut effects, now) = (Effects::default(), Instant::now());
        assert_eq!(effects.acting(now), 0);
        for (node, token) in [("n1", 5), ("n1", 5), ("n2", 6), ("n2", 6)] {
            assert!(!effects.accepted(node, 1, token, now));
        }
        assert_eq!(effects.acting(now), 1);
        // A write of the former leader amid its successor's.
        assert!(effects.accepted("n1", 1, 5, now));
        assert_eq!(effects.acting(now), 2);
        let latest: Vec<_> = effects.latest().into_iter().map(|(node, leader)| (node, leader.token)).collect();
        assert_eq!(latest, [("n1", 5), ("n2", 6)]);
        assert_eq!(effects.acting(now + WINDOW), 0, "nobody writes any more");
        // Its leadership has been forgotten, but its token is still too low.
        assert!(effects.accepted("n1", 1, 5, now + WINDOW) && !effects.accepted("n3", 1, 6, now + WINDOW));
    }

    /// There only the order shows it: a leadership that continues after another one has begun.
    #[test]
    fn without_tokens_a_former_leaders_write_is_noticed_as_well() {
        let (mut effects, now) = (Effects::default(), Instant::now());
        let stale =
            [("n1", 1), ("n2", 1), ("n2", 1), ("n1", 2), ("n2", 1)].map(|(n, g)| effects.accepted(n, g, 0, now));
        assert_eq!(stale, [false, false, false, false, true]);
    }

    #[test]
    fn decisions_are_counted_by_verdict() {
        let metrics = Metrics::new("abc");
        let resource = protocols::types::Resource::SEQUENCE.into();
        let seal = |token| {
            Request::Seal(Seal {
                resource,
                node: "n1".into(),
                generation: 1,
                token,
                payload: false,
                mac: String::new(),
            })
        };
        let sealed = |token, verdict| {
            Reply::Sealed(Sealed {
                resource,
                node: "n1".into(),
                generation: 1,
                token,
                verdict,
                seq: 3,
                version: 3,
                payload: None,
            })
        };
        let replies = [sealed(7, Verdict::Ok), sealed(6, Verdict::Fenced { highest: 7 })];
        metrics.decided(&[seal(7), seal(6)], &replies, Duration::from_millis(1));
        let text = metrics.exposition();
        for line in [
            "fencepost_store_decisions_total{resource=\"sequence\",what=\"seal\",verdict=\"fenced\"} 1",
            "fencepost_store_rejections_total{resource=\"sequence\"} 1",
            "fencepost_store_rejections_total{resource=\"schedule\"} 0",
            "fencepost_store_highest_token{resource=\"sequence\"} 7",
            "fencepost_store_last_seq{resource=\"sequence\"} 3",
            "fencepost_leaders_acting 0",
            "fencepost_store_stale_accepted_total 0",
            "fencepost_build_info{version=\"0.1.0\",commit=\"abc\"} 1",
        ] {
            assert!(text.lines().any(|shown| shown == line), "`{line}` is not in:\n{text}");
        }
    }
}
