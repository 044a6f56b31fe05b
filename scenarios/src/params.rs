//! The options that every scenario takes, and the part of a plan that they determine: timers, candidates and their
//! clocks, load, network.

pub use crate::profile::{PROFILES, Profile};
use crate::{
    plan::{Address, Candidate, LONGEST_MS, Load, Network, Plan, SCHEMA, Tenure, Timings},
    profile::Preset,
    read_lease,
    set::{self, Settings},
    streams::{self, CLOCKS, READS},
};
use protocols::{
    address,
    bug::Bug,
    copies::Copies,
    election::{self, Protocol, raft_core},
    fence::checks::{ChargeCheck, Fencing},
    service::Service,
    sharding::Placement,
    types::MILLISECOND,
    work::{Kind, once, work_set},
};
mod timers;

/// The liveness bound's allowance beyond lease and takeover, milliseconds: reconnecting, sealing, one lost request.
pub const LIVENESS_SLACK_MS: u64 = 2_000;
/// Default lease to ask for, milliseconds.
pub const LEASE_TTL_MS: u64 = 3_000;
/// Reads per second in a run that is about reads.
pub const READS_PER_S: u64 = 1_000;
/// Default clock drift, either way, parts per million.
pub const CLOCK_DRIFT_DEFAULT_PPM: u64 = 100;
/// Default time for which a client caches an address, milliseconds: short enough for the liveness bound.
pub const ADDRESS_TTL_MS: u64 = 1_000;
/// All candidates start within this time, milliseconds.
pub const STARTS_WITHIN_MS: u64 = 250;

/// The options that all scenarios share. The defaults are the same for every protocol, so that protocols can be
/// compared; they are not the reference implementations' own, which `fencepost list protocols` shows (15 s for Redis,
/// 60 s for etcd).
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    pub nodes: u16,
    /// Length of the run, milliseconds; `None`: as long as the scenario needs.
    pub duration_ms: Option<u64>,
    /// Lease time to live to ask for, milliseconds; `None`: 3 s, or the lower end of the election timeout for a
    /// protocol that has one. Protocols without a lease use it as the time they wait for a silent leader.
    pub lease_ttl_ms: Option<u64>,
    /// Range of election timeouts, milliseconds; `None`: one to two leases, or the protocol's own range, stretched on a
    /// network with long round trips.
    pub election_timeout_ms: Option<(u64, u64)>,
    /// From one renewal to the next, milliseconds; `None`: the protocol's share of the granted lease.
    pub renew_interval_ms: Option<u64>,
    /// Time between a candidate's attempts to acquire, milliseconds; `None`: the protocol's own. Meaningless for a
    /// protocol without a retry period.
    pub retry_period_ms: Option<u64>,
    /// Timeout of one request to the service, milliseconds; `None`: a third of the lease, at most 1 s.
    pub request_timeout_ms: Option<u64>,
    /// Each candidate's wall clock is off by up to this many milliseconds, either way.
    pub clock_skew_ms: u64,
    /// Each candidate's clocks run too fast or too slow by up to this many parts per million. The default, 100, is a
    /// poor quartz; a good one has 20.
    pub clock_drift_ppm: u64,
    /// Requests per second to the sequencer, all clients together.
    pub rate: u64,
    /// The number of clients that send them.
    pub clients: u16,
    /// The number of groups. Every candidate stands in each; each has its own clients and requests.
    pub groups: u16,
    /// How the candidate that should lead a group is decided; `None`: not at all, except in the scenario about
    /// placement.
    pub placement: Option<Placement>,
    /// Length of the scenario's pause, milliseconds; `None`: the scenario's own.
    pub pause_ms: Option<u64>,
    /// Warm-up of new leaders, and resignations by mistake.
    pub tenure: Tenure,
    /// The kind of address by which clients find the leader; `None`: they ask every candidate, except in the scenario
    /// about addresses.
    pub address: Option<address::Kind>,
    /// How long a client caches the address, milliseconds; `None`: [`ADDRESS_TTL_MS`].
    pub address_ttl_ms: Option<u64>,
    /// Members of the coordination service; `None`: its usual number.
    pub service_members: Option<u16>,
    /// The leader's works; empty: a sequencer and a scheduler.
    pub works: Vec<&'static Kind>,
    /// The properties of the work-set, for works that have one.
    pub work_set: work_set::Asked,
    /// The check before an invoice is charged; `None`: the store's usual check.
    pub charge_check: Option<ChargeCheck>,
    /// The given values of parameters of one protocol or work.
    pub set: Settings,
    /// The known bugs to switch on.
    pub bugs: Vec<&'static Bug>,
    pub fencing: Fencing,
    /// A copy of the data on every candidate's node instead of one store for all, and when the leader's copy
    /// acknowledges; `None`: the scenario's own choice.
    pub copies: Option<Copies>,
    /// Does the leader answer reads from memory while its belief lasts? `None`: in half of the seeds, if the lease
    /// covers the clocks' drift; always in the scenario about it.
    pub read_lease: Option<bool>,
    /// Reads of the last number per second, all clients together; `None`: a tenth of `rate`, or [`READS_PER_S`] in the
    /// scenario about reads and if `read_lease` is asked for.
    pub reads_per_s: Option<u64>,
    /// The network's behaviour without faults.
    pub net: &'static Profile,
    /// Shortest and longest one-way latency, microseconds; `None`: the profile's.
    pub latency_us: Option<(u64, u64)>,
    /// Lost packets per million; `None`: the profile's.
    pub loss_ppm: Option<u32>,
    /// Millions of bits per second that each process can send; `None`: unlimited.
    pub bandwidth_mbps: Option<u64>,
    /// Does election traffic use a link of its own?
    pub control_apart: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            nodes: 3,
            duration_ms: None,
            lease_ttl_ms: None,
            election_timeout_ms: None,
            renew_interval_ms: None,
            retry_period_ms: None,
            request_timeout_ms: None,
            clock_skew_ms: 200,
            clock_drift_ppm: CLOCK_DRIFT_DEFAULT_PPM,
            rate: 1_000,
            clients: 2,
            groups: 1,
            placement: None,
            pause_ms: None,
            tenure: Tenure::default(),
            address: None,
            address_ttl_ms: None,
            service_members: None,
            works: Vec::new(),
            work_set: work_set::Asked::default(),
            charge_check: None,
            set: Settings::default(),
            bugs: Vec::new(),
            fencing: Fencing::On,
            copies: None,
            read_lease: None,
            reads_per_s: None,
            net: &PROFILES[0],
            latency_us: None,
            loss_ppm: None,
            bandwidth_mbps: None,
            control_apart: false,
        }
    }
}

