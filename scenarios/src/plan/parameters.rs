//! Checks of the parameters that faults of one kind have.

use super::{
    Plan,
    limits::{BANDWIDTH_MAX_MBPS, Checked, OFFSET_MAX_MS, PPM_MAX, milliseconds, probability, range, signed},
};
use crate::{
    fault::{Fault, PlannedFault, Trigger, Who},
    topology::Topology,
};
use protocols::election::Protocol;

/// The plan with its protocol and processes.
pub(super) struct Whole<'a> {
    pub(super) plan: &'a Plan,
    pub(super) protocol: &'a Protocol,
    pub(super) topology: Topology,
}

/// Checks the parameters that only faults of one kind have.
pub(super) fn parameters(whole: &Whole, planned: &PlannedFault) -> Checked {
    let (Whole { plan, protocol, .. }, what) = (whole, &planned.what);
    match what {
        Fault::Kill { restart_after_ms: Some(after_ms), .. }
        | Fault::PowerLoss { restart_after_ms: Some(after_ms), .. } => milliseconds("restarts after", *after_ms),
        Fault::LoseData { restart_after_ms, .. } => loses_data(whole, what, *restart_after_ms),
        Fault::RestoreCopy { copied_at_ms, restart_after_ms, .. } => {
            milliseconds("restores a copy made at", *copied_at_ms)?;
            let earliest_ms = planned.when.earliest_ms();
            let (strikes, too_early) = match planned.when {
                Trigger::At { .. } => ("strikes", earliest_ms <= *copied_at_ms),
                // A passage comes later than the earliest moment.
                Trigger::Passage { .. } => ("may strike", earliest_ms < *copied_at_ms),
            };
            if too_early {
                return Err(format!(
                    "{strikes} at {earliest_ms} ms, but restores a copy made at {copied_at_ms} ms; copy it before"
                ));
            }
            loses_data(whole, what, *restart_after_ms)
        }
        Fault::Partition { from, to, .. } | Fault::Latency { from, to, .. } | Fault::Hang { from, to, .. } => {
            sides(from, to)
        }
        Fault::Loss { from, to, probability: lost, .. } => {
            sides(from, to)?;
            probability(*lost).map_err(|what| format!("has a probability that {what}"))
        }
        Fault::ClockStep { by_ms, .. } => signed("has a by_ms that", *by_ms, OFFSET_MAX_MS),
        Fault::ClockRate { ppm, .. } => signed("has a ppm that", *ppm, PPM_MAX),
        Fault::Transfer { node, to } => {
            if !protocol.transfers {
                return Err(format!("hands leadership over, which `{}` cannot", plan.protocol));
            }
            elects(whole, node).and_then(|()| elects(whole, to))
        }
        Fault::Join { node } | Fault::Leave { node } => {
            if !protocol.changes_members {
                return Err(format!("changes the members, which `{}` cannot", plan.protocol));
            }
            elects(whole, node)
        }
        Fault::DropLease { node } => drops_lease(whole, node),
        Fault::DropKey { node } => drops_key(whole, node),
        Fault::ForgeToken { node } => elects(whole, node),
        Fault::Bandwidth { kbps, .. } => range("has kbps that", *kbps, 1, BANDWIDTH_MAX_MBPS * 1_000),
        Fault::ForgeClaim { node, to } => {
            if protocol.claim.is_none() {
                return Err(format!("forges what says who leads, but `{}` has no such message", plan.protocol));
            }
            elects(whole, node).and_then(|()| to.iter().try_for_each(|who| elects(whole, who)))
        }
        Fault::RogueFence { node, by } => {
            fences(whole).and_then(|()| elects(whole, node)).and_then(|()| elects(whole, by))
        }
        Fault::LyingDevice { node, .. } => fences(whole).and_then(|()| is_device(whole, node)),
        Fault::CloudDevice { node, stopping_ms, throttle_ms, .. } => {
            fences(whole).and_then(|()| is_device(whole, node))?;
            milliseconds("takes", *stopping_ms).and_then(|()| milliseconds("throttles for", *throttle_ms))
        }
        Fault::Resign { node } if !may_elect(whole, node) => {
            Err(format!("asks `{}` to resign, which is not a candidate", String::from(node.clone())))
        }
        _ => Ok(()),
    }
}

