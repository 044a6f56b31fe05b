//! `service-leader-wakes`: Consul's leader is stopped with a request pending, is replaced, and answers the request when
//! it wakes.
//!
//! The first candidate has just acquired the lock, and asks for its token. The server stops right then, and the
//! candidate within a second, like the virtual machines of a suspended host:
//! ```text
//!  n1 acquires, and reads           others start     n1's session and the         they wake: n1 holds the lock,
//!  the lock: S stops, then n1       and elect S'     lock-delay end; n2 leads     S says, to the question of then
//! ```
//! The stopped server was the undoubted leader when the request arrived at its machine, and believes so for a moment
//! when it runs again. Its answer was true a minute ago. A client that builds on it has to make the server ask its
//! followers first (`?consistent`), which this one could not complete.
//!
//! A candidate that keeps running is not in danger: its agent abandons the silent connection within 40 s, and renews
//! the session with another server meanwhile. Neither is one connected to a server that does not lead: that server
//! abandons the connection to the leader.

use super::{Needs, Scenario, clustered, drawn_ms, failover_ms, require};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
    point::Point,
};

pub const SCENARIO: Scenario = Scenario {
    name: "service-leader-wakes",
    about: "Consul's leader stops with a candidate's query pending, is replaced, and answers when it wakes up.",
    story: "The first candidate has acquired the lock and asks for its token, and in this moment it stops, together with the \
            server that leads: their host is suspended. The others elect another server, the candidate's session ends and the \
            lock-delay after it, and somebody else leads. Then both run again, and the server first of all answers what it was \
            asked.",
    hazard: Hazard::new("The coordination service's leading member stalls for longer than a lease, and wakes up."),
    needs: Needs::Named(&["consul-session"]),
    plan,
};

/// How much later the other candidates start, milliseconds: by then the first has the lock, or never gets it.
const AHEAD_MS: u64 = 1_000;
/// The first candidate's third request: after the session and the lock it asks for the token.
const READS: u64 = 3;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &clustered(params, protocol);
    let ttl_ms = params.granted_ttl_ms(protocol);
    let takeover_ms = params.takeover_max_ms(protocol);
    let failover_ms = failover_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let gone_ms = failover_ms + ttl_ms + takeover_ms;
    let for_ms = drawn_ms(&mut random, (gone_ms + 5_000) as f64, (gone_ms + 10_000) as f64);
    let bound_ms = params.liveness_bound_ms(protocol) + gone_ms + 10_000;
    let rest_ms = params.aftermath_ms(protocol).max(bound_ms + 1_000);
    let needed_ms = 2 * AHEAD_MS + gone_ms + 10_000 + rest_ms + 4 * params.timings(protocol).renew_interval_ms;
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    for candidate in plan.candidates.iter_mut().skip(1) {
        candidate.starts_at_ms += AHEAD_MS + params.network().one_way_max_us() * 20 / 1_000;
    }
    let (point, node) = (Point::BeforeAsk.name().to_owned(), Who::Named(super::candidate(1)));
    let reads = Trigger::Passage { point, node, nth: READS, after: None, delay_ms: 0.0, matching: None };
    let stop = |when, node| PlannedFault { when, what: Fault::Pause { node, for_ms }, group: 0 };
    let others_start = Trigger::At { ms: AHEAD_MS as f64 };
    plan.faults = vec![stop(reads, Who::ServiceLeader), stop(others_start, Who::Named(super::candidate(1)))];
    plan.requires = require([(Fact::Faults, 2), (Fact::LeadersTookEffect, 1)]);
    plan.liveness_bound_ms = bound_ms;
    plan
}
