//! Checks of a plan's groups and copies.

use super::{Plan, limits::CLIENTS_MAX};
use crate::fault::{PlannedFault, Who};
use protocols::{
    copies::Copies,
    election::{Protocol, raft_core},
    group::GROUPS_MAX,
    sharding::Placement,
    types::Resource,
    work::Kind,
};

/// Rejects an invalid number of groups.
pub(super) fn check(plan: &Plan, protocol: &Protocol, works: &[&'static Kind]) -> Result<(), String> {
    let (groups, each) = (plan.groups, plan.leaders_works(works).map_err(|why| why.0)?.resources().count());
    if !(1..=GROUPS_MAX).contains(&groups) {
        return Err(format!("groups is {groups}; it must be 1 to {GROUPS_MAX}"));
    }
    let service = protocol.service;
    if groups > 1 && !service.is_none() && !service.has_groups {
        let (name, service) = (&plan.protocol, service.name);
        return Err(format!("groups is {groups}, but the service of `{name}`, `{service}`, keeps one leadership"));
    }
    if each * usize::from(groups) > Resource::MOST {
        let most = Resource::MOST;
        return Err(format!("groups is {groups}, each of which writes to {each} resources; at most {most} in all"));
    }
    placement(plan, protocol)?;
    let clients = plan.load.clients;
    if groups > 1 && u32::from(clients) * u32::from(groups) > u32::from(CLIENTS_MAX) {
        return Err(format!("groups is {groups}, each of which has {clients} clients; at most {CLIENTS_MAX} in all"));
    }
    Ok(())
}

/// Rejects a placement with nothing to place, or under a protocol that cannot hand over.
fn placement(plan: &Plan, protocol: &Protocol) -> Result<(), String> {
    let Some(word) = plan.placement.map(Placement::word) else { return Ok(()) };
    if plan.groups == 1 {
        return Err(format!("placement is {word}, but there is one group, so there is nothing to place; add --groups"));
    }
    match protocol.transfers {
        true => Ok(()),
        false => Err(format!(
            "placement is {word}, but a leader of `{}` cannot hand over to a named successor",
            plan.protocol
        )),
    }
}

/// Rejects a fault on a group that does not exist.
pub(super) fn check_fault(plan: &Plan, planned: &PlannedFault) -> Result<(), String> {
    let (group, groups) = (planned.group, plan.groups);
    if group < groups {
        return Ok(());
    }
    let all = if groups == 1 { "there is only group 0".to_owned() } else { format!("they are 0 to {}", groups - 1) };
    Err(format!("speaks of group {group}, which does not exist; {all}"))
}

/// Rejects copies with several groups, majority copies without a token, and faults that would only strike the unused
/// store.
pub(super) fn check_copies(plan: &Plan, protocol: &Protocol) -> Result<(), String> {
    check_guard(plan, protocol)?;
    let Some(copies) = plan.copies else { return Ok(()) };
    let (word, name) = (copies.word(), &plan.protocol);
    if plan.groups > 1 {
        let groups = plan.groups;
        return Err(format!("copies is {word}, and groups is {groups}; only a plan of one group can have copies"));
    }
    if copies == Copies::Majority && !protocol.tokened {
        return Err(format!(
            "copies is majority, but the leaders of `{name}` have no token by which a copy could tell which of two is newer; \
             take `async`, or `{name}-fenced` if there is one"
        ));
    }
    let of_store = |who: &&Who| **who == Who::Store;
    let idle = !plan.faults.is_empty() && plan.faults.iter().all(|planned| planned.what.whom().iter().all(of_store));
    match idle && !protocol.service.in_store {
        true => Err(format!("copies is {word}, so nobody writes to the store, and the faults strike nothing else")),
        false => Ok(()),
    }
}

/// Rejects LeaseGuard where no log has a majority, and a bound of clocks without it.
fn check_guard(plan: &Plan, protocol: &Protocol) -> Result<(), String> {
    let (timings, name) = (plan.resolved(protocol), &plan.protocol);
    match raft_core::guard(&timings) {
        None if raft_core::bounds_clocks(&timings) => {
            Err(format!("set.{name}.clock_bound_ms means nothing without set.{name}.lease_guard_ms"))
        }
        Some(_) if plan.copies != Some(Copies::Majority) => Err(format!(
            "set.{name}.lease_guard_ms needs a log of which a majority has every committed entry; add --copies majority"
        )),
        _ => Ok(()),
    }
}