impl Params {
    /// The timers for a protocol. Invalid durations are passed through; [`Plan::validate_among`] rejects them.
    pub fn timings(&self, protocol: &Protocol) -> Timings {
        let ttl_ms = self.asked_ttl_ms(protocol);
        let granted = self.granted_ttl_ms(protocol) * MILLISECOND;
        let own_ms = self.own_timers_ms(protocol, granted);
        let renew_ms = (protocol.renew_interval)(granted) / MILLISECOND;
        let renews_at = own_ms.retry_period.filter(|_| protocol.timers.renews_at_retry).or(self.renew_interval_ms);
        // A service that grants more than was asked for may also take longer to answer.
        let lasts_ms = if protocol.elects_among_peers() { ttl_ms } else { self.granted_ttl_ms(protocol) };
        Timings {
            lease_ttl_ms: ttl_ms,
            renew_interval_ms: renews_at
                .or(self.preset_of(protocol).map(|preset| preset.renew_interval_ms))
                .unwrap_or_else(|| self.bearable_ms(protocol, renew_ms.max(1))),
            request_timeout_ms: self.request_timeout_ms.unwrap_or((lasts_ms / 3).clamp(1, 1_000)),
            election_timeout_ms: self.election_timeout(protocol),
            rules: self.set.rules(protocol),
            renew_deadline_ms: own_ms.renew_deadline,
            retry_period_ms: own_ms.retry_period,
            lock_delay_ms: own_ms.lock_delay,
            entry_interval_ms: own_ms.entry_interval,
            replica_lag_ms: own_ms.replica_lag,
        }
    }

    /// The timers of a protocol, as it takes them.
    pub fn resolved(&self, protocol: &Protocol) -> election::Timings {
        self.timings(protocol).resolved_with(self.set.values(protocol.name))
    }

