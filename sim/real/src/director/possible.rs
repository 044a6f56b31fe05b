//! Which plans and faults real processes can play.

use super::operator;
use protocols::work::USUAL;
use scenarios::{fault::Fault, plan::Plan};

/// Can real processes suffer that?
pub(super) fn possible(fault: &Fault) -> Result<(), String> {
    match fault {
        Fault::ClockStep { .. } | Fault::ClockRate { .. } => Err(format!(
            "real processes share the machine's clock, so `{}` is for the simulation; give clocks their offset and rate in \
             the plan's candidates",
            fault.kind()
        )),
        Fault::Pause { .. }
        | Fault::Kill { .. }
        | Fault::PowerLoss { .. }
        | Fault::Restart { .. }
        | Fault::Partition { .. }
        | Fault::Latency { .. }
        | Fault::Loss { .. }
        | Fault::Resign { .. }
        | Fault::Transfer { .. } => Ok(()),
        _ => Err(format!("`{}` is for the simulation; real processes cannot be made to suffer it", fault.kind())),
    }
}

/// Can real processes play that plan?
pub(super) fn playable(plan: &Plan) -> Result<(), String> {
    if plan.load.reads_per_s > 0 {
        return Err("reads are for the simulation; clients of real processes only ask for numbers".to_owned());
    }
    if let Some(work) = plan.works.iter().find(|name| !USUAL.iter().any(|usual| usual.name == **name)) {
        return Err(format!(
            "`{work}` is for the simulation; leaders of real processes hand out numbers and record ticks"
        ));
    }
    if plan.copies.is_some() {
        return Err(
            "copies of the data are for the simulation; leaders of real processes write to one store".to_owned()
        );
    }
    if plan.network.bandwidth_mbps > 0 {
        return Err("a limited bandwidth is for the simulation; proxies carry out latency and loss".to_owned());
    }
    if plan.candidates.iter().any(|candidate| candidate.timings.is_some()) {
        return Err(
            "candidates with timers of their own are for the simulation; real processes share the plan's".to_owned()
        );
    }
    // An operator's hand is known for some services.
    let can_drop = plan.election().is_some_and(|protocol| operator::dropping(protocol).is_some());
    let is_hand = |fault: &Fault| can_drop && matches!(fault, Fault::DropKey { .. });
    plan.faults.iter().filter(|fault| !is_hand(&fault.what)).try_for_each(|fault| possible(&fault.what))
}
