//! What protocols promise in scenarios with given parameters, and within which bounds.

use super::{
    Scenario, diverging_copies, heartbeat_starved, incident_invoice, leader_cannot_work, second_takeover,
    stale_address, stale_cache, stale_enactor, unknown_outcome, weak_crons,
};
use crate::params::Params;
use protocols::{
    copies::Copies,
    election::{
        Bounds, Hazard, Notice, Promise, Protocol, Timer, Transport, hazard, promise::GRANTED_AGAIN, raft_core,
    },
    fence::checks::Fencing,
};

/// The promises that a run is held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promised {
    pub safety: Promise,
    pub liveness: Live,
}

/// The liveness promise: whether a leader acts in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Live {
    /// A leader acts in time.
    Holds,
    /// A leader acts in time, except while a candidate is heard but does not hear: the protocol promises not to notice
    /// that.
    UnlessHalfHeard,
    /// No leader acts in time, in every run.
    Breaks,
    /// Neither is promised.
    May,
}

impl Live {
    /// A protocol's liveness promise where nothing else applies.
    pub fn of(protocol: &Protocol) -> Live {
        match protocol.notices.half_heard {
            Notice::Never => Live::UnlessHalfHeard,
            Notice::AsDead | Notice::AtOnce => Live::Holds,
        }
    }
}

impl Promised {
    /// The word for it in tables.
    pub const fn word(self) -> &'static str {
        match (self.liveness, self.safety) {
            (Live::Breaks, Promise::Holds | Promise::May) => "dark",
            (_, Promise::Holds) => "holds",
            (_, Promise::Breaks(_)) => "breaks",
            (_, Promise::May) => "may",
        }
    }
}

