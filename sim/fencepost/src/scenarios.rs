//! What happens to the service.

use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};
use scenarios::{
    Params, Plan,
    fault::{Fault, Who},
    scenario::{self, Needs, require},
    streams,
};

/// A scenario: each seed gives a plan, with its moments and lengths drawn.
#[derive(Clone, Copy, Debug)]
pub struct Scenario(pub(crate) &'static str);

/// The leader is stopped before a send, for longer than it takes until another leads.
pub const fn gc_pause() -> Scenario {
    Scenario("gc-pause")
}

/// The leader is cut off from its services, but still reaches the store.
pub const fn partition() -> Scenario {
    Scenario("partition")
}

/// The leader's process is killed, and starts again later.
pub const fn clean_kill() -> Scenario {
    Scenario("clean-kill")
}

/// The leader is stopped, and its successor, and so on, each for longer than it takes until another leads: leadership comes
/// back to processes that had it before.
pub const fn takeovers() -> Scenario {
    Scenario(TAKEOVERS.name)
}

/// The leader is cut off from its services, and its wall clock is set back by an hour.
pub const fn clock_set_back() -> Scenario {
    Scenario(CLOCK_SET_BACK.name)
}

/// Fencepost's scenario of this name; `fencepost list scenarios` has them all. Some are about a protocol's inside, and do
/// not apply to programs: the check says so.
pub const fn scenario(name: &'static str) -> Scenario {
    Scenario(name)
}

/// One process is stopped before one of its sends.
pub(crate) const EVERY_SEND: scenario::Scenario = scenario::Scenario {
    name: "every-send",
    about: "A process is stopped before one of its sends, for longer than it takes until another leads.",
    story: "A service can be caught between its look at its lease and its write wherever it sends. Each run stops it before \
            another of its sends.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Nothing,
    plan: quiet,
};

/// Any process is stopped before one of its sends, or two are.
pub(crate) const EXHAUSTIVE: scenario::Scenario = scenario::Scenario {
    name: "exhaustive",
    about: "A process is stopped before one of its sends, for one of a few lengths around the time that a takeover takes; or two are.",
    story: "A pause may end just before another leads, just after, or long after, and it may strike who follows, too. These are \
            all such pauses before sends, and second ones after a takeover.",
    ..EVERY_SEND
};

/// How often leadership is taken over: with three processes, each has probably had it twice.
const TURNS: u64 = 6;

pub(crate) const TAKEOVERS: scenario::Scenario = scenario::Scenario {
    name: "takeovers",
    about: "One leader after the other is stopped for longer than it takes until another leads.",
    story: "Leadership comes back to processes that had it before, with whatever they kept of that time: a cached token, a task \
            that was not ended, a flag that was never reset.",
    hazard: hazard::PAUSE_BEYOND_LEASE,
    needs: Needs::Nothing,
    plan: turns,
};

fn turns(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let (pause_ms, takeover_ms) = (params.pause_ms.unwrap_or(1_000), params.granted_ttl_ms(protocol));
    let first_ms = scenario::settled_ms(params, protocol);
    // The leader is looked up when the pause begins: by then, the one before has woken up.
    let every_ms = pause_ms + takeover_ms + 1_000;
    let mut plan =
        params.plan(TAKEOVERS.name, protocol, seed, first_ms + TURNS * every_ms + params.aftermath_ms(protocol));
    let mut random = streams::stream(seed, streams::PLAN);
    let pause = |turn| {
        let from_ms = (first_ms + turn * every_ms) as f64;
        let strike_ms = scenario::drawn_ms(&mut random, from_ms, from_ms + takeover_ms as f64);
        scenario::at(strike_ms, Fault::Pause { node: Who::Leader, for_ms: pause_ms as f64 })
    };
    plan.faults = (0..TURNS).map(pause).collect();
    plan.requires = require([(Fact::Pauses, TURNS), (Fact::LeadersTookEffect, 3)]);
    plan
}

pub(crate) const CLOCK_SET_BACK: scenario::Scenario = scenario::Scenario {
    name: "clock-set-back",
    about: "The leader is cut off from its services, and its wall clock is set back by an hour.",
    story: "The leader cannot renew, another is elected when its lease has ended, and only its own clock keeps it from writing \
            by then. A deadline on the wall clock is an hour away.",
    hazard: hazard::CUT_OFF_FROM_SERVICE,
    needs: Needs::Service,
    plan: set_back,
};

fn set_back(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let takeover_ms = params.granted_ttl_ms(protocol);
    let (first_ms, cut_ms) = (scenario::settled_ms(params, protocol), 3 * takeover_ms + 2_000);
    let needed_ms = first_ms + 2 * takeover_ms + cut_ms + params.aftermath_ms(protocol);
    let mut plan = params.plan(CLOCK_SET_BACK.name, protocol, seed, needed_ms);
    let mut random = streams::stream(seed, streams::PLAN);
    let cut_at_ms = scenario::drawn_ms(&mut random, first_ms as f64, (first_ms + takeover_ms) as f64);
    let (from, to) = (vec![Who::Leader], vec![Who::Service]);
    let cut = Fault::Partition { from, to, one_way: false, for_ms: Some(cut_ms as f64) };
    plan.faults = vec![
        scenario::at(cut_at_ms, cut),
        // Before the deadline, which the last renewal has set.
        scenario::at(cut_at_ms + takeover_ms as f64 / 10.0, Fault::ClockStep { node: Who::Leader, by_ms: -3_600_000 }),
    ];
    plan.requires = require([(Fact::ClockSteps, 1), (Fact::LeadersTookEffect, 2)]);
    plan
}

/// Nothing happens, yet.
fn quiet(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = params.plan(EVERY_SEND.name, protocol, seed, 30_000);
    plan.requires = require([(Fact::LeadersTookEffect, 1)]);
    plan
}
