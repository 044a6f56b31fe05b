//! `unheard-transfer`: the leader hands over, and does not hear that the hand-over succeeded.
//!
//! A leader that hands over tells its successor to stand at once, and the others to vote whatever they have promised
//! (Ongaro's dissertation, §3.10): nobody waits for the old leader's lease. So it may not use its lease any more, from
//! before it sends that message (databendlabs/openraft issue 1747). Reads are answered from memory here.
//!
//! From the moment of the order, nothing that the followers send reaches the leader: it can send the message, and hears
//! nothing of votes and terms.

use super::{Needs, Scenario, at, last_strike_ms, require, strike_ms};
use crate::{
    fault::{Fault, Who},
    params::{Params, READS_PER_S},
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "unheard-transfer",
    about: "The leader hands over, and hears nothing of the others from then on.",
    story: "At a time drawn from the seed the leader is asked to hand over to a follower, and in the same moment stops hearing \
            the others. It tells the follower to stand; the others vote at once, whatever they had promised; and the new leader \
            hands out numbers. Clients go on asking the old one, which answers from memory for as long as it believes.",
    hazard: hazard::TRANSFER,
    needs: Needs::Named(&["raft-core"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let deaf_ms = 4 * params.granted_ttl_ms(protocol) + 1_000;
    let needed_ms = last_strike_ms(params, protocol) + deaf_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let transfer_ms = strike_ms(&mut random, params, protocol);
    let reads_per_s = Some(params.reads_per_s.unwrap_or(READS_PER_S));
    let params = Params { read_lease: params.read_lease.or(Some(true)), reads_per_s, ..params.clone() };
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (from, to) = (vec![Who::Followers], vec![Who::Leader]);
    plan.faults = vec![
        at(transfer_ms, Fault::Partition { from, to, one_way: true, for_ms: Some(deaf_ms as f64) }),
        at(transfer_ms, Fault::Transfer { node: Who::Leader, to: Who::Followers }),
    ];
    plan.requires = require([(Fact::TransfersWon, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}