/// A protocol's promises in a scenario with these parameters.
pub fn promised(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promised {
    Promised { safety: promise(scenario, protocol, params), liveness: liveness(scenario, protocol, params) }
}

fn liveness(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Live {
    // LeaseGuard's new leader waits for as long as its wall clock is behind that of the former one.
    let guards = raft_core::guard(&params.resolved(protocol)).is_some();
    if guards && (scenario.hazard == hazard::CLOCK_STEPS || !params.lease_covers_reads(protocol)) {
        return Live::May;
    }
    let nobody = match scenario.hazard {
        leader_cannot_work::HAZARD => !leader_cannot_work::is_noticed(scenario, protocol, params),
        // In a queue everybody waits for a node that its owner has forgotten.
        hazard::SERVICE_RESTORED => QUEUES.contains(&protocol.name) && params.members_agree(protocol),
        _ => false,
    };
    match nobody {
        true if scenario.hazard == hazard::SERVICE_RESTORED && params.network().loss > 0.0 => Live::May,
        true => Live::Breaks,
        false => Live::of(protocol),
    }
}

/// A protocol's safety promise in a scenario with these parameters. If writes travel by datagrams, only a token that is
/// checked tells a late write from a new one, and no protocol promises anything without. On a lossy network, a protocol
/// that elects over datagrams promises only what it promises under false suspicion. Reads from memory are only as good
/// as the clocks: their promise ends where the clocks drift further apart than the lease allows.
pub fn promise(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    // Elsewhere, memory reads are only drawn if the lease covers them.
    let from_memory = params.read_lease.unwrap_or(scenario.hazard.reads_memory);
    let copies = diverging_copies::copies(scenario, params);
    // Copies with a deciding majority follow the newest token, whatever their resources check.
    let majority = copies == Some(Copies::Majority);
    let unchecked = !(protocol.tokened && (params.fencing == Fencing::On || majority));
    // A lease that only a clock ends is only as good as the clocks.
    let by_clock = from_memory || (scenario.hazard.isolates_leader && unchecked);
    let relaxed = !params.set.rules(protocol).are_usual();
    let guards = raft_core::guard(&params.resolved(protocol)).is_some();
    let promised = match scenario.hazard {
        hazard::SATURATED_LINK => heartbeat_starved::promised(protocol, params),
        leader_cannot_work::HAZARD => leader_cannot_work::promised(scenario, protocol, params),
        _ => told_apart(scenario, protocol, params),
    };
    let promised = match copies {
        // In one run of sixty the dual belief exceeds the arithmetic's bound, for an unknown reason.
        _ if scenario.name == second_takeover::CANDIDATES.name && protocol.name == "kraft" => Promise::May,
        Some(Copies::Async) => diverging_copies::promised(scenario, promised),
        Some(Copies::Majority)
            if [diverging_copies::MAJORITY.name, second_takeover::CANDIDATES.name].contains(&scenario.name) =>
        {
            promise_checking(scenario, protocol, Fencing::On)
        }
        Some(Copies::Majority) if params.fencing != Fencing::On => Promise::May,
        Some(Copies::Majority) | None => promised,
    };
    match promised {
        // Beliefs end by other rules than those that the protocol's promise assumes.
        Promise::Holds if unchecked && relaxed && scenario.hazard != hazard::NONE => Promise::May,
        Promise::Holds if unchecked && params.net.is_hostile() => Promise::May,
        // A lost packet that nothing follows, or that is lost again, is retransmitted after 200 ms or much later: a
        // write may arrive after its writer's lease, and an abandoned one may arrive twice.
        Promise::Holds if unchecked && scenario.hazard != hazard::NONE && params.network().loss > 0.0 => Promise::May,
        // The leader is cut off from the store as well: its machine retransmits what it wrote into the cut, which
        // arrives when the cut heals, long after its successor's first write.
        Promise::Holds if unchecked && scenario.hazard.reads_memory => Promise::May,
        // Only the lock-delay makes the others wait, and only for its length.
        Promise::Holds
            if unchecked
                && scenario.hazard == hazard::PAUSE_WITHIN_LOCK_DELAY
                && (params.pause_ms.is_some() || params.set.timer(protocol, Timer::LockDelay).is_some()) =>
        {
            Promise::May
        }
        Promise::Holds if is_suspicious(protocol, params) => Promise::May,
        // A certain violation depends on exact timing; lost packets may keep a successor from it.
        Promise::Breaks(_) if params.network().loss > 0.0 => Promise::May,
        promise if scenario.hazard == hazard::SERVICE_RESTORED && params.members_agree(protocol) => {
            restored_in_cluster(protocol, promise)
        }
        Promise::Breaks(_) if scenario.name == stale_enactor::SCENARIO.name => stale_enactor::UNFENCED,
        Promise::Breaks(_) if scenario.name == stale_cache::SCENARIO.name => stale_cache::UNFENCED,
        Promise::Holds
            if by_clock && (!params.lease_covers_reads(protocol) || forgets_to_wait(scenario.hazard, protocol)) =>
        {
            Promise::May
        }
        // LeaseGuard compares wall clocks, and these are set.
        Promise::Holds if guards && scenario.hazard == hazard::CLOCK_STEPS && params.read_lease != Some(false) => {
            Promise::May
        }
        promise => promise,
    }
}

/// Protocols whose candidates each wait for the node before their own.
pub(super) const QUEUES: [&str; 2] = ["zk-election", "zk-selector"];

/// The promise in `service-restored` if the service is a cluster: in a queue nobody leads again, so nobody writes with
/// a token that is granted twice.
fn restored_in_cluster(protocol: &Protocol, promised: Promise) -> Promise {
    match promised {
        Promise::Breaks(_) if QUEUES.contains(&protocol.name) => GRANTED_AGAIN,
        promised => promised,
    }
}

/// True if the network itself causes what the protocol promises nothing about: lost datagrams that look like a leader's
/// silence.
fn is_suspicious(protocol: &Protocol, params: &Params) -> bool {
    let by_datagrams = protocol.elects_among_peers() && protocol.transport == Transport::Datagram;
    let promise = (protocol.promise)(hazard::FALSE_SUSPICION, params.fencing == Fencing::On);
    by_datagrams && params.network().loss > 0.0 && promise != Promise::Holds
}

/// The promise if the store makes these checks. A single check only guards its own property: the token keeps stale
/// leaders from taking effect; retries and the order of writes need the other two.
fn promise_checking(scenario: &Scenario, protocol: &Protocol, fencing: Fencing) -> Promise {
    let promise = |on| (protocol.promise)(scenario.hazard, on);
    match (fencing, scenario.hazard) {
        (Fencing::On, _) => promise(true),
        (Fencing::Off, _) => promise(false),
        (_, hazard::NONE) => promise(false),
        (Fencing::Token, hazard::PAUSE_BEYOND_LEASE) => promise(true),
        (Fencing::Token | Fencing::Order | Fencing::Memory, _) => Promise::May,
    }
}

/// True if a candidate may take over without waiting for the leader's lease, which memory reads rely on: a restarted
/// follower may have forgotten it, and a service may have dropped the lease.
fn forgets_to_wait(hazard: Hazard, protocol: &Protocol) -> bool {
    hazard.drops_lease || (hazard.restarts && protocol.forgets_to_wait)
}

/// The parameters for a scenario in which a candidate may not wait: memory reads stay off in that case, unless asked
/// for.
pub(super) fn without_waiting(params: &Params, hazard: Hazard, protocol: &Protocol) -> Params {
    let read_lease = params.read_lease.or(forgets_to_wait(hazard, protocol).then_some(false));
    Params { read_lease, ..params.clone() }
}

/// The promise of a scenario that has rules of its own; otherwise that of its hazard.
fn told_apart(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    let by_hazard = promise_checking(scenario, protocol, params.fencing);
    match scenario.name {
        name if name == weak_crons::SCENARIO.name => weak_crons::promised(protocol),
        name if name == stale_address::SCENARIO.name => stale_address::promised(by_hazard, params),
        name if name == incident_invoice::SCENARIO.name => incident_invoice::promised(protocol, params),
        _ => by_hazard,
    }
}

/// A protocol's upper bounds on figures in a scenario with these parameters; none if packets are lost, health checks
/// err, or timers are not the protocol's own.
pub fn bounds(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Bounds {
    let own_timers = params.renew_interval_ms.is_none() && params.request_timeout_ms.is_none();
    let own_timers = own_timers && params.lease_ttl_ms.is_none() && params.election_timeout_ms.is_none();
    let own_timers = own_timers && params.retry_period_ms.is_none() && !params.set.has_timers(protocol);
    let own_timers = own_timers && params.set.rules(protocol).are_usual();
    // A leader whose health checks err is replaced without need.
    if params.network().loss > 0.0 || !own_timers || params.tenure.check_errors_ppm > 0 {
        return Bounds::default();
    }
    match (protocol.bounds)(scenario.hazard) {
        // Two leaders go, and the one that resigned may lead again.
        bounds if scenario.name == unknown_outcome::SCENARIO.name => Bounds { elections: None, ..bounds },
        bounds => bounds,
    }
}
