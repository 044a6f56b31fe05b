//! Checks of a plan's timers and rules, and the latencies and timeouts that follow from its network.

use super::{
    LONGEST_MS, Network, Plan,
    limits::{Checked, range},
};
use protocols::{
    election::{OwnTimer, Protocol, Timer},
    load::ATTEMPT_TIMEOUT,
    node::STORE_SILENCE,
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

/// The least time that a leader which talks to the store by datagrams waits for an answer, milliseconds.
const DATAGRAM_PATIENCE_MS: u64 = 50;

impl Network {
    /// The longest latency of a packet that is not lost, microseconds.
    pub fn one_way_max_us(&self) -> u64 {
        self.latency_us.saturating_add(self.jitter_us)
    }

    /// How long a client waits for a node's answer before it considers the node silent, milliseconds: the usual
    /// timeout, or twice the time to connect, ask and get an answer after the node asked the store, all at the longest
    /// latency.
    pub fn attempt_timeout_ms(&self) -> u64 {
        (ATTEMPT_TIMEOUT / MILLISECOND).max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a leader waits for the store's answer before it abandons the connection, milliseconds. With datagrams
    /// every loss costs this wait, so it is just long enough for the longest latency.
    pub fn store_silence_ms(&self) -> u64 {
        let usual_ms = if self.datagrams { DATAGRAM_PATIENCE_MS } else { STORE_SILENCE / MILLISECOND };
        usual_ms.max((12 * self.one_way_max_us()).div_ceil(1000))
    }

    /// How long a write may take before its time of issue counts as dark, milliseconds: 50, plus ten latencies, since a
    /// client may have to ask two nodes and the leader has to ask the store.
    pub fn dark_after_ms(&self) -> u64 {
        50 + (10 * self.one_way_max_us()).div_ceil(1000)
    }
}
