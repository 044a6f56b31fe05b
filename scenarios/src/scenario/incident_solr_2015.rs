//! `incident-solr-2015`: under load, a garbage collection stops a shard leader for longer than its ZooKeeper session
//! lasts.
//!
//! *What the article says* (*07 — Leader Election*, "Failure Modes"): "ZooKeeper session timeout during high load.
//! Multiple nodes simultaneously believed they were leader for the same shard. Both accepted indexing requests. After
//! the split was detected, the secondary leader's documents were deleted." No public report of that incident could be
//! found; the remedy is Solr's own: since 7.3 a shard's replicas have terms in ZooKeeper (SOLR-11702, `ZkShardTerms`),
//! which is a fence by number.
//!
//! *What the run shows.* Two shards with a leader each, from the same nodes, under five times the usual load. The first
//! shard's leader is paused between checking that it leads and writing, for a session and a tick more. Without the
//! fence one shard holds the documents of two leaders, numbers occur twice, and reads come and go; with it the
//! sleeper's document is refused. The other shard, which has its own leader, is affected only if the same node leads
//! both.
//!
//! Solr's nodes elect by ephemeral sequential nodes, as Curator's latch does (`LeaderElector.java`); indexing is
//! modelled as a numbered write only.

use super::{Needs, Scenario, gc_pause};
use crate::{params::Params, plan::Plan};
use protocols::election::{Protocol, hazard};

pub const SCENARIO: Scenario = Scenario {
    name: "incident-solr-2015",
    about: "Under load, a shard leader is stopped for longer than its ZooKeeper session lasts, and keeps indexing when \
            it wakes.",
    story: "The article \"07 — Leader Election\" reports a SolrCloud in which two nodes led one shard after a session \
            had timed out under load, and documents of one of them were deleted later. Here a shard's leader is \
            stopped for longer than its session, another one is elected, and the sleeper sends the document that it \
            had already checked its leadership for.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Named(&["zk-election", "zk-selector"]),
    plan,
};

/// How many times the usual load.
const LOAD: u64 = 5;
/// How many shards have their leaders among the same nodes.
const SHARDS: u16 = 2;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (rate, groups) = (params.rate.saturating_mul(LOAD), params.groups.max(SHARDS));
    let reads_per_s = params.reads_per_s.or(Some(params.rate / 10));
    gc_pause::plan_of(SCENARIO.name, &Params { rate, groups, reads_per_s, ..params.clone() }, protocol, seed)
}