    /// Whose timers to use; explicit timers override them.
    pub fn preset_of(&self, protocol: &Protocol) -> Option<&'static Preset> {
        Preset::of(self.set.rules(protocol).manner)
    }

    /// The network's behaviour without faults: the profile, with the explicit options applied.
    pub fn network(&self) -> Network {
        let mut network = self.net.network();
        if let Some((from_us, to_us)) = self.latency_us {
            (network.latency_us, network.jitter_us) = (from_us, to_us.saturating_sub(from_us));
        }
        if let Some(ppm) = self.loss_ppm {
            network.loss = f64::from(ppm) / 1e6;
        }
        network.bandwidth_mbps = self.bandwidth_mbps.unwrap_or(network.bandwidth_mbps);
        network.control_apart = self.control_apart;
        network
    }

    /// The default heartbeat interval, milliseconds: `own_ms`, or for candidates that elect among themselves at least a
    /// quarter more than the longest round trip, unless the lease is shorter than that. An answer slower than a
    /// heartbeat comes too late for Raft's leader.
    fn bearable_ms(&self, protocol: &Protocol, own_ms: u64) -> u64 {
        let trip_us = 2 * self.network().one_way_max_us();
        let slow_ms = (trip_us + trip_us / 4).div_ceil(1_000);
        match protocol.elects_among_peers() && slow_ms < self.granted_ttl_ms(protocol) {
            true => own_ms.max(slow_ms),
            false => own_ms,
        }
    }

    /// The lease time to live to ask for, milliseconds.
    pub fn asked_ttl_ms(&self, protocol: &Protocol) -> u64 {
        let shortest = self.election_timeout(protocol).map(|(min_ms, _)| min_ms);
        let preset = self.preset_of(protocol).map(|preset| preset.lease_ttl_ms);
        self.lease_ttl_ms.or(preset).or(shortest).unwrap_or(LEASE_TTL_MS)
    }

    fn election_timeout(&self, protocol: &Protocol) -> Option<(u64, u64)> {
        let (min, max) = protocol.election_timeout?;
        let of_lease = self.lease_ttl_ms.map(|ttl_ms| (ttl_ms, ttl_ms.saturating_mul(2)));
        // Ten round trips, as etcd's tuning guide recommends: on a network slower than the reference's, no
        // acknowledgement would come in time.
        let trips_ms = (20 * self.network().one_way_max_us()).div_ceil(1_000);
        let stretch = trips_ms.div_ceil((min / MILLISECOND).max(1)).max(1);
        let own = (min / MILLISECOND * stretch, max / MILLISECOND * stretch);
        let preset = self.preset_of(protocol).map(|preset| preset.election_timeout_ms);
        self.election_timeout_ms.or(preset).or(of_lease).or(Some(own))
    }

    /// The lease time to live that the protocol's service grants, milliseconds.
    pub fn granted_ttl_ms(&self, protocol: &Protocol) -> u64 {
        // No plan may have a longer lease, and protocols need not compute with one.
        (protocol.granted_ttl)(self.asked_ttl_ms(protocol).min(LONGEST_MS) * MILLISECOND) / MILLISECOND
    }

    /// The longest time from the end of an unrenewed lease to a successor's election on a quiet network, milliseconds.
    pub fn takeover_max_ms(&self, protocol: &Protocol) -> u64 {
        (protocol.takeover_max)(
            &self.bounded_timings(protocol).resolved_with(self.set.values(protocol.name)),
            self.nodes,
        )
        .div_ceil(MILLISECOND)
    }

    /// How soon after the last fault has healed a leader must act again, milliseconds: the dead leader's lease expires,
    /// a successor notices and takes over, warms up, and [`LIVENESS_SLACK_MS`].
    pub fn liveness_bound_ms(&self, protocol: &Protocol) -> u64 {
        let warm_ms = self.tenure.warm_up_ms.min(LONGEST_MS);
        self.granted_ttl_ms(protocol) + self.takeover_max_ms(protocol) + warm_ms + LIVENESS_SLACK_MS
    }

    /// How long a run continues after the last fault, so that it shows the aftermath and can miss the liveness bound:
    /// two leases and 3 s, and at least a second more than the bound; milliseconds.
    pub fn aftermath_ms(&self, protocol: &Protocol) -> u64 {
        (2 * self.granted_ttl_ms(protocol) + 3_000).max(self.liveness_bound_ms(protocol) + 1_000)
    }

    fn reads_per_s(&self) -> u64 {
        let share = (self.rate / 10).max(1);
        self.reads_per_s.unwrap_or(if self.read_lease == Some(true) { READS_PER_S } else { share })
    }

    /// True if the leader answers reads from memory at this seed.
    fn reads_from_memory(&self, protocol: &Protocol, seed: u64) -> bool {
        self.read_lease.unwrap_or_else(|| {
            let drawn = streams::between(&mut streams::stream(seed, READS), 0, 1) == 1;
            drawn && self.lease_covers_reads(protocol)
        })
    }

    /// True if no read from memory can be stale while clocks drift only as far as these parameters allow and nobody
    /// sets them.
    pub fn lease_covers_reads(&self, protocol: &Protocol) -> bool {
        let timings = self.bounded_timings(protocol).resolved_with(self.set.values(protocol.name));
        if let Some((_, clock_bound)) = raft_core::guard(&timings) {
            return read_lease::guard_holds(clock_bound, self.clock_skew_ms, self.clock_drift_ppm);
        }
        let bound = read_lease::bound(protocol, &timings, &self.network());
        bound.is_some_and(|bound| bound.holds_at(self.clock_drift_ppm))
    }

    /// True if the service has several members that elect a leader by majority.
    pub fn members_agree(&self, protocol: &Protocol) -> bool {
        let service = protocol.service;
        service.members.agree() && self.service_members.unwrap_or(service.usual_members) > 1
    }

    /// A plan without faults or requirements: candidates `n1`, `n2` … with clocks drawn from the seed, and a run of
    /// `needed_ms` rounded up to seconds unless a duration was asked for.
    pub fn plan(&self, scenario: &str, protocol: &Protocol, seed: u64, needed_ms: u64) -> Plan {
        let mut clocks = streams::stream(seed, CLOCKS);
        let candidates = (1..=self.nodes).map(|number| Candidate {
            name: format!("n{number}"),
            wall_offset_ms: streams::within(&mut clocks, self.clock_skew_ms),
            rate_ppm: streams::within(&mut clocks, self.clock_drift_ppm),
            starts_at_ms: streams::between(&mut clocks, 0, STARTS_WITHIN_MS),
            joins_later: false,
            timings: None,
        });
        // The option is about the protocol's own service; another service beside it has its usual number.
        let members = |service: &Service| match std::ptr::eq(service, protocol.service) {
            true => self.service_members.unwrap_or(service.usual_members),
            false => service.usual_members,
        };
        let services = protocol.service.all().filter_map(|s| Some((s.process?.to_owned(), members(s))));
        Plan {
            schema: SCHEMA,
            scenario: scenario.to_owned(),
            protocol: protocol.name.to_owned(),
            seed,
            fencing: self.fencing,
            bugs: self.bugs.iter().map(|bug| bug.id.to_owned()).collect(),
            read_lease: self.reads_from_memory(protocol, seed),
            duration_ms: self.duration_ms.unwrap_or(needed_ms.div_ceil(1_000).saturating_mul(1_000)),
            timings: self.timings(protocol),
            candidates: candidates.collect(),
            groups: self.groups,
            service_members: services.filter(|(_, count)| *count != 1).collect(),
            load: Load { clients: self.clients, rate: self.rate, tick_ms: 1_000, reads_per_s: self.reads_per_s() },
            network: self.network(),
            faults: Vec::new(),
            requires: Vec::new(),
            liveness_bound_ms: self.liveness_bound_ms(protocol),
            dual_belief_bound_ms: None,
            works: self.works.iter().map(|work| work.name.to_owned()).collect(),
            work_set: self.work_set,
            // Scenarios that bring the work set the check themselves.
            charge_check: self.charge_check.filter(|_| self.works.iter().any(|work| once::KINDS.contains(work))),
            copies: self.copies,
            placement: self.placement,
            tenure: self.tenure,
            address: self.address.map(|kind| self.address_of(kind)),
            set: set::keep(&self.set, [protocol.name]),
            branches: Vec::new(),
        }
    }

    /// An address of this kind, with the time to live asked for.
    pub fn address_of(&self, kind: address::Kind) -> Address {
        Address { kind, ttl_ms: self.address_ttl_ms.unwrap_or(ADDRESS_TTL_MS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_that_nobody_asked_for_outlasts_a_round_trip() {
        let raft = election::find("raft").unwrap();
        let slow = Params {
            latency_us: Some((20_000, 40_000)),
            election_timeout_ms: Some((150, 300)),
            lease_ttl_ms: Some(150),
            ..Params::default()
        };
        assert_eq!(slow.timings(raft).renew_interval_ms, 100);
        assert_eq!(Params { renew_interval_ms: Some(50), ..slow.clone() }.timings(raft).renew_interval_ms, 50);
        // On a fast network the protocol's own interval applies.
        assert_eq!(Params { latency_us: None, ..slow }.timings(raft).renew_interval_ms, 50);
        let lease = election::find("redis-lease").unwrap();
        let params = Params { latency_us: Some((900_000, 900_000)), ..Params::default() };
        assert_eq!(params.timings(lease).renew_interval_ms, 1_000);
    }

    #[test]
    fn latency_and_loss_take_the_place_of_the_profiles() {
        let params = Params { latency_us: Some((300, 1_000)), loss_ppm: Some(5_000), ..Params::default() };
        let network = params.network();
        assert_eq!((network.latency_us, network.jitter_us, network.loss), (300, 700, 0.005));
        assert_eq!(Params::default().network(), Params::default().net.network());
    }
}
