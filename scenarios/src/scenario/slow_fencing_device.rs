//! `slow-fencing-device`: the fencing device is a cloud provider's API, and accepted is not stopped.
//!
//! Reference text "Split brain", exercise 5, where a "cloud provider's API" fences. Such a call returns when the
//! request is accepted; the machine is `stopping` for a while and keeps running, and requests that come too fast are
//! rejected. The story begins as `gc-pause`: the leader is stopped in the middle of a write, for so long that a
//! successor that took acceptance for the stop would lead when it wakes. But the machine takes longer to stop than the
//! leader sleeps: the leader wakes, and writes, with a takeover in progress.
//!
//! **What holds.** Nobody takes over before a repeated request confirms the stop: the write is not stale. The price is
//! the time that the provider takes. **What breaks.** `--bug stonith-accepted-is-stopped`: two leaders take effect at
//! once.

use super::{Needs, Scenario, at, gc_pause, require};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
};
use protocols::{
    election::{Hazard, Protocol},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "slow-fencing-device",
    about: "The fencing device is a cloud provider's API: it accepts, stops the machine much later, and throttles.",
    story: "From the start the fencing device accepts requests at once, stops machines much later, reports a stop only \
            when asked again, and rejects requests that come too fast. As in gc-pause the leader is stopped with a \
            pending write; the others ask for its power to be cut, and it wakes while its machine is being stopped. \
            Nobody may take over before the stop is confirmed.",
    hazard: Hazard::new("The fencing device cuts power long after it has accepted the request."),
    needs: Needs::PowerDevice,
    plan,
};

/// The device accepts one request per this time, milliseconds: longer than a candidate waits before it asks again.
const THROTTLE_MS: f64 = 1_500.0;

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let pause_ms = params.pause_ms.unwrap_or_else(|| gc_pause::default_pause_ms(params, protocol));
    let mut plan = (gc_pause::SCENARIO.plan)(params, protocol, seed);
    plan.scenario = SCENARIO.name.to_owned();
    // Whenever the first request is made, the leader is awake by the time its machine has stopped.
    let cloud =
        Fault::CloudDevice { node: Who::Service, stopping_ms: pause_ms as f64, throttle_ms: THROTTLE_MS, for_ms: None };
    plan.faults.insert(0, at(0.0, cloud));
    plan.duration_ms += if params.duration_ms.is_some() { 0 } else { (2 * pause_ms).next_multiple_of(1_000) };
    plan.requires = require([(Fact::Elections, 2), (Fact::Pauses, 1), (Fact::PowerOffs, 1)]);
    plan
}
