//! `gc-pause`: the leader checks its lease, pauses for longer than the lease lasts, and wakes in the middle of a write.
//!
//! Kleppmann's story of the unsafe lock (2016). No check of the lease can help, since the pause comes after it: only
//! the resource can refuse the write.
//!
//! The times, with R the leader's last confirmed renewal before the pause and φ the phase at which the pause begins:
//! ```text
//!  R          R+φ                      R+ttl      ≤ R+ttl+takeover   + guard     R+φ+pause
//!  renewed    lease checked, paused    runs out   successor elected  it sealed   wakes, writes
//! ```
//! - The successor must have sealed before the sleeper wakes: φ ≥ ttl + takeover + guard − pause; with the default
//!   pause of ttl + 500 ms that is takeover + guard − 500 ms. And φ ≥ 50 ms, so that the renewal has ended.
//! - The next renewal must not have been sent: φ ≤ renew interval − margin.
//!
//! φ in milliseconds on the `lan`, with the default pause:
//!
//! | ttl asked | Redis: takeover is the renew interval | etcd: takeover at most 1 s |
//! |---|---|---|
//! | 1 s | 50 to 281 (renew 333) | 460 to 614 (granted 2 s, renew 666), with a pause of 2696 ms |
//! | 3 s | 656 to 948 (renew 1000) | 656 to 948 (renew 1000) |
//! | 10 s | 2991 to 3281 (renew 3333) | 657 to 3281 (renew 3333) |
//! | 30 s | 9663 to 9948 (renew 10000) | 661 to 9948 (renew 10000) |
//!
//! If ttl + 500 ms leaves no phase that surely works (because a takeover takes much longer than a renewal, as with
//! drawn election timeouts), the default pause is long enough for the last quarter of the phases. A longer `--pause`
//! moves the lower end down to 50 ms. A shorter one may leave no phase that surely works; then the pause takes the
//! latest phase before the next renewal, and a run whose successor came too late is vacuous.
//!
//! If a holder keeps its lock however long its process pauses (a session's advisory lock), an operator ends its session
//! a quarter of a lease into the pause, to unblock the others.
//!
//! By then the successor has written, so the sleeper's write is also out of order, and a store that only checks the
//! order would refuse it too. So in one seed of three the clients cannot reach the successor until the sleeper has
//! written: its number is the next, its request is new, and only its token is wrong. With `--fencing token`, `order` or
//! `memory` this holds in every run, since it tells the three apart; with `off` in none, since two leaders that write
//! in turn never overlap.

use super::{Needs, Scenario, drawn_ms, require, settled_ms};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
};
use protocols::{
    election::{Protocol, hazard},
    fence::checks::Fencing,
    history::Fact,
    point::Point,
};

pub const SCENARIO: Scenario = Scenario {
    name: "gc-pause",
    about: "The leader is stopped between checking its lease and writing, for longer than the lease lasts.",
    story: "Some renewals into its reign, in a phase drawn from the seed, the leader finds its lease valid for one request, \
            and right there everything on its node stops for a lease and half a second, as a stop-the-world collection or a \
            live migration would do. The lease runs out, a successor is elected and seals the store. Then the sleeper resumes \
            and sends the write it had already checked its lease for.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Nothing,
    plan,
};

/// By how much the default pause exceeds the lease, milliseconds.
const BEYOND_LEASE_MS: u64 = 500;
/// Range of the renewal before the pause, counted from the election.
pub(super) const RENEWALS: (u64, u64) = (2, 4);
/// How late a renewal may be: etcd's client checks every 500 ms which are due.
pub(super) const RENEWAL_TICK_MS: u64 = 500;
/// How much later than the sleeper's waking the clients find the successor, milliseconds: a write reaches the store in
/// that time.
const BEYOND_PAUSE_MS: u64 = 200;
/// In one seed of this many, the clients cannot reach the successor.
const UNREACHED: u64 = 3;
/// How much later a lost packet arrives, milliseconds (Linux: TCP_RTO_MIN).
const RETRANSMIT_MS: f64 = 200.0;
/// The least time from a renewal's confirmation to the pause.
const PHASE_MIN_MS: f64 = 50.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    plan_of(SCENARIO.name, params, protocol, seed)
}

/// This scenario's plan under another scenario's name.
pub(super) fn plan_of(scenario: &str, params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let pause_ms = params.pause_ms.unwrap_or_else(|| default_pause_ms(params, protocol));
    let renew_ms = params.timings(protocol).renew_interval_ms;
    let woken_ms = (settled_ms(params, protocol) + RENEWALS.1 * (renew_ms + RENEWAL_TICK_MS)).saturating_add(pause_ms);
    let needed_ms = woken_ms.saturating_add(params.aftermath_ms(protocol));
    let mut random = streams::stream(seed, PLAN);
    let renewal = streams::between(&mut random, RENEWALS.0, RENEWALS.1);
    let (low_ms, high_ms) = phase_ms(params, protocol, pause_ms);
    let delay_ms = drawn_ms(&mut random, low_ms, high_ms);
    let renewed = Trigger::Passage {
        point: Point::Renewed.name().to_owned(),
        node: Who::Leader,
        nth: renewal,
        after: None,
        delay_ms: 0.0,
        matching: None,
    };
    let lease_checked = Trigger::Passage {
        point: Point::LeaseChecked.name().to_owned(),
        node: Who::Leader,
        nth: 1,
        after: Some(Box::new(renewed)),
        delay_ms,
        matching: None,
    };
    let mut plan = params.plan(scenario, protocol, seed, needed_ms);
    let trip_ms = params.network().one_way_max_us().div_ceil(1_000);
    let unreached_ms = pause_ms.saturating_add(BEYOND_PAUSE_MS + 2 * trip_ms);
    let drawn = streams::between(&mut random, 1, UNREACHED) == 1;
    let pause = Fault::Pause { node: Who::Trigger, for_ms: pause_ms as f64 };
    plan.faults = vec![PlannedFault { when: lease_checked.clone(), what: pause, group: 0 }];
    if only_the_token_tells(params, protocol, drawn) {
        let (from, to) = (vec![Who::Clients], vec![Who::Followers]);
        let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(unreached_ms as f64) };
        // First, since a node that is paused at the point runs nothing any more.
        plan.faults.insert(0, PlannedFault { when: lease_checked.clone(), what: cut, group: 0 });
    }
    // What a program keeps at its service is not known: a row may expire, or a session has to be found dead.
    if protocol.service.outlasts_pauses && !protocol.is_program() {
        let what = Fault::DropKey { node: Who::Leader };
        plan.faults.push(PlannedFault { when: unblocked(&lease_checked, params, protocol), what, group: 0 });
    }
    plan.requires = if protocol.cuts_power() {
        // The sleeper does not wake: its power is cut before there is a successor.
        require([(Fact::Elections, 2), (Fact::LeadersTookEffect, 2), (Fact::Kills, 1)])
    } else {
        require([
            (Fact::Elections, 2),
            (Fact::LeadersBelieving, 2),
            (Fact::StaleWriteAttempts, 1),
            (Fact::ElectedWhilePaused, 1),
        ])
    };
    plan
}

