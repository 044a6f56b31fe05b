//! Checks of a plan's copies.

use super::Plan;
use crate::fault::Who;
use protocols::{copies::Copies, election::Protocol};

/// Rejects copies with several groups, majority copies without a token, and faults that would only strike the unused
/// store.
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
    let of_store = |who: &&Who| **who == Who::Store;
    let idle = !plan.faults.is_empty() && plan.faults.iter().all(|planned| planned.what.whom().iter().all(of_store));
    match idle && !protocol.service.in_store {
        true => Err(format!("copies is {word}, so nobody writes to the store, and the faults strike nothing else")),
        false => Ok(()),
    }
}
