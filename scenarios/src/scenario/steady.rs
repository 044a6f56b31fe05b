//! `steady`: nothing goes wrong.
//!
//! The baseline of all others, and the run that speed and memory are measured with. Whatever fails here is no fault's
//! doing.

use super::{Needs, Scenario, require};
use crate::{params::Params, plan::Plan};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
};

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "steady",
    about: "Nothing goes wrong: one leader is elected and serves to the end.",
    story: "The candidates start within a quarter of a second, one of them wins, seals the store and serves every request \
            until the run ends. It shows what an undisturbed fleet costs, and that no invariant fails without a fault.",
    hazard: Hazard::None,
    needs: Needs::Nothing,
    plan,
};

/// How long it takes unless a duration is asked for: four leases, at least 30 s.
fn needed_ms(params: &Params, protocol: &Protocol) -> u64 {
    (4 * params.granted_ttl_ms(protocol)).max(30_000)
}

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms(params, protocol));
    // A tenth of what is asked for: far less than any healthy run writes, and far more than a fleet that never settled.
    let asked = params.rate.saturating_mul(plan.duration_ms) / 1_000;
    plan.requires = require([(Fact::Elections, 1), (Fact::WritesAccepted, (asked / 10).max(1))]);
    plan
}
