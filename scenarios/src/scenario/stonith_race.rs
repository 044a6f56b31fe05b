//! `stonith-race`: a cut halves the candidates, and both halves reach the device that cuts power.
//!
//! Each side takes the other for dead and wants its power cut before it takes over. With an even number the halves are
//! equal: of two candidates, without a quorum to decide, the one whose request comes first survives, and a random delay
//! keeps both requests from coming at once; of four or more neither side has a majority, neither may fence, and both
//! stop (GitHub 2012-12-22 shows what happens without that rule). With an odd number the candidate that the protocol
//! prefers is in the minority, where it leads until its power is cut. Store and clients reach everybody.
//!
//! By the seed the device is healthy, slow (each direction takes half a lease longer during the cut), or dead for a
//! lease from the cut on: nobody may take over before it has confirmed.
//!
//! The cut lasts as long as that of `isolate-leader`, and longer by the device's delay: a lease, for the round trip or
//! for its death.

use super::{Needs, Scenario, at, cut, cut_ms, last_strike_ms, preferred, require, shuffled, strike_ms};
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
    name: "stonith-race",
    about: "The candidates are cut in half, and both halves want the other's power cut.",
    story: "At a time drawn from the seed the candidates fall into two halves that hear nothing of each other, and \
            both reach the power device, the store and the clients. By the seed the device works, is slow, or is dead \
            for a while. A side that may fence has the other powered off, and takes over only when the device has \
            confirmed it.",
    hazard: Hazard::new("The two sides of a partition each try to cut the other's power."),
    needs: Needs::PowerDevice,
    plan,
};

fn plan(params: &Params, protocol: &Protocol, seed: u64) -> Plan {
    let ttl_ms = params.granted_ttl_ms(protocol);
    let for_ms = cut_ms(params, protocol) + ttl_ms;
    let needed_ms = last_strike_ms(params, protocol) + for_ms + params.aftermath_ms(protocol);
    let mut random = streams::stream(seed, PLAN);
    let strike_ms = strike_ms(&mut random, params, protocol);
    let mut names = shuffled(&mut random, params);
    let device = streams::between(&mut random, 0, 2);
    // It leads, and must be on the side without a majority.
    let top = preferred(params, protocol);
    if let Some(place) = names.iter().position(|name| *name == top) {
        names.swap(0, place);
    }
    let (some, rest) = names.split_at(names.len() / 2);
    let mut plan = params.plan(SCENARIO.name, protocol, seed, needed_ms);
    plan.faults = vec![at(strike_ms, cut(some, rest, for_ms))];
    match device {
        0 => {}
        1 => {
            plan.faults.extend([(Who::Candidates, Who::Service), (Who::Service, Who::Candidates)].map(|(from, to)| {
                let slow = Fault::Latency {
                    from: vec![from],
                    to: vec![to],
                    extra_us: ttl_ms * 500,
                    for_ms: Some(for_ms as f64),
                };
                at(strike_ms, slow)
            }))
        }
        _ => {
            let dies = Fault::Kill { node: Who::Service, restart_after_ms: Some(ttl_ms as f64) };
            plan.faults.push(at(strike_ms, dies));
        }
    }
    let nobody_may = names.len() % 2 == 0 && names.len() > 2;
    plan.requires = match nobody_may {
        true => require([(Fact::LapsedWhileCutOff, 1)]),
        false => require([(Fact::PowerOffs, 1), (Fact::LeadersTookEffect, 2)]),
    };
    plan
}
