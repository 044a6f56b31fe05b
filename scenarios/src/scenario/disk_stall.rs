//! `disk-stall`: syncs of a candidate's disk are slow, hang, or fail, and the fleet has to elect meanwhile.
//!
//! A protocol must have its votes, terms and epochs on disk before it tells anybody. While a voter's disk stalls it
//! cannot answer, and an election goes on without it, or waits. A voter that answers first and syncs later is faster,
//! and wrong. A failed sync must not be retried as if nothing had happened: the data it was to save may be gone.
//!
//! By the seed the disk is the leader's or that of a drawn candidate, and every sync takes 20 to 200 ms longer, never
//! ends, or fails. Then, by the seed, the leader is killed or pauses, for as long as the others wait for it and 700 ms:
//! ```text
//!  S              S + up to a lease     + ttl + takeover + 700 ms      + ttl
//!  disk stalls    leader is gone        leader is back                 disk is well
//! ```
//! After a kill, a leader has to be elected again; after a pause during which nobody could be elected, the leader may
//! go on.
//!
//! The liveness bound counts from the end of the last fault, which is the disk's.

use super::{Needs, Scenario, at, candidate, drawn_ms, last_strike_ms, require, strike_ms, without_waiting};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "disk-stall",
    about: "Syncs of the leader's disk or a voter's are slow, hang or fail while others elect.",
    story: "At a time drawn from the seed the disk of the leader or of a candidate drawn from the seed begins to stall: its \
            syncs take long, do not end, or fail. Soon after, the leader dies or stops for longer than the others wait for \
            it, and they have to elect with what disks there are. What was not saved must not have been promised to anybody.",
    hazard: Hazard { restarts: true, ..Hazard::new("A candidate's disk syncs slowly, hangs or fails.") },
    needs: Needs::Disk,
    plan,
};

/// How much longer than the others' wait the leader is stopped, milliseconds.
const BEYOND_WAIT_MS: u64 = 700;
/// How much longer a slow sync takes, microseconds.
const SLOW_US: (u64, u64) = (20_000, 200_000);

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    let stop_ms = ttl_ms + takeover_ms + BEYOND_WAIT_MS;
    let stall_ms = ttl_ms + stop_ms + ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + stall_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let stops_ms = strike_ms + drawn_ms(&mut random, 0.0, ttl_ms as f64);
    let voter = candidate(streams::between(&mut random, 1, u64::from(params.nodes)) as u16);
    let node = if streams::between(&mut random, 0, 1) == 0 { Who::Leader } else { Who::Named(voter) };
    let extra_us = streams::between(&mut random, SLOW_US.0, SLOW_US.1);
    let for_ms = Some(stall_ms as f64);
    let stall = match streams::between(&mut random, 0, 2) {
        0 => Fault::SlowDisk { node, extra_us, for_ms },
        1 => Fault::SyncHang { node, for_ms },
        _ => Fault::SyncFail { node, silent: false, for_ms },
    };
    let params = without_waiting(params, SCENARIO.hazard, protocol);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    let (node, for_ms) = (Who::Leader, stop_ms as f64);
    let (gone, shown) = match streams::between(&mut random, 0, 1) {
        0 => (Fault::Pause { node, for_ms }, [(Fact::Faults, 2), (Fact::Pauses, 1)]),
        _ => (Fault::Kill { node, restart_after_ms: Some(for_ms) }, [(Fact::Faults, 2), (Fact::Elections, 2)]),
    };
    plan.faults = vec![at(strike_ms, stall), at(stops_ms, gone)];
    plan.requires = require(shown);
    plan
}
