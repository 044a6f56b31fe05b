//! `reaped-parent`: all candidates are away for longer than a session lasts, and ZooKeeper reaps the node that they
//! queue below.
//!
//! Curator's recipes create the node below which candidates queue as a *container*, and ZooKeeper deletes empty
//! containers (`ContainerManager.java`, once a minute). The next candidate creates it again, and its children are
//! numbered from 0 again (the number is the parent's count of changes). A sequence number used as the token therefore
//! goes back; the node's czxid, which counts the ensemble's transactions, does not. `--bug zk-token-by-sequence` takes
//! the token from the name.
//!
//! All candidates lose power at a time drawn from the seed, until every session has ended and the container was
//! scanned. Here the scan comes one session and two ticks later; the run does not wait a minute for it.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    service::zookeeper::TICK,
    types::MILLISECOND,
};

pub const SCENARIO: Scenario = Scenario {
    name: "reaped-parent",
    about: "All candidates are down for longer than a session, and the parent node of their queue is reaped meanwhile.",
    story: "At a time drawn from the seed every candidate's machine loses power. Their sessions run out, and ZooKeeper deletes the \
            container that their nodes were in, as it does with empty ones. Then they are back, and the first of them makes it \
            again, with numbers that begin at 0.",
    hazard: hazard::POWER_OUTAGE,
    needs: Needs::Named(&["zk-election", "zk-selector"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let over_ms = params.granted_ttl_ms(protocol) + 2 * TICK / MILLISECOND;
    let needed_ms = last_strike_ms(params, protocol) + over_ms + 2_000 + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let restart_after_ms = Some((over_ms + 1_000) as f64);
    plan.faults = vec![
        at(strike_ms, Fault::PowerLoss { node: Who::Candidates, restart_after_ms }),
        at(strike_ms + over_ms as f64, Fault::DropKey { node: Who::Service }),
    ];
    plan.requires =
        require([(Fact::PowerOffs, u64::from(params.nodes)), (Fact::ElectedAfterOutage, 1), (Fact::Elections, 2)]);
    plan
}
