//! The scenarios, one file each. A scenario is a pure function (parameters, protocol, seed) → [`Plan`]; what it draws, it
//! draws from the seed's stream `plan`.

pub mod asymmetric_partition;
pub mod clean_kill;
pub mod detector_comparison;
pub mod gc_pause;
pub mod graceful_step_down;
pub mod isolate_leader;
pub mod leadership_transfer;
pub mod membership_churn;
pub mod partition;
pub mod quorum_loss;
pub mod read_lease;
pub mod ring_break;
pub mod slow_top_node;
pub mod split_vote;
pub mod steady;
pub mod stonith_race;

use crate::{
    belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::Plan,
    streams,
};
use protocols::{
    election::{self, Bounds, Hazard, Preference, Promise, Protocol},
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
    /// A belief that ends by the leader's own clock.
    Lease,
    /// The same, along a ring.
    Ring,
    /// Candidates that draw election timeouts.
    ElectionTimeout,
    /// Candidates that notice a silent leader after a fixed time.
    Detector,
    /// A leader that can hand over to a named successor.
    Transfer,
    /// Candidates that can join and leave.
    Membership,
    /// A device that cuts the power of nodes.
    PowerDevice,
}

impl Needs {
    /// Does the protocol have it?
    pub fn met_by(self, protocol: &Protocol) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::Service => protocol.service.process().is_some() && !protocol.elects_among_peers(),
            Needs::Peers => protocol.elects_among_peers(),
            Needs::Lease => protocol.read_lease.is_some(),
            // What these protocols are called after.
            Needs::Ring => protocol.elects_among_peers() && protocol.name.starts_with("ring-"),
            Needs::ElectionTimeout => protocol.election_timeout.is_some(),
            Needs::Detector => protocol.elects_among_peers() && protocol.election_timeout.is_none(),
            Needs::Transfer => protocol.transfers,
            Needs::Membership => protocol.changes_members,
            Needs::PowerDevice => protocol.service.process() == Some(POWER),
        }
    }

    /// The fewest candidates that the story can be told of.
    pub const fn candidates_min(self) -> u16 {
        match self {
            Needs::Nothing | Needs::Service => 1,
            Needs::Peers | Needs::Lease | Needs::Ring | Needs::Detector | Needs::Transfer | Needs::PowerDevice => 2,
            // The leader dies, and two stand against each other.
            Needs::ElectionTimeout => 3,
            // One leaves, the leader leaves, and somebody has to be left.
            Needs::Membership => 3,
        }
    }

    /// What it is, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing in particular",
            Needs::Service => "a coordination service",
            Needs::Peers => "candidates that elect among themselves",
            Needs::Lease => "a belief that ends by the leader's own clock",
            Needs::Ring => "candidates on a ring",
            Needs::ElectionTimeout => "drawn election timeouts",
            Needs::Detector => "a failure detector with a fixed patience",
            Needs::Transfer => "a leader that can hand over to a named successor",
            Needs::Membership => "candidates that can join and leave",
            Needs::PowerDevice => "a device that cuts power",
        }
    }
}

/// The process of a power device.
const POWER: &str = "power";

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
pub const ALL: [&Scenario; 16] = [
    &steady::SCENARIO,
    &clean_kill::SCENARIO,
    &gc_pause::SCENARIO,
    &partition::SCENARIO,
    &graceful_step_down::SCENARIO,
    &isolate_leader::SCENARIO,
    &asymmetric_partition::SCENARIO,
    &split_vote::SCENARIO,
    &quorum_loss::SCENARIO,
    &ring_break::SCENARIO,
    &slow_top_node::SCENARIO,
    &leadership_transfer::SCENARIO,
    &membership_churn::SCENARIO,
    &stonith_race::SCENARIO,
    &detector_comparison::SCENARIO,
    &read_lease::SCENARIO,
];

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.into_iter().find(|scenario| scenario.name == name)
}

/// Every scenario that can be told of a protocol.
pub fn of(protocol: &Protocol) -> impl Iterator<Item = &'static Scenario> {
    ALL.into_iter().filter(|scenario| scenario.needs.met_by(protocol))
}

