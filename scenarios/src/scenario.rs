//! The scenarios, one file each. A scenario is a pure function (parameters, protocol, seed) → [`Plan`]; its draws come
//! from the seed's stream `plan`.

pub mod adversary_delayed_renewals;
pub mod adversary_forged_coordinator;
pub mod adversary_forged_token;
pub mod adversary_lying_device;
pub mod adversary_rogue_fence;
pub mod asymmetric_partition;
pub mod clean_kill;
pub mod clique;
pub mod clock_jump;
pub mod clock_skew;
pub mod clock_step;
pub mod controller_resign_storm;
pub mod detector_comparison;
pub mod disk_stall;
pub mod diverging_copies;
pub mod expired_waiter;
pub mod flapping;
pub mod gc_pause;
pub mod graceful_step_down;
pub mod heartbeat_starved;
pub mod hung_connection;
pub mod incident_github_2016;
pub mod incident_invoice;
pub mod incident_k8s_controller_2017;
pub mod incident_solr_2015;
pub mod isolate_leader;
pub mod late_answer;
pub mod leader_cannot_work;
pub mod leadership_transfer;
pub mod leases_lost_in_turn;
pub mod lock_delay;
pub mod long_job;
pub mod lost_answer;
pub mod lost_lease;
pub mod membership_churn;
mod mid_work;
pub mod mixed_locks;
pub mod mixed_timings;
pub mod needs;
pub mod outage_recovery;
pub mod partition;
pub mod power_outage;
pub mod program;
mod promise;
pub mod quorum_loss;
pub mod read_lease;
pub mod reaped_parent;
pub mod redis_restart;
pub mod rejoin;
pub mod restart_in_isolation;
pub mod ring_break;
pub mod rolling_restart;
pub mod second_takeover;
pub mod service_data_loss;
pub mod service_failover;
pub mod service_leader_cut_off;
pub mod service_leader_isolated;
pub mod service_leader_stall;
pub mod service_leader_wakes;
pub mod service_quorum_loss;
pub mod service_restart;
pub mod service_restored;
pub mod session_expiry_unnoticed;
pub mod shard_rebalance;
pub mod slow_drain;
pub mod slow_fencing_device;
pub mod slow_service;
pub mod slow_top_node;
pub mod split_vote;
pub mod stale_address;
pub mod stale_cache;
pub mod stale_enactor;
pub mod starvation;
pub mod steady;
pub mod stonith_race;
pub mod stood_down;
pub mod store_restart;
pub mod thundering_herd;
pub mod unheard_transfer;
pub mod unknown_outcome;
pub mod unreplicated_grant;
pub mod weak_crons;

use crate::{
    belief,
    fault::{Fault, PlannedFault, Trigger, Who},
    params::Params,
    plan::{Invalid, Known, Plan},
    set, streams,
    topology::member_name,
};
pub use needs::Needs;
use promise::without_waiting;
pub use promise::{Live, Promised, bounds, promise, promised};
use protocols::{
    election::{self, Hazard, Preference, Protocol, hazard},
    history::{Fact, Requirement},
    known_bugs,
    service::Service,
    types::MILLISECOND,
    work,
};
use rand_core::RngCore;

pub struct Scenario {
    pub name: &'static str,
    /// One sentence for `list`.
    pub about: &'static str,
    /// A paragraph: what happens in it, and why.
    pub story: &'static str,
    /// What goes wrong, as far as protocols make promises about it.
    pub hazard: Hazard,
    /// Which protocols it applies to.
    pub needs: Needs,
    /// The plan for these parameters, this protocol and this seed. Not validated: see [`Scenario::compile`].
    pub plan: fn(&Params, &Protocol, u64) -> Plan,
}

