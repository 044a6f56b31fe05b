//! `lock-delay`: the leader pauses for longer than its session lasts, and wakes while the service still withholds its
//! lock.
//!
//! Chubby and Consul withhold a lock that was lost, and not released, for a while (Burrows, "The Chubby lock service",
//! OSDI 2006, §2.4: up to a minute; hashicorp/consul `agent/consul/state/delay.go`: 15 s, at most 60 s). Writes that
//! the former holder had checked and not yet sent may arrive meanwhile, and so may the news that it lost the lock.
//!
//! - *It is needed.* With `--set consul-session.lock-delay=0s` a waiting candidate is elected when the session ends, and the sleeper
//!   writes after it.
//! - *It is not enough.* With `--pause 45s` the sleeper sleeps for longer than session and lock-delay together. Nothing
//!   bounds a pause, so a delay only makes the damage rarer; a token that the resource checks needs no delay.
//!
//! The session ends between one and two times its ttl after its last renewal, so the pause is that long, counted from
//! the latest possible renewal, plus a quarter to a half of the lock-delay: long enough for the session to end, and
//! over before the delay is. As in `gc-pause` the leader is stopped between checking its lease and writing.

use super::{Needs, Scenario, gc_pause, require};
use crate::{params::Params, plan::Plan, streams};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
    types::MILLISECOND,
};

pub const SCENARIO: Scenario = Scenario {
    name: "lock-delay",
    about: "The leader is stopped for longer than its session lasts, and wakes before its lock is given to another.",
    story: "Some renewals into its reign the leader is stopped with a checked lease and a pending write. Its session \
            ends, and the service withholds the lock for the lock-delay. Part of the way through it the sleeper \
            resumes, sends its write, and hears that it no longer leads. Only then is another elected.",
    hazard: hazard::PAUSE_WITHIN_LOCK_DELAY,
    needs: Needs::Named(&["consul-session"]),
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let lock_delay_ms = protocol.default_timings().own.lock_delay.map_or(0, |ns| ns / MILLISECOND);
    let mut random = streams::stream(seed, streams::PAUSE);
    let share_ms = streams::between(&mut random, lock_delay_ms / 4, lock_delay_ms / 2);
    let within_ms = params.granted_ttl_ms(protocol) + share_ms;
    // A cut between the sleeper's clients and the others would only matter if a successor wrote meanwhile.
    let pause_ms = Some(params.pause_ms.unwrap_or(within_ms));
    let mut plan = gc_pause::plan_of(SCENARIO.name, &Params { pause_ms, ..params.clone() }, protocol, seed);
    plan.requires = require([(Fact::Pauses, 1), (Fact::Elections, 2), (Fact::LeadersTookEffect, 2)]);
    plan
}
