//! The scenarios, one file each. A scenario is a pure function (parameters, protocol, seed) → [`Plan`]; what it draws, it
//! draws from the seed's stream `plan`.

pub mod clean_kill;
pub mod gc_pause;
pub mod graceful_step_down;
pub mod partition;
pub mod steady;

use crate::{
    fault::{Fault, PlannedFault, Trigger},
    params::Params,
    plan::Plan,
    streams,
};
use protocols::{
    election::{self, Hazard, Promise, Protocol},
    history::{Fact, Requirement},
};
use rand_core::RngCore;

/// What a scenario needs a protocol to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing in particular.
    Nothing,
    /// A coordination service that is a process of its own.
    Service,
    /// Candidates that elect among themselves.
    Peers,
}

impl Needs {
    /// Does the protocol have it?
    pub fn met_by(self, protocol: &Protocol) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::Service => protocol.service.process().is_some() && !protocol.elects_among_peers(),
            Needs::Peers => protocol.elects_among_peers(),
        }
    }

    /// What it is, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing in particular",
            Needs::Service => "a coordination service",
            Needs::Peers => "candidates that elect among themselves",
        }
    }
}

/// One scenario of the registry.
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence for `list`.
    pub about: &'static str,
    /// What happens in it and why it is told: a paragraph.
    pub story: &'static str,
    /// What goes wrong, as far as protocols promise anything about it.
    pub hazard: Hazard,
    /// Which protocols it can be told of.
    pub needs: Needs,
    /// The plan for these parameters, this protocol and this seed. It is not validated: see [`Scenario::compile`].
    pub plan: fn(&Params, &Protocol, u64) -> Plan,
}

/// Every scenario there is, in the order in which reports show them.
pub const ALL: [&Scenario; 5] = [
    &steady::SCENARIO,
    &clean_kill::SCENARIO,
    &gc_pause::SCENARIO,
    &partition::SCENARIO,
    &graceful_step_down::SCENARIO,
];

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.into_iter().find(|scenario| scenario.name == name)
}

/// Every scenario that can be told of a protocol.
pub fn of(protocol: &Protocol) -> impl Iterator<Item = &'static Scenario> {
    ALL.into_iter().filter(|scenario| scenario.needs.met_by(protocol))
}

/// Each of these scenarios with each of these protocols that it can be told of, in that order.
pub fn pairs(
    scenarios: &[&'static Scenario],
    protocols: &[&'static Protocol],
) -> Vec<(&'static Scenario, &'static Protocol)> {
    let all = scenarios.iter().flat_map(|s| protocols.iter().map(move |p| (*s, *p)));
    all.filter(|(scenario, protocol)| scenario.needs.met_by(protocol)).collect()
}

/// What a protocol promises in a scenario.
pub fn promise(scenario: &Scenario, protocol: &Protocol, fencing: bool) -> Promise {
    (protocol.promise)(scenario.hazard, fencing)
}

impl Scenario {
    /// The plan, refused when the parameters make no sense.
    ///
    /// # Errors
    /// One sentence, as from [`Plan::validate`].
    pub fn compile(&self, params: &Params, protocol: &Protocol, seed: u64) -> Result<Plan, String> {
        if !self.needs.met_by(protocol) {
            let known = election::ALL.into_iter().filter(|p| self.needs.met_by(p)).map(|p| p.name);
            let known = known.collect::<Vec<_>>().join(", ");
            let (name, needs) = (self.name, self.needs.words());
            return Err(format!("`{name}` needs {needs}, and `{}` has none; {known} do", protocol.name));
        }
        // Checked first, so that no scenario computes with lengths that no plan may have.
        params.plan(self.name, protocol, seed, 1_000).validate()?;
        let plan = (self.plan)(params, protocol, seed);
        plan.validate()?;
        Ok(plan)
    }
}

/// When the fleet has settled on its first leader and its load, milliseconds: the candidates have started, one was elected,
/// sealed, and was renewed once.
fn settled_ms(params: &Params, protocol: &Protocol) -> u64 {
    // Candidates that elect among themselves first wait whether somebody leads already.
    let silence_ms = match protocol.elects_among_peers() {
        true => params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol),
        false => 0,
    };
    1_500 + silence_ms + params.timings(protocol).renew_interval_ms
}

/// A time within one lease after `settled_ms`, milliseconds, so that over many seeds a fault strikes in every phase of the
/// renewal.
fn strike_ms(random: &mut impl RngCore, params: &Params, protocol: &Protocol) -> f64 {
    let first_ms = settled_ms(params, protocol);
    drawn_ms(random, first_ms as f64, (first_ms + params.granted_ttl_ms(protocol)) as f64)
}

/// When the last of these strikes can fall, milliseconds.
fn last_strike_ms(params: &Params, protocol: &Protocol) -> u64 {
    settled_ms(params, protocol) + params.granted_ttl_ms(protocol)
}

/// A time between two, milliseconds, in whole microseconds.
fn drawn_ms(random: &mut impl RngCore, low_ms: f64, high_ms: f64) -> f64 {
    streams::between(random, (low_ms * 1e3) as u64, (high_ms * 1e3) as u64) as f64 / 1e3
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    PlannedFault { when: Trigger::At { ms }, what }
}

fn require<const N: usize>(facts: [(Fact, u64); N]) -> Vec<Requirement> {
    facts.into_iter().map(|(fact, at_least)| Requirement { fact, at_least }).collect()
}
