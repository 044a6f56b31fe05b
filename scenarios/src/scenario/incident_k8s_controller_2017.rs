//! `incident-k8s-controller-2017`: the controller manager cannot reach the API server for slightly longer than its
//! lease.
//!
//! *What the article says* (*07 — Leader Election*, "Failure Modes"): "A bug in the Kubernetes leader election lease
//! refresh mechanism caused two instances of the controller manager to both believe they held the lease during a brief
//! network hiccup … creating duplicate objects. The fix was to strengthen the OnStoppedLeading callback to immediately
//! terminate the process."
//!
//! The text gives no reference. The bug on record is older and differs: a leader that had lost its lease went on
//! renewing for ever, so OnStoppedLeading was never called (kubernetes/kubernetes issue 23731, of 2016). That is `--bug
//! k8s-renews-for-ever`. The callback is meant to end the process, and it is no fence: client-go's package
//! documentation says that it does not guarantee that only one client is acting as a leader.
//!
//! *What the run shows.* A cut of one and a half leases between the leader and the API server. In its current form the
//! leader gives up within its renew deadline, before anybody may take the lease, and nothing is created twice, even
//! without a fence, as far as clocks and pauses allow. With the bug two leaders reconcile for as long as the old one
//! lives, and only the token tells them apart.

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
};

pub const SCENARIO: Scenario = Scenario {
    name: "incident-k8s-controller-2017",
    about: "The leading controller manager is cut off from the API server for one and a half leases.",
    story: "The article \"07 — Leader Election\" reports two controller managers that both believed that they held the \
            lease after a brief network problem, and created objects twice. Here the leader cannot reach the API \
            server for one and a half leases. It has to stop by itself before another one takes the lease; `--bug \
            k8s-renews-for-ever` is the code that did not.",
    hazard: hazard::CUT_OFF_FROM_SERVICE,
    needs: Needs::Named(&["k8s-lease"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    // Long enough for another to take the lease before the leader can hear of it.
    let cut_ms = (ttl_ms * 3 / 2).max(ttl_ms + takeover_ms + 500);
    let needed_ms = last_strike_ms(params, protocol) + cut_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let (from, to) = (vec![Who::Leader], vec![Who::Service]);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, Fault::Partition { from, to, one_way: false, for_ms: Some(cut_ms as f64) })];
    plan.requires = require([(Fact::ElectedWhileCutOff, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