protocols::registry! {
    /// Every scenario, in the order of reports.
    pub const ALL: [&Scenario] = [
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
        &power_outage::SCENARIO,
        &rolling_restart::SCENARIO,
        &restart_in_isolation::SCENARIO,
        &rejoin::SCENARIO,
        &store_restart::SCENARIO,
        &service_restart::SCENARIO,
        &lost_lease::SCENARIO,
        &leases_lost_in_turn::SCENARIO,
        &disk_stall::SCENARIO,
        &clock_step::SCENARIO,
        &flapping::SCENARIO,
        &clique::SCENARIO,
        &starvation::SCENARIO,
        &expired_waiter::SCENARIO,
        &slow_drain::SCENARIO,
        &lost_answer::SCENARIO,
        &late_answer::SCENARIO,
        &unknown_outcome::SCENARIO,
        &unheard_transfer::SCENARIO,
        &hung_connection::SCENARIO,
        &mixed_timings::SCENARIO,
        &stood_down::SCENARIO,
        &adversary_forged_token::SCENARIO,
        &unreplicated_grant::SCENARIO,
        &outage_recovery::SCENARIO,
        &session_expiry_unnoticed::SCENARIO,
        &clock_jump::SCENARIO,
        &clock_skew::SCENARIO,
        &thundering_herd::SCENARIO,
        &service_failover::SCENARIO,
        &service_quorum_loss::SCENARIO,
        &service_leader_stall::SCENARIO,
        &service_leader_isolated::SCENARIO,
        &service_leader_cut_off::SCENARIO,
        &service_leader_wakes::SCENARIO,
        &heartbeat_starved::SCENARIO,
        &adversary_forged_coordinator::SCENARIO,
        &adversary_delayed_renewals::SCENARIO,
        &adversary_rogue_fence::SCENARIO,
        &adversary_lying_device::SCENARIO,
        &slow_fencing_device::SCENARIO,
        &service_data_loss::SCENARIO,
        &service_restored::SCENARIO,
        &redis_restart::SCENARIO,
        &lock_delay::SCENARIO,
        &mixed_locks::SCENARIO,
        &controller_resign_storm::SCENARIO,
        &reaped_parent::SCENARIO,
        &incident_github_2016::SCENARIO,
        &incident_solr_2015::SCENARIO,
        &incident_k8s_controller_2017::SCENARIO,
        &incident_invoice::SCENARIO,
        &long_job::SCENARIO,
        &weak_crons::SCENARIO,
        &stale_enactor::SCENARIO,
        &stale_address::SCENARIO,
        &stale_cache::SCENARIO,
        &slow_service::SCENARIO,
        &leader_cannot_work::SCENARIO,
        &leader_cannot_work::CLIENTS,
        &diverging_copies::DIVERGING,
        &diverging_copies::MAJORITY,
        &shard_rebalance::SCENARIO,
        &second_takeover::CANDIDATES,
        &second_takeover::MEMBERS,
    ];
}

pub fn find(name: &str) -> Option<&'static Scenario> {
    ALL.into_iter().find(|scenario| scenario.name == name)
}

/// Every scenario that applies to a protocol.
pub fn of(protocol: &Protocol) -> impl Iterator<Item = &'static Scenario> {
    ALL.into_iter().filter(|scenario| scenario.needs.met_by(protocol))
}