/// Each of these scenarios with each of these protocols that it can be told of, by so many candidates, in that order.
pub fn pairs(
    scenarios: &[&'static Scenario],
    protocols: &[&'static Protocol],
    params: &Params,
) -> Vec<(&'static Scenario, &'static Protocol)> {
    let all = scenarios.iter().flat_map(|s| protocols.iter().map(move |p| (*s, *p)));
    // How many candidates there may be at all is for the plan to say.
    let few = |scenario: &Scenario| (1..scenario.needs.candidates_min()).contains(&params.nodes);
    all.filter(|(scenario, protocol)| scenario.needs.met_by(protocol) && !few(scenario)).collect()
}

/// What a protocol promises in a scenario with these parameters. Reads from memory, and leases that nothing but a clock
/// ends, are as good as the clocks: what is promised of them ends where those drift further apart than the lease allows.
pub fn promise(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    let promise = (protocol.promise)(scenario.hazard, params.fencing);
    let from_memory = scenario.hazard == Hazard::ClockDrift && params.read_lease != Some(false);
    let cut_off = matches!(scenario.hazard, Hazard::CutOffFromService | Hazard::CutOffFromPeers | Hazard::OneWayCut);
    let by_clock = from_memory || (cut_off && !(protocol.tokened && params.fencing));
    let timings = params.timings(protocol).resolved();
    match crate::read_lease::bound(protocol, &timings, &params.net.network()) {
        Some(bound) if by_clock && promise == Promise::Holds && !bound.holds_at(params.clock_drift_ppm) => Promise::May,
        _ => promise,
    }
}

/// How many of each figure a protocol promises at most in a scenario with these parameters: nothing where packets are lost,
/// or timers are not the protocol's own.
pub fn bounds(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Bounds {
    let own_timers = params.renew_interval_ms.is_none() && params.request_timeout_ms.is_none();
    let own_timers = own_timers && params.lease_ttl_ms.is_none() && params.election_timeout_ms.is_none();
    if params.net.network().loss > 0.0 || !own_timers {
        return Bounds::default();
    }
    (protocol.bounds)(scenario.hazard)
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
            let known = if known.is_empty() { "no protocol has".to_owned() } else { format!("these have: {known}") };
            return Err(format!("`{name}` needs {needs}, and `{}` has none; {known}", protocol.name));
        }
        // Checked first, so that no scenario computes with lengths that no plan may have.
        params.plan(self.name, protocol, seed, 1_000).validate()?;
        let fewest = self.needs.candidates_min();
        if params.nodes < fewest {
            return Err(format!(
                "`{}` needs at least {fewest} candidates, and {} is asked for",
                self.name, params.nodes
            ));
        }
        let mut plan = (self.plan)(params, protocol, seed);
        plan.dual_belief_bound_ms = belief::bound_ms(&plan);
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

/// How long a cut lasts in which a successor is to be elected and to be seen at work, milliseconds: three leases and 2 s,
/// and longer where a successor may take longer than a lease.
fn cut_ms(params: &Params, protocol: &Protocol) -> u64 {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    2 * ttl_ms + ttl_ms.max(takeover_ms) + 2_000
}

/// The candidates' names in an order that is drawn.
fn shuffled(random: &mut impl RngCore, params: &Params) -> Vec<String> {
    let mut names: Vec<String> = (1..=params.nodes).map(candidate).collect();
    for last in (1..names.len()).rev() {
        names.swap(last, streams::between(random, 0, last as u64) as usize);
    }
    names
}

/// Nothing passes between two groups of candidates.
fn cut(from: &[String], to: &[String], for_ms: u64) -> Fault {
    let group = |names: &[String]| names.iter().cloned().map(Who::Named).collect();
    Fault::Partition { from: group(from), to: group(to), one_way: false, for_ms: Some(for_ms as f64) }
}

/// The candidate of that number, from 1.
fn candidate(number: u16) -> String {
    format!("n{number}")
}

/// The candidate that the protocol prefers; the one with the highest id where it has no preference.
fn preferred(params: &Params, protocol: &Protocol) -> String {
    match protocol.preference {
        Preference::Lowest => candidate(1),
        Preference::Any | Preference::Highest => candidate(params.nodes),
    }
}

/// A time between two, milliseconds, in whole microseconds.
fn drawn_ms(random: &mut impl RngCore, low_ms: f64, high_ms: f64) -> f64 {
    streams::between(random, (low_ms * 1e3) as u64, (high_ms * 1e3) as u64) as f64 / 1e3
}

fn at(ms: f64, what: Fault) -> PlannedFault {
    // Sums of milliseconds are not quite whole microseconds.
    PlannedFault { when: Trigger::At { ms: (ms * 1e3).round() / 1e3 }, what }
}

fn require<const N: usize>(facts: [(Fact, u64); N]) -> Vec<Requirement> {
    facts.into_iter().map(|(fact, at_least)| Requirement { fact, at_least }).collect()
}
