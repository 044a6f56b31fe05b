//! `steady`: no faults.
//!
//! The baseline of all others, and the run for measuring speed and memory. No failure here is caused by a fault.

use super::{Needs, Scenario, require};
use crate::{params::Params, plan::Plan};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "steady",
    about: "Nothing goes wrong: one leader is elected and serves to the end.",
    story: "The candidates start within a quarter of a second, one of them wins, seals the store and serves every request \
            until the run ends. It shows what an undisturbed fleet costs, and that no invariant fails without a fault.",
    hazard: hazard::NONE,
    needs: Needs::Nothing,
    plan,
};

/// Default length of the run, milliseconds: four leases, at least 30 s.
fn needed_ms(params: &Params, protocol: &Protocol) -> u64 {
    (4 * params.granted_ttl_ms(protocol)).max(30_000)
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms(params, protocol));
    // A tenth of the requests: far fewer than any healthy run writes, and far more than a fleet that never settled.
    let asked = params.rate.saturating_mul(plan.duration_ms) / 1_000;
    plan.requires = require([(Fact::Elections, 1), (Fact::WritesAccepted, (asked / 10).max(1))]);
    plan
}