/// Each scenario with each protocol that it applies to, in that order; pairs that need more candidates than
/// `params.nodes` are left out.
pub fn pairs(
    scenarios: &[&'static Scenario],
    protocols: &[&'static Protocol],
    params: &Params,
) -> Vec<(&'static Scenario, &'static Protocol)> {
    let all = scenarios.iter().flat_map(|s| protocols.iter().map(move |p| (*s, *p)));
    // Validation of the plan rejects impossible numbers of candidates.
    let few = |scenario: &Scenario| (1..scenario.needs.candidates_min()).contains(&params.nodes);
    all.filter(|(scenario, protocol)| scenario.needs.met_by(protocol) && !few(scenario)).collect()
}

/// The fewest candidates for a scenario under a protocol: another has to take over when the leader fails, and if votes
/// are counted the others have to be a majority.
pub fn fewest(scenario: &Scenario, protocol: &Protocol) -> u16 {
    let to_take_over = match scenario.hazard {
        hazard::NONE => 1,
        _ if protocol.majority => 3,
        _ => 2,
    };
    scenario.needs.candidates_min().max(to_take_over)
}

impl Scenario {
    /// The validated plan.
    ///
    /// # Errors
    /// One sentence, as from [`Plan::validate_among`].
    pub fn compile(&self, params: &Params, protocol: &Protocol, seed: u64) -> Result<Plan, Invalid> {
        self.needs.of(self.name, protocol, &election::ALL)?;
        // The works asked for, and those that scenarios add.
        let works: Vec<_> = params.works.iter().copied().chain(work::ALL).collect();
        let known = Known { scenarios: vec![self.name], protocols: &[protocol], bugs: &params.bugs, works: &works };
        if params.service_members.is_some_and(|count| count != 1) && protocol.service.process.is_none() {
            return Err(Invalid(format!("`{}` has no service whose members could be counted", protocol.name)));
        }
        // Validated first, so that no scenario computes with invalid durations. A scenario may have groups of its own
        // to place.
        let placement = params.placement.filter(|_| params.groups > 1);
        let checked = Params { placement, copies: diverging_copies::copies(self, params), ..params.clone() };
        let mut checked = checked.plan(self.name, protocol, seed, 1_000);
        program::fit(&mut checked, protocol);
        checked.validate_among(&known)?;
        let fewest = self.needs.candidates_min();
        if params.nodes < fewest {
            return Err(Invalid(format!(
                "`{}` needs at least {fewest} candidates, and {} is asked for",
                self.name, params.nodes
            )));
        }
        let mut plan = (self.plan)(params, protocol, seed);
        if plan.network.control_apart && !plan.limits_bandwidth() {
            let name = self.name;
            return Err(Invalid(format!(
                "nothing limits the bandwidth in `{name}`, so --control-link means nothing; add --bandwidth"
            )));
        }
        plan.dual_belief_bound_ms = belief::bound_ms(&plan, protocol);
        let owners = plan.works.iter().map(String::as_str).chain([protocol.name]);
        plan.set = set::keep(&params.set, owners);
        program::fit(&mut plan, protocol);
        // A scenario may be about a bug, which its plan switches on.
        let own = known_bugs::ALL.into_iter().filter(|bug| plan.bugs.iter().any(|id| id == bug.id));
        let bugs: Vec<_> = params.bugs.iter().copied().chain(own).collect();
        plan.validate_among(&Known { bugs: &bugs, ..known })?;
        Ok(plan)
    }
}

/// When the fleet has settled on its first leader and its load, milliseconds: the candidates have started, one was
/// elected, has sealed, and has renewed once.
pub fn settled_ms(params: &Params, protocol: &Protocol) -> u64 {
    // Candidates that elect among themselves first wait for an existing leader.
    let silence_ms = match protocol.elects_among_peers() {
        true => params.granted_ttl_ms(protocol) + params.takeover_max_ms(protocol),
        false => 0,
    };
    // Redlock's lock asks five servers in turn, over connections that it first has to open, and may have to retry;
    // nearby servers answer within the constant.
    let trips_ms = (100 * params.network().one_way_max_us()).div_ceil(1_000).saturating_sub(100);
    1_500 + trips_ms + silence_ms + params.timings(protocol).renew_interval_ms
}

/// A time within one lease after `settled_ms`, milliseconds, so that over many seeds a fault strikes in every phase of
/// the renewal.
pub fn strike_ms(random: &mut impl RngCore, params: &Params, protocol: &Protocol) -> f64 {
    let first_ms = settled_ms(params, protocol);
    drawn_ms(random, first_ms as f64, (first_ms + params.granted_ttl_ms(protocol)) as f64)
}

/// The latest such strike, milliseconds.
pub fn last_strike_ms(params: &Params, protocol: &Protocol) -> u64 {
    settled_ms(params, protocol) + params.granted_ttl_ms(protocol)
}

/// How long a cut must last for a successor to be elected and seen at work, milliseconds: three leases and 2 s, and
/// longer if a takeover may take longer than a lease.
pub fn cut_ms(params: &Params, protocol: &Protocol) -> u64 {
    let (ttl_ms, takeover_ms) = (params.granted_ttl_ms(protocol), params.takeover_max_ms(protocol));
    2 * ttl_ms + ttl_ms.max(takeover_ms) + 2_000
}

/// The parameters with a service of at least three members, unless another number is asked for.
fn clustered(params: &Params, protocol: &Protocol) -> Params {
    let usual = protocol.service.usual_members.max(3);
    Params { service_members: params.service_members.or(Some(usual)), ..params.clone() }
}

/// The parameters of a scenario with wrong wall clocks. If leases are counted on a wall clock, reads go to the store:
/// no such lease is better than a clock that can be set.
fn with_wrong_clocks(params: &Params, protocol: &Protocol) -> Params {
    let on_wall_clock = protocol.service.expires_by_wall_clock;
    Params { read_lease: params.read_lease.or(on_wall_clock.then_some(false)), ..params.clone() }
}

/// The part of the service that keeps the grants: all of its members together, or the first of its servers, which is
/// the primary until it is replaced.
fn keeper(protocol: &Protocol) -> Who {
    match protocol.service.beside {
        Some(Service { process: Some(process), usual_members, .. }) => {
            Who::Named(member_name(process, 1, *usual_members))
        }
        _ => Who::Service,
    }
}

/// The longest failover of the service itself, milliseconds.
fn failover_ms(protocol: &Protocol) -> u64 {
    protocol.service.failover_max / MILLISECOND
}

/// The works asked for, or the usual ones, and this one.
fn works_with(params: &Params, work: &'static work::Kind) -> Vec<String> {
    let asked = if params.works.is_empty() { &work::USUAL[..] } else { &params.works[..] };
    let others = asked.iter().filter(|other| other.name != work.name);
    others.chain([&work]).map(|work| work.name.to_owned()).collect()
}

/// The candidates' names in a drawn order.
fn shuffled(random: &mut impl RngCore, params: &Params) -> Vec<String> {
    let mut names: Vec<String> = (1..=params.nodes).map(candidate).collect();
    for last in (1..names.len()).rev() {
        names.swap(last, streams::between(random, 0, last as u64) as usize);
    }
    names
}

/// A cut between two groups of candidates.
fn cut(from: &[String], to: &[String], for_ms: u64) -> Fault {
    let group = |names: &[String]| names.iter().cloned().map(Who::Named).collect();
    Fault::Partition { from: group(from), to: group(to), one_way: false, for_ms: Some(for_ms as f64) }
}

/// The name of a candidate, counted from 1.
pub fn candidate(number: u16) -> String {
    format!("n{number}")
}

/// The candidate that the protocol prefers; without a preference, the one with the highest id.
fn preferred(params: &Params, protocol: &Protocol) -> String {
    match protocol.preference {
        Preference::Lowest => candidate(1),
        Preference::Any | Preference::Highest => candidate(params.nodes),
    }
}

/// A drawn time, milliseconds, in whole microseconds.
pub fn drawn_ms(random: &mut impl RngCore, low_ms: f64, high_ms: f64) -> f64 {
    streams::between(random, (low_ms * 1e3) as u64, (high_ms * 1e3) as u64) as f64 / 1e3
}

/// A fault that strikes at a time, milliseconds.
pub fn at(ms: f64, what: Fault) -> PlannedFault {
    // Sums of milliseconds are not exactly whole microseconds.
    PlannedFault { when: Trigger::At { ms: (ms * 1e3).round() / 1e3 }, what, group: 0 }
}

/// The run must show each of these facts at least this often; otherwise it is inconclusive.
pub fn require<const N: usize>(facts: [(Fact, u64); N]) -> Vec<Requirement> {
    facts.into_iter().map(|(fact, at_least)| Requirement { fact, at_least }).collect()
}
