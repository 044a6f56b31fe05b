//! Timers that only some protocols have, and bounds on all timers.

use super::Params;
use crate::plan::{LONGEST_MS, Timings};
use protocols::{
    election::{Protocol, Timer, Timers},
    types::MILLISECOND,
};

impl Params {
    /// The protocol's own timers, milliseconds, for a granted lease in nanoseconds.
    pub(super) fn own_timers_ms(&self, protocol: &Protocol, granted: u64) -> Timers {
        let usual = protocol.timers.defaults(granted);
        let asked_ms = |timer| match timer {
            // One timer with two names.
            Timer::RetryPeriod if protocol.timers.renews_at_retry => self.retry_period_ms.or(self.renew_interval_ms),
            Timer::RetryPeriod => self.retry_period_ms,
            timer => self.set.timer(protocol, timer),
        };
        Timers::from(|timer| {
            protocol.timers.find(timer)?;
            asked_ms(timer).or(usual.get(timer).map(|own| own / MILLISECOND))
        })
    }

    /// The timers, none longer than a plan may have, so that no protocol need compute with invalid ones.
    pub(super) fn bounded_timings(&self, protocol: &Protocol) -> Timings {
        let mut timings = self.timings(protocol);
        timings.lease_ttl_ms = timings.lease_ttl_ms.min(LONGEST_MS);
        timings.renew_interval_ms = timings.renew_interval_ms.min(LONGEST_MS);
        timings.request_timeout_ms = timings.request_timeout_ms.min(LONGEST_MS);
        timings.renew_deadline_ms = timings.renew_deadline_ms.map(|ms| ms.min(LONGEST_MS));
        timings.retry_period_ms = timings.retry_period_ms.map(|ms| ms.min(LONGEST_MS));
        timings.lock_delay_ms = timings.lock_delay_ms.map(|ms| ms.min(LONGEST_MS));
        timings.entry_interval_ms = timings.entry_interval_ms.map(|ms| ms.min(LONGEST_MS));
        timings.replica_lag_ms = timings.replica_lag_ms.map(|ms| ms.min(LONGEST_MS));
        let range = timings.election_timeout_ms;
        timings.election_timeout_ms = range.map(|(min_ms, max_ms)| (min_ms.min(LONGEST_MS), max_ms.min(LONGEST_MS)));
        timings
    }
}
