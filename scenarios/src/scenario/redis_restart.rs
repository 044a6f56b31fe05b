//! `redis-restart`: Redis without an append-only file dies while a candidate leads, and comes back without the lock.
//!
//! `appendonly no` is the default: the disk has the last snapshot, if one was made (`save 3600 1 300 100 60 10000`), or
//! nothing. By the seed the server comes back with a snapshot from before anybody led, or empty; neither has the key.
//! Its token counter restarts. The first candidate to ask gets the lock while its former holder believes, until that
//! holder tries to renew.
//!
//! *Redlock* loses one of five. That is enough if a holder has only just a majority: two servers were unreachable when
//! it took the lock, a third forgets it, and these three are a majority for the next. Redlock's description asks for
//! *delayed restarts*: a server without its data stays down for longer than any lock lives. `sim/tests/all/redlock.rs`
//! delays the restart, and nothing goes wrong. `--bug redis-forgotten-on-restart` is the same setting in any other
//! scenario.
//!
//! *Behind Sentinel* the primary dies and is back before any sentinel misses it: its replicas have the lock and lose
//! it, as they become exact copies of the restarted primary. So Redis' manual says to turn automatic restarts off if
//! nothing is persisted; then a replica with the lock is promoted.
//!
//! A single server is killed at a time drawn from the seed; of five, `n1`, which starts before the others, cannot reach
//! the last two, and the third is killed. It is back within half a second.

use super::{Needs, Scenario, at, candidate, drawn_ms, keeper, last_strike_ms, require, strike_ms, without_waiting};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
    streams::{self, PLAN},
    topology::member_name,
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "redis-restart",
    about: "A Redis server that keeps nothing on disk dies while somebody leads, and is back within half a second.",
    story: "At a time drawn from the seed the Redis server dies, and within half a second it is back with a snapshot from before \
            anybody led, or with nothing. The lock is free, though its holder's lease is good by every clock. Of Redlock's five \
            servers it is one that forgets, after the holder has taken the lock on three.",
    hazard: hazard::SERVICE_FORGETS,
    needs: Needs::Named(&["redis-naive", "redis-lease", "redis-fenced", "redlock", "redis-sentinel"]),
    plan,
};

/// Downtime of the server, milliseconds.
const BACK_MS: (f64, f64) = (20.0, 500.0);
/// How much later the others start if the first candidate is to lead, milliseconds.
const HEAD_START_MS: u64 = 1_500;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let params = &without_waiting(params, SCENARIO.hazard, protocol);
    let needed_ms = last_strike_ms(params, protocol) + HEAD_START_MS + 2_000 + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol) + HEAD_START_MS as f64;
    let (down_ms, snapshot) = (drawn_ms(&mut random, BACK_MS.0, BACK_MS.1), streams::between(&mut random, 0, 1) == 0);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    // Of replicated servers, only the first counts.
    let replicated = protocol.service.beside.is_some();
    let servers = if replicated { 1 } else { plan.topology_of(protocol).members().count() as u16 };
    let server = |number| Who::Named(member_name("redis", number, servers));
    let lost = servers / 2 + 1;
    if servers > 1 {
        plan.candidates.iter_mut().skip(1).for_each(|other| other.starts_at_ms += HEAD_START_MS);
        let unreached = (lost + 1..=servers).map(server).collect();
        let from = vec![Who::Named(candidate(1))];
        plan.faults.push(at(0.0, Fault::Partition { from, to: unreached, one_way: false, for_ms: None }));
    }
    let (node, restart_after_ms) = (if servers > 1 { server(lost) } else { keeper(protocol) }, Some(down_ms));
    plan.faults.push(at(
        strike_ms,
        match snapshot {
            true => Fault::RestoreCopy { node, copied_at_ms: 0.0, restart_after_ms },
            false => Fault::LoseData { node, restart_after_ms },
        },
    ));
    plan.requires = require([(Fact::Kills, 1), (Fact::Restarts, 1), (Fact::LeadersTookEffect, 1)]);
    plan
}
