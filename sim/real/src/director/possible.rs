//! Plans and faults that real processes can play.

use super::operator;
use crate::error::Failed;
use protocols::work::USUAL;
use scenarios::{
    fault::{Fault, PlannedFault, Who},
    plan::Plan,
};

/// Whether real processes can suffer `fault`.
pub(super) fn possible(fault: &Fault) -> Result<(), Failed> {
    match fault {
        Fault::ClockStep { node, .. } | Fault::ClockRate { node, .. }
            if matches!(node, Who::Service | Who::ServiceLeader | Who::Store | Who::Clients) =>
        {
            Err(nodes_only(fault))
        }
        Fault::ClockStep { .. } | Fault::ClockRate { .. } => Ok(()),
        Fault::Pause { .. }
        | Fault::Kill { .. }
        | Fault::PowerLoss { .. }
        | Fault::Restart { .. }
        | Fault::Partition { .. }
        | Fault::Latency { .. }
        | Fault::Loss { .. }
        | Fault::Resign { .. }
        | Fault::Transfer { .. } => Ok(()),
        _ => Err(Failed::simulated(fault, "; real processes cannot be made to suffer it")),
    }
}

fn nodes_only(fault: &Fault) -> Failed {
    Failed::simulated(fault, "; on real machines only nodes have their own clocks, and the rest use the machine's")
}

/// Whether real processes can play `plan`.
pub(super) fn playable(plan: &Plan) -> Result<(), Failed> {
    if plan.load.reads_per_s > 0 && !plan.read_lease {
        return Err(Failed::Unplayable(
            "reads through the store are for the simulation; let real leaders answer them from memory (--read-lease \
             on), or ask for none (--reads 0)"
                .to_owned(),
        ));
    }
    if let Some(work) = plan.works.iter().find(|name| !USUAL.iter().any(|usual| usual.name == **name)) {
        return Err(Failed::Unplayable(format!(
            "`{work}` is for the simulation; leaders of real processes hand out numbers and record ticks"
        )));
    }
    if plan.copies.is_some() {
        return Err(Failed::Unplayable(
            "copies of the data are for the simulation; leaders of real processes write to one store".to_owned(),
        ));
    }
    if plan.address.is_some() {
        return Err(Failed::Unplayable(
            "the leader's address is for the simulation; clients of real processes ask every node".to_owned(),
        ));
    }
    if plan.network.bandwidth_mbps > 0 {
        return Err(Failed::Unplayable(
            "a limited bandwidth is for the simulation; proxies carry out latency and loss".to_owned(),
        ));
    }
    if plan.candidates.iter().any(|candidate| candidate.timings.is_some()) {
        return Err(Failed::Unplayable(
            "candidates with their own timers are for the simulation; real processes share the plan's".to_owned(),
        ));
    }
    let topology = plan.election().map(|protocol| plan.topology_of(protocol));
    for PlannedFault { what, .. } in &plan.faults {
        if let (Fault::ClockStep { node, .. } | Fault::ClockRate { node, .. }, Some(topology)) = (what, &topology) {
            let named = topology.resolve(node).unwrap_or_default();
            if named.into_iter().any(|node| !topology.is_candidate(node)) {
                return Err(nodes_only(what));
            }
        }
    }
    // Dropping a leader's key by hand works on some services only.
    let can_drop = plan.election().is_some_and(|protocol| operator::dropping(protocol).is_some());
    let is_hand = |fault: &Fault| can_drop && matches!(fault, Fault::DropKey { .. });
    plan.faults.iter().filter(|fault| !is_hand(&fault.what)).try_for_each(|fault| possible(&fault.what))
}

/// Removes faults of the coordination service's clock, which nothing here can change. Returns whether there were any.
pub fn service_runs_true(plan: &mut Plan) -> bool {
    let planned = plan.faults.len();
    let of_service = |fault: &Fault| {
        matches!(fault, Fault::ClockStep { node: Who::Service, .. } | Fault::ClockRate { node: Who::Service, .. })
    };
    plan.faults.retain(|fault| !of_service(&fault.what));
    plan.faults.len() < planned
}
