//! `adversary-lying-device`: the fencing device confirms a cut that it does not make.
//!
//! Reference text "Split brain": a "compromised STONITH". It takes no malice: the switch's outlet may belong to another
//! machine by now, or the machine may have two power supplies. The story is `gc-pause`: the leader is stopped in the
//! middle of a write, the others have its power cut, get a confirmation and take over, and it wakes.
//!
//! **What breaks.** Everything that fencing is for: the sleeper's write takes effect while its successor leads. If the
//! resource checks a token as well, it refuses the write: neither replaces the other.

use super::{Needs, Scenario, at, gc_pause, require};
use crate::{
    fault::{Fault, Who},
    params::Params,
    plan::Plan,
};
use protocols::{
    election::{Protocol, hazard},
    history::Fact,
};

pub const SCENARIO: Scenario = Scenario {
    name: "adversary-lying-device",
    about: "The fencing device confirms cuts that it does not make, and the leader is stopped with a pending write.",
    story: "From the start the fencing device confirms every cut and makes none. Then, as in gc-pause, the leader is \
            stopped with a pending write. The others ask for its power to be cut, are told that it was, and take over; \
            then it wakes.",
    hazard: hazard::LYING_DEVICE,
    needs: Needs::PowerDevice,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let mut plan = (gc_pause::SCENARIO.plan)(params, protocol, seed);
    plan.scenario = SCENARIO.name.to_owned();
    plan.faults.insert(0, at(0.0, Fault::LyingDevice { node: Who::Service, for_ms: None }));
    plan.requires = require([
        (Fact::Elections, 2),
        (Fact::LeadersBelieving, 2),
        (Fact::StaleWriteAttempts, 1),
        (Fact::ElectedWhilePaused, 1),
    ]);
    plan
}
