//! Checks of a plan's timers and rules.

use super::{
    LONGEST_MS, Plan,
    limits::{Checked, range},
};
use protocols::{
    election::{OwnTimer, Protocol, Timer},
    types::MILLISECOND,
};

pub(super) fn timings(plan: &Plan, protocol: &Protocol) -> Checked {
    let timings = &plan.timings;
    range("timings.lease_ttl_ms", timings.lease_ttl_ms, 1, LONGEST_MS)?;
    range("timings.renew_interval_ms", timings.renew_interval_ms, 1, LONGEST_MS)?;
    range("timings.request_timeout_ms", timings.request_timeout_ms, 1, LONGEST_MS)?;
    let granted_ms = (protocol.granted_ttl)(plan.resolved(protocol).lease_ttl) / MILLISECOND;
    if timings.renew_interval_ms >= granted_ms {
        let renew_ms = timings.renew_interval_ms;
        return Err(format!(
            "timings.renew_interval_ms is {renew_ms}, but the lease lasts {granted_ms} ms: renew before it ends"
        ));
    }
    if !timings.rules.are_usual() && !protocol.has_rules() {
        return Err(format!("timings.rules is given, but `{}` has no rules to switch off", plan.protocol));
    }
    own_timers(plan, protocol)?;
    match (timings.election_timeout_ms, protocol.election_timeout) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!("timings.election_timeout_ms is missing, but `{}` needs it", plan.protocol)),
        (Some(_), None) => Err(format!("timings.election_timeout_ms is given, but `{}` has none", plan.protocol)),
        (Some((min_ms, max_ms)), Some(_)) => {
            range("timings.election_timeout_ms, its lower end,", min_ms, 2, LONGEST_MS)?;
            // openraft draws from a range that must not be empty.
            let least_ms = if protocol.service.is_none() { min_ms } else { min_ms + 1 };
            range("timings.election_timeout_ms, its upper end,", max_ms, least_ms, LONGEST_MS)
        }
    }
}

/// Checks the timers that only some protocols have.
fn own_timers(plan: &Plan, protocol: &Protocol) -> Checked {
    for timer in Timer::ALL {
        let field = format!("timings.{}", timer.field());
        match (plan.timings.own_ms().get(timer), protocol.timers.find(timer)) {
            (None, None) | (None, Some(OwnTimer { default: None, .. })) => {}
            (None, Some(_)) => return Err(format!("{field} is missing, but `{}` needs it", plan.protocol)),
            (Some(_), None) => return Err(format!("{field} is given, but `{}` has none", plan.protocol)),
            (Some(ms), Some(_)) => range(&field, ms, if timer.may_be_zero() { 0 } else { 1 }, LONGEST_MS)?,
        }
    }
    let renew_ms = plan.timings.renew_interval_ms;
    if protocol.timers.renews_at_retry && plan.timings.retry_period_ms != Some(renew_ms) {
        return Err(format!(
            "timings.renew_interval_ms is {renew_ms}, but `{}` renews once in every retry_period_ms: make them the same",
            plan.protocol
        ));
    }
    match (protocol.timers.refuses)(&plan.resolved(protocol)) {
        Some(why) => Err(format!("timings: {why}")),
        None => Ok(()),
    }
}
