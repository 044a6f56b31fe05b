//! What a plan may say of copies.

use super::Plan;
use crate::fault::Who;
use protocols::{copies::Copies, election::Protocol, fence::checks::Fencing};

/// Refuses copies that there cannot be.
pub(super) fn check(plan: &Plan, protocol: &Protocol) -> Result<(), String> {
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
    if copies == Copies::Majority && plan.fencing != Fencing::On {
        let fencing = plan.fencing.word();
        return Err(format!(
            "copies is majority, which rests on the token, and fencing is {fencing}; leave fencing on"
        ));
    }
    let struck = plan.faults.iter().position(|planned| planned.what.whom().contains(&&Who::Store));
    match struck {
        Some(index) if !protocol.service.in_store => Err(format!(
            "faults[{index}] ({}) strikes the store, but every node has a copy of its own: there is no store",
            plan.faults[index].what.kind()
        )),
        _ => Ok(()),
    }
}
