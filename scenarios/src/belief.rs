//! For how long two running nodes may both believe that they lead under a plan: the protocol's arithmetic, applied to
//! the worst that the plan does to clocks and messages.
//!
//! The bound ignores the seed: any fault may strike at the worst moment, and a process named only by its role
//! (`leader`, `trigger`) may be any candidate.

use crate::{
    fault::{Fault, Later, Who},
    plan::{LONGEST_MS, Plan},
    topology::Topology,
};
use protocols::{
    election::{Conditions, Protocol},
    history::FaultKind,
    types::{MICROSECOND, MILLISECOND},
};

/// How long retransmission delays a packet on a lossy network, nanoseconds: three losses in a row, after 200, 400 and
/// 800 ms.
const RESENT: u64 = 1_400 * MILLISECOND;
/// How long a write to a healthy disk blocks a candidate, nanoseconds.
const WRITE: u64 = 20 * MILLISECOND;
/// How many syncs one write may take.
const SYNCS: u64 = 4;

/// The bound of a plan, milliseconds; `None` if dual belief has no bound.
pub fn bound_ms(plan: &Plan, protocol: &Protocol) -> Option<f64> {
    let overlap = (protocol.belief_overlap)(&plan.resolved(protocol), &conditions(plan, protocol))?;
    // Histories have microseconds, rounded down: add one at either end.
    let us = if overlap == 0 { 0 } else { overlap.div_ceil(MICROSECOND) + 2 };
    Some(us as f64 / 1e3)
}

/// The worst that the plan does to clocks and messages.
pub fn conditions(plan: &Plan, protocol: &Protocol) -> Conditions {
    let topology = plan.topology_of(protocol);
    let network = &plan.network;
    let resent = if network.loss > 0.0 { RESENT } else { 0 };
    let mut worst = Conditions {
        candidates: plan.candidates.len(),
        travel: network.one_way_max_us() * MICROSECOND + resent,
        unread: WRITE,
        silent: network.loss > 0.0 || plan.limits_bandwidth(),
        ..Conditions::default()
    };
    plan.candidates.iter().for_each(|candidate| rate(&mut worst, candidate.rate_ppm));
    if plan.limits_bandwidth() {
        // A packet may queue behind everything sent before it.
        worst.travel = worst.travel.saturating_add(length(None));
    }
    for fault in &plan.faults {
        strike(&mut worst, &topology, &fault.what);
    }
    let cuts = plan.faults.iter().filter(|fault| matches!(fault.what, Fault::Partition { .. }));
    let cuts = cuts.map(|fault| length(fault.what.for_ms())).filter(|cut| delays(&worst, plan, protocol, *cut));
    // A stream is silent during a cut and delivers its backlog afterwards.
    worst.travel = cuts.fold(worst.travel, |travel, cut| travel.saturating_add(cut).saturating_add(RESENT));
    worst
}

/// True if a message that was in flight when a cut began may still matter to a leader: its belief outlasts the cut, or
/// the leader may also be stopped and read the message before it checks its clock.
fn delays(worst: &Conditions, plan: &Plan, protocol: &Protocol, cut: u64) -> bool {
    let belief = protocol.read_lease.map_or(u64::MAX, |lease| worst.slow(lease(&plan.resolved(protocol)).0));
    let stopped = worst.unread > WRITE;
    stopped || cut < belief
}

fn rate(worst: &mut Conditions, ppm: i64) {
    let by = ppm.unsigned_abs();
    let side = if ppm < 0 { &mut worst.slow_ppm } else { &mut worst.fast_ppm };
    *side = by.max(*side);
}

/// Milliseconds as nanoseconds; an endless fault lasts as long as the longest run.
fn length(for_ms: Option<f64>) -> u64 {
    (for_ms.unwrap_or(LONGEST_MS as f64) * 1e6) as u64
}

