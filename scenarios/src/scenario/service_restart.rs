//! `service-restart`: the coordination service dies and comes back, once soon and once late.
//!
//! Redis and etcd have on disk what they acknowledge (Redis is assumed to sync every write). They lose what is in
//! memory: Redis its scripts, which clients have to send again; etcd its watches, and since it restarts its leases when
//! it restarts, every lease lasts longer than its holder knows. Nobody can renew meanwhile. One outage is shorter than
//! a lease and nobody need notice; the other is longer, and every belief with a time limit ends.
//!
//! As in `store-restart`: killed or without power by the seed, down for 20 to 500 ms, and for one to two leases.

use super::{Needs, Scenario, require, store_restart};
use crate::{fault::Who, params::Params, plan::Plan};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "service-restart",
    about: "The coordination service dies or loses power twice: it is back soon the one time, late the other.",
    story: "Twice, from a time drawn from the seed on, the coordination service is killed or its machine loses power. Once it \
            is back within half a second, once after one lease to two, longer than any leader may believe without it. It has \
            kept what it acknowledged, and nothing that was in memory only.",
    hazard: hazard::SERVICE_RESTART,
    needs: Needs::Service,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = store_restart::plan_of(&Who::Service, SCENARIO.name, params, protocol, seed);
    plan.requires = require([(Fact::Kills, 2), (Fact::Restarts, 2), (Fact::LeadersTookEffect, 1)]);
    plan
}
