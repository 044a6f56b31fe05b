//! `expired-waiter`: queued candidates lose their sessions without knowing it, and then it is their turn.
//!
//! A session ends at the service, by an operator or because its keepalives were late; its holder learns of that only at
//! its next keepalive. In between the leader lets go, and the next in the queue is woken. A candidate that takes a
//! missing predecessor for leadership leads without a place in the queue (Jepsen's analysis of etcd 3.4.3).
//!
//! All followers' sessions are dropped at a time drawn from the seed, and the leader resigns 5 to 200 ms later: much
//! less than the third of a lease after which they would notice.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
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
    name: "expired-waiter",
    about: "Waiting candidates lose their sessions, and the leader resigns before they notice.",
    story: "At a time drawn from the seed the coordination service ends the sessions of all waiting candidates, with \
            everything that they hold. Before they hear of it the leader resigns, and a candidate that looks finds \
            nobody in front. That is not enough to lead: it also needs a place of its own in the queue.",
    hazard: hazard::LOST_LEASE,
    needs: Needs::Named(&["etcd-election", "etcd-key", "zk-election", "zk-selector"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &super::without_waiting(params, SCENARIO.hazard, protocol);
    let needed_ms = last_strike_ms(params, protocol) + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let drop_ms = strike_ms(&mut random, params, protocol);
    let resign_ms = drop_ms + drawn_ms(&mut random, 5.0, 200.0);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![
        at(drop_ms, Fault::DropLease { node: Who::Followers }),
        at(resign_ms, Fault::Resign { node: Who::Leader }),
    ];
    plan.requires = require([(Fact::Faults, 2), (Fact::Resignations, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
