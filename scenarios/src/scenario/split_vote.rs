//! `split-vote`: the leader dies, and all other candidates stand at the same instant.
//!
//! Drawn election timeouts keep candidates from standing at once; here they cannot. Right after the leader's death the
//! others stall together, as on one overcommitted host, for longer than any of them would have waited. They wake with
//! expired timeouts, all stand before they have heard of each other, and each votes for itself. Their next draws decide
//! how long that goes on: with no spread at all elections took more than 10 s, and 5 ms of spread helped significantly
//! (Ongaro and Ousterhout 2014, section 9.3, figure 16). So the plan narrows the spread to twice the longest latency,
//! unless `--election-timeout` asks for another.
//!
//! The times, with K the death:
//! ```text
//!  K             K + settle            + ttl + takeover + margin        + 3 to 6 longest timeouts
//!  leader dies   others stall          all wake and stand               the dead one is back
//! ```
//! - The dead leader's last messages must arrive before the stall, or they would be read after it and postpone some
//!   timeouts: settle is twice the longest latency and 1 ms, within which no timeout ends.
//! - The candidates first have to agree without the dead one; its vote helps later.
//! - Every further round takes up to a timeout. The liveness bound allows for 20.

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
    name: "split-vote",
    about: "The leader dies and all others stand at the same instant, with little between their timeouts.",
    story: "At a time drawn from the seed the leader is killed, and the other candidates stall until each has waited long \
            enough. They wake together and stand together, and each votes for itself. Their next election timeouts are \
            drawn from a range that is hardly wider than a message's way there and back, so they may collide again.",
    hazard: hazard::SPLIT_VOTE,
    needs: Needs::ElectionTimeout,
    plan,
};

/// Rounds of elections that the liveness bound allows for.
const ROUNDS: u64 = 20;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let trip_ms = params.network().one_way_max_us().div_ceil(1_000);
    let narrow = |(min_ms, max_ms)| match params.election_timeout_ms {
        Some(_) => (min_ms, max_ms),
        None => (min_ms, min_ms + (2 * trip_ms).max(1)),
    };
    let election_timeout_ms = params.timings(protocol).election_timeout_ms.map(narrow);
    let longest_ms = election_timeout_ms.map_or(0, |(_, max_ms)| max_ms);
    let params = &Params { election_timeout_ms, ..params.clone() };
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    // Slow clocks wait longer.
    let drift_ms = (ttl_ms + takeover_ms).saturating_mul(params.clock_drift_ppm.saturating_mul(2)) / 1_000_000;
    let stall_ms = ttl_ms + takeover_ms + drift_ms + 100;
    let settle_ms = 2 * trip_ms + 1;
    let back_ms = (settle_ms + stall_ms + 3 * longest_ms) as f64;
    let back_max_ms = back_ms + 3.0 * longest_ms as f64;
    let rounds_ms = ROUNDS * longest_ms;
    let needed_ms = last_strike_ms(params, protocol) + back_max_ms as u64 + rounds_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let kill_ms = strike_ms(&mut random, params, protocol);
    let restart_after_ms = Some(drawn_ms(&mut random, back_ms, back_max_ms));
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![
        at(kill_ms, Fault::Kill { node: Who::Leader, restart_after_ms }),
        at(kill_ms + settle_ms as f64, Fault::Pause { node: Who::Candidates, for_ms: stall_ms as f64 }),
    ];
    plan.requires = require([(Fact::Kills, 1), (Fact::ContestedElections, 1), (Fact::LeadersTookEffect, 2)]);
    plan.liveness_bound_ms += rounds_ms;
    plan
}