fn strike(worst: &mut Conditions, topology: &Topology, what: &Fault) {
    let parts = what.parts();
    let [candidates, service] = [elects, serves].map(|is_meant| parts.on.iter().any(|who| is_meant(topology, who)));
    let concerns_service = service || parts.to.iter().any(|who| serves(topology, who));
    worst.silent |= concerns_service && (parts.silent_ms.is_some() || parts.later.is_some_and(|later| later.packets));
    if let Some(Later { extra_us, packets, syncs }) = parts.later {
        let extra = extra_us.saturating_mul(MICROSECOND);
        worst.travel = worst.travel.saturating_add(if packets { extra } else { 0 });
        worst.unread = worst.unread.saturating_add(if syncs && candidates { SYNCS.saturating_mul(extra) } else { 0 });
    }
    match what {
        Fault::Pause { for_ms, .. } if candidates => worst.unread = worst.unread.saturating_add(length(Some(*for_ms))),
        Fault::Kill { restart_after_ms, .. } | Fault::PowerLoss { restart_after_ms, .. } if candidates => {
            worst.restarts |= restart_after_ms.is_some();
        }
        Fault::Restart { .. } if candidates => worst.restarts = true,
        Fault::Loss { for_ms, .. } => {
            worst.travel = worst.travel.saturating_add(length(*for_ms)).saturating_add(RESENT);
        }
        Fault::ClockStep { by_ms, .. } if candidates && *by_ms < 0 => {
            worst.candidate_back =
                worst.candidate_back.saturating_add(by_ms.unsigned_abs().saturating_mul(MILLISECOND));
        }
        Fault::ClockStep { by_ms, .. } if service => {
            let ahead = u64::try_from(*by_ms).unwrap_or(0).saturating_mul(MILLISECOND);
            worst.service_ahead = worst.service_ahead.saturating_add(ahead);
        }
        Fault::ClockRate { ppm, .. } => {
            if candidates {
                rate(worst, *ppm);
            }
            if service {
                worst.service_fast_ppm = worst.service_fast_ppm.max(u64::try_from(*ppm).unwrap_or(0));
            }
        }
        _ => match parts.kind {
            FaultKind::SyncHang => worst.hung_disk |= candidates,
            // A process that cannot trust its disk exits, and its supervisor restarts it.
            FaultKind::SyncFail => {
                worst.hung_disk |= candidates;
                worst.restarts |= candidates;
            }
            FaultKind::DropLease | FaultKind::DropKey | FaultKind::LoseData | FaultKind::RestoreCopy => {
                worst.drops = true
            }
            _ => {}
        },
    }
}

/// True if this may be a candidate.
fn elects(topology: &Topology, who: &Who) -> bool {
    let may = |nodes: Vec<_>| nodes.into_iter().any(|node| topology.is_candidate(node));
    topology.resolve(who).map_or(*who != Who::ServiceLeader, may)
}