/// When an operator takes leadership from a sleeper whose lock outlasts any pause, to unblock the others: at another
/// candidate's first request, a quarter of a lease after the sleeper began a request that it did not end.
pub(super) fn unblocked(paused: &Trigger, params: &Params, protocol: &Protocol) -> Trigger {
    Trigger::Passage {
        point: Point::BeforeAsk.name().to_owned(),
        node: Who::Followers,
        nth: 1,
        after: Some(Box::new(paused.clone())),
        delay_ms: params.granted_ttl_ms(protocol) as f64 / 4.0,
        matching: None,
    }
}

/// True if the sleeper's write is to be in order and new; see the module's documentation.
fn only_the_token_tells(params: &Params, protocol: &Protocol, drawn: bool) -> bool {
    let writes_again = protocol.tokened && !protocol.cuts_power();
    match params.fencing {
        Fencing::Off => false,
        Fencing::On => writes_again && drawn,
        Fencing::Token | Fencing::Order | Fencing::Memory => writes_again,
    }
}

/// The default length of the pause, milliseconds; see the module's documentation.
pub fn default_pause_ms(params: &Params, protocol: &Protocol) -> u64 {
    let shortest_ms = params.granted_ttl_ms(protocol) + BEYOND_LEASE_MS;
    let (sealed_ms, latest_ms) = (sealed_ms(params, protocol), latest_ms(params, protocol));
    match sealed_ms - shortest_ms as f64 <= latest_ms {
        true => shortest_ms,
        false => (sealed_ms - 0.75 * latest_ms).ceil() as u64,
    }
}

/// The phases that surely work, from the confirmed renewal to the pause; see the module's documentation.
pub fn phase_ms(params: &Params, protocol: &Protocol, pause_ms: u64) -> (f64, f64) {
    let high_ms = latest_ms(params, protocol);
    let low_ms = (sealed_ms(params, protocol) - pause_ms as f64).max(PHASE_MIN_MS);
    (low_ms.min(high_ms), high_ms)
}

/// The latest start of the pause, from the confirmed renewal, milliseconds: every client sends once after the latest
/// phase, and the first of their requests finds the lease checked.
pub fn pauses_by_ms(params: &Params, protocol: &Protocol) -> f64 {
    let trip_ms = params.network().one_way_max_us() as f64 / 1e3;
    latest_ms(params, protocol) + trip_ms + 1e3 * f64::from(params.clients) / params.rate as f64
}

/// When the successor must have sealed, from the confirmed renewal, milliseconds.
fn sealed_ms(params: &Params, protocol: &Protocol) -> f64 {
    let ttl_ms = params.granted_ttl_ms(protocol) as f64;
    let takeover_ms = params.takeover_max_ms(protocol) as f64;
    let trip_ms = params.network().one_way_max_us() as f64 / 1e3;
    // Sealing takes a few latencies, and two clocks of different rates measure the lease.
    let drift_ms = 2.0 * params.clock_drift_ppm as f64 * (ttl_ms + takeover_ms) / 1e6;
    // A lossy network may lose a vote, and the candidates stand once more.
    let loses_votes = protocol.election_timeout.is_some() && params.network().loss > 0.0;
    let again_ms = if loses_votes { takeover_ms } else { 0.0 };
    ttl_ms + takeover_ms + again_ms + 150.0 + 10.0 * trip_ms + drift_ms
}

/// The latest phase before the next renewal, milliseconds.
fn latest_ms(params: &Params, protocol: &Protocol) -> f64 {
    let renew_ms = params.timings(protocol).renew_interval_ms as f64;
    let trip_ms = params.network().one_way_max_us() as f64 / 1e3;
    // The lease is checked at the first request after the phase, which takes a moment to come. The next renewal may be
    // due an interval after this one was sent; in a transaction that is several latencies before its confirmation, and
    // a retransmission more after a loss. A sleeper in the middle of a renewal would keep the row locked.
    let lost_ms = if params.network().loss > 0.0 { RETRANSMIT_MS } else { 0.0 };
    let margin_ms = lost_ms + (8.0 * trip_ms).max(50.0) + 2.0 * trip_ms + 1e3 / params.rate as f64;
    (renew_ms - margin_ms).max(renew_ms / 2.0)
}
