//! `unknown-outcome`: the service carries out a candidate's request, and the answer never comes.
//!
//! Then nobody knows whether the lock was taken, the node created, the watch set or the key given back, and every
//! client library has its own way to find out, or none: it looks for what it may have left (Curator's protected nodes),
//! takes it back (a compare and delete), or forgets it, and then the key has an owner that does not lead. A crash or a
//! cut in both directions shows none of that, since the request is lost as well.
//!
//! The seed draws the lost answer: to one of the first requests after the leader's death, to the first attempt to lead,
//! or to the resignation. Later the next leader dies as well: whatever was forgotten now blocks its successor.

use super::{Needs, Scenario, at, drawn_ms, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    point::Point,
};

pub const SCENARIO: Scenario = Scenario {
    name: "unknown-outcome",
    about: "The service does what a candidate asks, and its answer is lost; then the next leader dies.",
    story: "At a time drawn from the seed the leader is killed, or resigns. At one of the next questions to the \
            coordination service, drawn from the seed too, the answers to the asking candidate are lost for one to two \
            request timeouts, while all requests arrive. The candidate has to find out what was done, or take it back. \
            When all is healed and somebody leads, the leader is killed again, and a waiting candidate must take over \
            in the usual time.",
    // The fault loses an answer, not a renewal: the leader goes on until it dies.
    hazard: hazard::CRASH,
    needs: Needs::Service,
    plan,
};

/// One of this many requests after the leader's death is not answered.
const QUESTIONS: u64 = 5;
/// The other places where an answer is lost: the first attempt to lead, and the resignation.
const PLACES: u64 = QUESTIONS + 2;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let patience_ms = params.timings(protocol).request_timeout_ms;
    let lost_max_ms = 2 * patience_ms;
    // A forgotten grant may have to expire before anybody leads, and the lease before it as well.
    let between_ms = 2 * ttl_ms + takeover_ms + lost_max_ms + 2_000;
    let back_ms = (ttl_ms + takeover_ms) as f64;
    let over_ms = between_ms + back_ms as u64 + ttl_ms + lost_max_ms;
    let needed_ms = last_strike_ms(params, protocol) + over_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let place = streams::between(&mut random, 1, PLACES);
    let lost_ms = drawn_ms(&mut random, patience_ms as f64, lost_max_ms as f64);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let kill = || Fault::Kill { node: Who::Leader, restart_after_ms: Some(back_ms) };
    let (first, point, node, nth) = match place {
        PLACES => (Fault::Resign { node: Who::Leader }, Point::BeforeRelease, Who::Candidates, 1),
        place if place > QUESTIONS => (kill(), Point::BeforeCampaign, Who::Candidates, 1),
        nth => (kill(), Point::BeforeAsk, Who::Candidates, nth),
    };
    let after = Some(Box::new(Trigger::At { ms: strike_ms }));
    let asked = Trigger::Passage { point: point.name().to_owned(), node, nth, after, delay_ms: 0.0, matching: None };
    let (from, to) = (vec![Who::Service], vec![Who::Trigger]);
    let what = Fault::Partition { from, to, one_way: true, for_ms: Some(lost_ms) };
    plan.faults = vec![
        at(strike_ms, first),
        PlannedFault { when: asked, what, group: 0 },
        at(strike_ms + between_ms as f64, kill()),
    ];
    plan.liveness_bound_ms += ttl_ms + lost_max_ms;
    plan.requires = require([(Fact::Elections, 3), (Fact::LeadersTookEffect, 2)]);
    plan
}