/// True if this is, or may be, a member of the coordination service.
fn serves(topology: &Topology, who: &Who) -> bool {
    let may = |nodes: Vec<_>| nodes.into_iter().any(|node| topology.is_member(node));
    topology.resolve(who).map_or(*who == Who::ServiceLeader, may)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fault::{PlannedFault, Trigger},
        params::Params,
        scenario,
    };
    use protocols::election;

    fn plan(scenario: &str, protocol: &str, faults: Vec<Fault>) -> Plan {
        let (scenario, protocol) = (scenario::find(scenario), election::find(protocol));
        let (scenario, protocol) = (scenario.expect("a scenario"), protocol.expect("a protocol"));
        let mut plan = scenario.compile(&Params::default(), protocol, 1).expect("the defaults make sense");
        let planned = faults.into_iter().map(|what| PlannedFault { when: Trigger::At { ms: 5_000.0 }, what, group: 0 });
        plan.faults.extend(planned);
        plan
    }

    fn bound(protocol: &str, faults: Vec<Fault>) -> Option<f64> {
        bound_ms(&plan("steady", protocol, faults), election::find(protocol).expect("a protocol"))
    }

    #[test]
    fn who_counts_from_sending_believes_alone() {
        for protocol in ["raft", "zab-fle", "stonith"] {
            assert_eq!(bound(protocol, Vec::new()), Some(0.0), "{protocol}");
        }
        // Clocks that are off by 100 ppm cost 0.3 ms of a lease of 3 s.
        assert!(bound("redis-fenced", Vec::new()).is_some_and(|ms| (0.0..0.4).contains(&ms)));
    }

    #[test]
    fn others_believe_as_long_as_their_arithmetic_says() {
        // The answer's way back, and up to a second until the deadline is checked.
        assert!(bound("etcd-election", Vec::new()).is_some_and(|ms| (1_000.0..1_050.0).contains(&ms)));
        // Half a fetch timeout of 2 s, and one message's latency.
        assert!(bound("kraft", Vec::new()).is_some_and(|ms| (1_000.0..1_050.0).contains(&ms)));
        for protocol in ["redis-naive", "bully", "ring-lelann", "ring-chang-roberts", "lowest-id", "swim"] {
            assert_eq!(bound(protocol, Vec::new()), None, "{protocol}");
        }
    }

    #[test]
    fn faults_make_it_longer_where_they_can() {
        let step = |node, by_ms| vec![Fault::ClockStep { node, by_ms }];
        let base = bound("redis-fenced", Vec::new()).expect("a bound");
        let ahead = bound("redis-fenced", step(Who::Service, 500)).expect("a bound");
        assert!((ahead - base - 500.0).abs() < 1.0, "{ahead} against {base}");
        assert_eq!(bound("redis-fenced", step(Who::Service, -500)), Some(base));
        assert_eq!(bound("redis-fenced", step(Who::Leader, 500)), Some(base));
        let etcd = bound("etcd-election", Vec::new()).expect("a bound");
        assert_eq!(bound("etcd-election", step(Who::Service, 500)), Some(etcd));
        let pause = vec![Fault::Pause { node: Who::Leader, for_ms: 700.0 }];
        assert!(bound("etcd-election", pause).is_some_and(|ms| (ms - etcd - 700.0).abs() < 1.0));
        let cut = |for_ms| {
            let (from, to) = (vec![Who::Leader], vec![Who::Service]);
            vec![Fault::Partition { from, to, one_way: false, for_ms: Some(for_ms) }]
        };
        // After a long cut the belief has ended, and nobody waits for the answer any more.
        assert_eq!(bound("etcd-election", cut(11_000.0)), Some(etcd));
        assert!(bound("etcd-election", cut(2_000.0)).is_some_and(|ms| ms > etcd + 2_000.0));
        let restart = vec![Fault::Kill { node: Who::Followers, restart_after_ms: Some(10.0) }];
        let fail = vec![Fault::SyncFail { node: Who::Followers, silent: false, for_ms: Some(10.0) }];
        for forgotten in [restart, fail] {
            assert!(bound("zab-fle", forgotten).is_some_and(|ms| (2_970.0..2_971.0).contains(&ms)));
        }
        let slow = vec![Fault::ClockRate { node: Who::Leader, ppm: -200_000, for_ms: None }];
        assert!(bound("raft", slow).is_some_and(|ms| (37.0..38.0).contains(&ms)));
    }

    #[test]
    fn every_plan_says_what_is_promised() {
        let compiled = plan("gc-pause", "etcd-election", Vec::new());
        assert!(
            compiled.dual_belief_bound_ms.is_some()
                && compiled.dual_belief_bound_ms == bound_ms(&compiled, &election::etcd::PROTOCOL)
        );
        let bounded = (0..50).map(crate::generate::plan).filter(|plan| plan.dual_belief_bound_ms.is_some()).count();
        assert!((10..50).contains(&bounded), "{bounded} of 50");
    }
}