fn drops_lease(whole: &Whole, node: &Who) -> Checked {
    let Whole { plan, protocol, .. } = whole;
    if !protocol.service.has_leases {
        return Err(format!("drops a lease of the service, but `{}` has none there", plan.protocol));
    }
    elects(whole, node)
}

/// Rejects a drop of a candidate's key, or of the service's own counter, where there is none.
fn drops_key(whole: &Whole, node: &Who) -> Checked {
    let Whole { plan, protocol, .. } = whole;
    let service = protocol.service;
    let counts = (service.counts_tokens && protocol.tokened) || service.counts_places;
    match node {
        Who::Service if counts => Ok(()),
        Who::Service => Err(format!("drops the token counter, but the service of `{}` has none", plan.protocol)),
        _ if !service.has_keys => Err(format!("drops a key of the service, but `{}` has none there", plan.protocol)),
        _ => elects(whole, node),
    }
}

fn fences(whole: &Whole) -> Checked {
    let Whole { plan, protocol, .. } = whole;
    if protocol.cuts_power() {
        Ok(())
    } else {
        Err(format!("concerns a fencing device, but `{}` has none", plan.protocol))
    }
}

fn is_device(whole: &Whole, who: &Who) -> Checked {
    let nodes = whole.topology.resolve(who).unwrap_or_default();
    let devices = !nodes.is_empty() && nodes.iter().all(|node| whole.topology.is_member(*node));
    if devices { Ok(()) } else { Err(format!("names `{who}`, which is not the device; name `service`")) }
}

/// Rejects losing or restoring the disk of a member that has none, or of some members only if they agree on a log:
/// those rely on each other's disks, and real clusters do not readmit a member with an empty disk under its old name.
fn loses_data(whole: &Whole, what: &Fault, restart_after_ms: Option<f64>) -> Checked {
    let (protocol, topology) = (whole.protocol, &whole.topology);
    if !protocol.service.keeps_data {
        return Err(format!("loses what the service has on disk, but that of `{}` has nothing there", protocol.name));
    }
    let cluster = if protocol.service.members.agree() { topology.members().count() } else { 0 };
    let serves = |who: &&Who| topology.resolve(who).is_some_and(|n| n.iter().all(|n| topology.is_member(*n)));
    if let Some(who) = what.whom().into_iter().find(|who| !serves(who)) {
        return Err(format!("loses the disk of `{who}`, which is no member of the service; name `service`"));
    }
    if let Some(who) = what.whom().into_iter().find(|who| topology.resolve(who).is_some_and(|n| n.len() < cluster)) {
        return Err(format!(
            "loses the disk of `{who}` alone, but members that agree lose theirs together; name `service`"
        ));
    }
    restart_after_ms.map_or(Ok(()), |after_ms| milliseconds("restarts after", after_ms))
}

fn elects(whole: &Whole, who: &Who) -> Checked {
    if may_elect(whole, who) { Ok(()) } else { Err(format!("names `{who}`, which is not a candidate")) }
}

fn sides(from: &[Who], to: &[Who]) -> Checked {
    if from.is_empty() || to.is_empty() {
        let field = if from.is_empty() { "from" } else { "to" };
        return Err(format!("has nobody in `{field}`; name at least one process"));
    }
    if let ([one], [other]) = (from, to)
        && one == other
        && !matches!(one, Who::Followers | Who::Candidates | Who::Clients)
    {
        return Err(format!("stands between `{}` and itself; name two processes", String::from(one.clone())));
    }
    Ok(())
}

/// True if all of these can be candidates. The node that triggers the fault always is one.
pub(super) fn may_elect(whole: &Whole, who: &Who) -> bool {
    match whole.topology.resolve(who) {
        Some(nodes) => nodes.iter().all(|node| whole.topology.is_candidate(*node)),
        None => *who != Who::ServiceLeader,
    }
}
