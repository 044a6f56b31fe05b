//! `controller-resign-storm`: the leader's session ends again and again, each time once a successor is at work.
//!
//! Kafka's operators know it as controllers that resign one after the other: a slow ZooKeeper ends the session of its
//! busiest client, the controller, and the next controller has to load everything before it can act (the article *07 —
//! Leader Election* names the storm; `lost-lease` is two of these and looks at the writes in between). The scenario
//! checks that each of many elections gets a higher epoch than the one before, that one leader acts at a time, and that
//! the storm costs as many elections as sessions, not more.
//!
//! From a time drawn from the seed, the service ends the leader's session twelve times. Between two of them lies the
//! longest takeover and up to a quarter of a lease more.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms, without_waiting};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "controller-resign-storm",
    about: "The leader's session is ended twelve times, each time once a successor has taken over.",
    story: "From a time drawn from the seed on, twelve times, the coordination service ends the current leader's \
            session, as an overloaded one does to its busiest client. Each time another candidate is elected, or the \
            same one with a new session. Every election has a higher token than the last, and the resource never \
            accepts two leaders.",
    hazard: hazard::LOST_LEASE,
    needs: Needs::Named(&[
        "kafka-zk-controller",
        "zk-election",
        "zk-selector",
        "etcd-election",
        "etcd-key",
        "consul-session",
    ]),
    plan,
};

/// How many sessions end.
const SESSIONS: u64 = 12;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &without_waiting(params, SCENARIO.hazard, protocol);
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let longest_ms = takeover_ms + 1_000 + ttl_ms / 4;
    let needed_ms = last_strike_ms(params, protocol) + SESSIONS * longest_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let mut at_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for _ in 0..SESSIONS {
        plan.faults.push(at(at_ms, Fault::DropLease { node: Who::Leader }));
        at_ms += drawn_ms(&mut random, (takeover_ms + 1_000) as f64, longest_ms as f64);
    }
    let took_effect = if params.nodes > 1 { SESSIONS } else { 1 };
    plan.requires =
        require([(Fact::Faults, SESSIONS), (Fact::Elections, took_effect + 1), (Fact::LeadersTookEffect, took_effect)]);
    plan
}
