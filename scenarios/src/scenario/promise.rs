//! What protocols promise of scenarios with given parameters, and within which bounds.

use super::{
    Scenario, diverging_copies, heartbeat_starved, incident_invoice, leader_cannot_work, second_takeover,
    stale_address, stale_cache, stale_enactor, unknown_outcome, weak_crons,
};
use crate::params::Params;
use protocols::{
    copies::Copies,
    election::{Bounds, Hazard, Notice, Promise, Protocol, Timers, Transport, promise::GRANTED_AGAIN},
    fence::checks::Fencing,
};

/// What a run is held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promised {
    /// About safety.
    pub safety: Promise,
    /// About liveness.
    pub liveness: Live,
}

/// What is promised about liveness: that somebody acts in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Live {
    /// Somebody does.
    Holds,
    /// Somebody does, except while a candidate is heard and does not hear in time: the protocol promises not to notice one.
    UnlessHalfHeard,
    /// Nobody does, in every run.
    Breaks,
    /// Neither is promised.
    May,
}

impl Live {
    /// What a protocol promises where nothing else is said.
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

/// Everything that a protocol promises in a scenario with these parameters.
pub fn promised(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promised {
    Promised { safety: promise(scenario, protocol, params), liveness: liveness(scenario, protocol, params) }
}

/// What it promises about liveness.
fn liveness(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Live {
    let nobody = match scenario.hazard {
        Hazard::LeaderCannotWork => !leader_cannot_work::is_noticed(scenario, protocol, params),
        // In a queue everybody waits for a node that its owner has forgotten.
        Hazard::ServiceRestored => QUEUES.contains(&protocol.name) && params.members_agree(protocol),
        _ => false,
    };
    match nobody {
        true if scenario.hazard == Hazard::ServiceRestored && params.network().loss > 0.0 => Live::May,
        true => Live::Breaks,
        false => Live::of(protocol),
    }
}

/// What a protocol promises about safety in a scenario with these parameters. Where writes travel by datagrams, only a token that is
/// checked can tell a late one from a new one, and nobody promises anything without. On a lossy network, a protocol that elects over datagrams promises only what it promises under false suspicion. Reads from memory are as good as the clocks: what is
/// promised of them ends where the clocks drift further apart than the lease allows.
pub fn promise(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    // Elsewhere they are only drawn where the lease covers them.
    let from_memory = match scenario.hazard {
        Hazard::ClockDrift => params.read_lease != Some(false),
        _ => params.read_lease == Some(true),
    };
    let copies = diverging_copies::copies(scenario, params);
    // Copies of which a majority decides follow the newest token, whatever their resources check.
    let majority = copies == Some(Copies::Majority);
    let unchecked = !(protocol.tokened && (params.fencing == Fencing::On || majority));
    let cut_off = matches!(scenario.hazard, Hazard::CutOffFromService | Hazard::CutOffFromPeers | Hazard::OneWayCut)
        || scenario.hazard == Hazard::DelayedRenewals;
    // A lease that nothing but a clock ends is as good as the clocks.
    let by_clock = from_memory || (cut_off && unchecked);
    let relaxed = !params.rules(protocol).are_usual();
    let promised = match scenario.hazard {
        Hazard::SaturatedLink => heartbeat_starved::promised(protocol, params),
        Hazard::LeaderCannotWork => leader_cannot_work::promised(scenario, protocol, params),
        _ => told_apart(scenario, protocol, params),
    };
    let promised = match copies {
        // Two believed for longer than the arithmetic allows in one run of sixty, and nobody knows yet why.
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
        // Beliefs end by other rules than the protocol promises by.
        Promise::Holds if unchecked && relaxed && scenario.hazard != Hazard::None => Promise::May,
        Promise::Holds if unchecked && params.net.is_hostile() => Promise::May,
        // A lost packet that nothing follows, or that is lost again, is sent again after 200 ms or much longer: a write may
        // arrive after its writer's lease, and one that was given up may arrive twice.
        Promise::Holds if unchecked && scenario.hazard != Hazard::None && params.network().loss > 0.0 => Promise::May,
        // The leader is cut off from the store as well: what it has written into the cut is sent again by its machine, and
        // arrives when the cut is healed, long after its successor's first write.
        Promise::Holds if unchecked && scenario.hazard == Hazard::ClockDrift => Promise::May,
        // It is the lock-delay that keeps the others waiting, as long as it is and no longer.
        Promise::Holds
            if unchecked
                && scenario.hazard == Hazard::PauseWithinLockDelay
                && (params.pause_ms.is_some() || params.own_ms.lock_delay.is_some()) =>
        {
            Promise::May
        }
        Promise::Holds if is_suspicious(protocol, params) => Promise::May,
        // What must break does so where the story runs to the millisecond; lost packets may keep a successor from it.
        Promise::Breaks(_) if params.network().loss > 0.0 => Promise::May,
        promise if scenario.hazard == Hazard::ServiceRestored && params.members_agree(protocol) => {
            restored_in_cluster(protocol, promise)
        }
        Promise::Breaks(_) if scenario.name == stale_enactor::SCENARIO.name => stale_enactor::UNFENCED,
        Promise::Breaks(_) if scenario.name == stale_cache::SCENARIO.name => stale_cache::UNFENCED,
        Promise::Holds
            if by_clock && (!params.lease_covers_reads(protocol) || forgets_to_wait(scenario.hazard, protocol)) =>
        {
            Promise::May
        }
        promise => promise,
    }
}

/// Who waits for the node before its own.
pub(super) const QUEUES: [&str; 2] = ["zk-election", "zk-selector"];

/// What must come of `service-restored` where the service is a cluster: in a queue nobody leads again, so that nobody writes with
/// a token that is given a second time.
fn restored_in_cluster(protocol: &Protocol, promised: Promise) -> Promise {
    match promised {
        Promise::Breaks(_) if QUEUES.contains(&protocol.name) => GRANTED_AGAIN,
        promised => promised,
    }
}

/// Does the network itself bring on what the protocol promises nothing about: datagrams that are lost, taken for a leader's
/// silence?
fn is_suspicious(protocol: &Protocol, params: &Params) -> bool {
    let by_datagrams = protocol.elects_among_peers() && protocol.transport == Transport::Datagram;
    let promise = (protocol.promise)(Hazard::FalseSuspicion, params.fencing == Fencing::On);
    by_datagrams && params.network().loss > 0.0 && promise != Promise::Holds
}

/// What is promised when the store makes these checks. One check alone keeps what it is for: the token keeps the past from
/// taking effect. Who retries, and whose writes come out of order, is for the other two.
fn promise_checking(scenario: &Scenario, protocol: &Protocol, fencing: Fencing) -> Promise {
    let promise = |on| (protocol.promise)(scenario.hazard, on);
    match (fencing, scenario.hazard) {
        (Fencing::On, _) => promise(true),
        (Fencing::Off, _) => promise(false),
        (_, Hazard::None) => promise(false),
        (Fencing::Token, Hazard::PauseBeyondLease) => promise(true),
        (Fencing::Token | Fencing::Order | Fencing::Memory, _) => Promise::May,
    }
}

/// Does somebody take over who was to wait for the leader's lease? A follower that has restarted may have forgotten that,
/// and a service may have dropped the lease. Reads from memory rest on it.
fn forgets_to_wait(hazard: Hazard, protocol: &Protocol) -> bool {
    let restarts = matches!(hazard, Hazard::RollingRestart | Hazard::RestartInIsolation | Hazard::DiskStall);
    let loses = matches!(hazard, Hazard::LostLease | Hazard::ServiceDataLoss | Hazard::ServiceRestored);
    let others = matches!(hazard, Hazard::ServiceForgets | Hazard::MixedLocks);
    (restarts && protocol.forgets_to_wait) || loses || others
}

/// The parameters for a scenario in which somebody may not wait: reads are from memory only where all do.
pub(super) fn without_waiting(params: &Params, hazard: Hazard, protocol: &Protocol) -> Params {
    let read_lease = params.read_lease.or(forgets_to_wait(hazard, protocol).then_some(false));
    Params { read_lease, ..params.clone() }
}

/// What it promises in one of the scenarios that tell more than their hazard, or by the hazard.
fn told_apart(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Promise {
    let by_hazard = promise_checking(scenario, protocol, params.fencing);
    match scenario.name {
        name if name == weak_crons::SCENARIO.name => weak_crons::promised(protocol),
        name if name == stale_address::SCENARIO.name => stale_address::promised(by_hazard, params),
        name if name == incident_invoice::SCENARIO.name => incident_invoice::promised(protocol, params),
        _ => by_hazard,
    }
}

/// How many of each figure a protocol promises at most in a scenario with these parameters: nothing where packets are lost,
/// or timers are not the protocol's own.
pub fn bounds(scenario: &Scenario, protocol: &Protocol, params: &Params) -> Bounds {
    let own_timers = params.renew_interval_ms.is_none() && params.request_timeout_ms.is_none();
    let own_timers = own_timers && params.lease_ttl_ms.is_none() && params.election_timeout_ms.is_none();
    let own_timers = own_timers && params.own_ms == Timers::NONE && params.rules(protocol).are_usual();
    // Whose health checks err is replaced without need.
    if params.network().loss > 0.0 || !own_timers || params.tenure.check_errors_ppm > 0 {
        return Bounds::default();
    }
    match (protocol.bounds)(scenario.hazard) {
        // Two leaders go, and who resigned may lead again.
        bounds if scenario.name == unknown_outcome::SCENARIO.name => Bounds { elections: None, ..bounds },
        bounds => bounds,
    }
}
