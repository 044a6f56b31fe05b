//! A protocol's promises: about safety, about figures, and about the overlap of two beliefs.

use super::{Hazard, Timings, hazard};

/// A protocol's promise about safety under a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Every safety invariant holds.
    Holds,
    /// These invariants, by name, are violated in every run. Others may be.
    Breaks(&'static [&'static str]),
    /// No promise, as a last resort: the outcome depends on chance, such as which timer expires first.
    May,
}

/// The consequences of unfenced leaders: two take effect, numbers repeat, writes build on outdated state. A protocol
/// with neither token nor quorum shows them whenever two lead for long enough.
pub const UNFENCED: Promise =
    Promise::Breaks(&["leaders_acting_by_effect", "seq_strictly_increasing", "no_stale_write", "read_version"]);

/// The same for a protocol whose tokens nobody checks: an old one is accepted after a new one.
pub const UNCHECKED: Promise = Promise::Breaks(&[
    "leaders_acting_by_effect",
    "tokens_monotone",
    "seq_strictly_increasing",
    "no_stale_write",
    "read_version",
]);

/// The service has lost data, and grants a token again, or a lower one: its own grants go backwards, and the resource
/// refuses leaders with such tokens.
pub const GRANTED_AGAIN: Promise = Promise::Breaks(&["elections"]);

/// The same where the resource does not check: it accepts an old token after a new one.
pub const GRANTED_AGAIN_UNCHECKED: Promise = Promise::Breaks(&["elections", "tokens_monotone"]);

/// The promise for a service that returns without its data, or with an old copy.
pub const fn granted_again(fencing: bool) -> Promise {
    if fencing { GRANTED_AGAIN } else { GRANTED_AGAIN_UNCHECKED }
}

/// Whether, and how soon, the protocol itself replaces a leader that does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// It does not: nobody acts as long as the trouble lasts.
    Never,
    /// As soon as it replaces a dead leader.
    AsDead,
    /// Another node acts anyway.
    AtOnce,
}

/// What a protocol notices by itself, without help from its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notices {
    /// A leader that keeps its leadership, but cannot reach the store or be reached by its clients.
    pub cannot_work: Notice,
    /// A candidate that the service or its peers hear, but that does not hear them in time: others may wait for it, or
    /// it may unknowingly hold a lock.
    pub half_heard: Notice,
}

impl Notices {
    /// Notices nothing.
    pub const NOTHING: Notices = Notices { cannot_work: Notice::Never, half_heard: Notice::Never };
    /// Replaces a leader that does not renew in time, but does not look at its work.
    pub const SILENCE: Notices = Notices { half_heard: Notice::AsDead, ..Notices::NOTHING };
}

/// The maximum of each figure in every run of a cell; `None` promises nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bounds {
    /// Elections won.
    pub elections: Option<u64>,
    /// Changes of leadership without a cause.
    pub false_failovers: Option<u64>,
    /// Writes that the store refused because of their token.
    pub writes_fenced: Option<u64>,
    /// Writes that reached the store again after they had been applied.
    pub writes_duplicate: Option<u64>,
}

/// Without trouble: one election, and nothing is refused.
pub fn calm(hazard: Hazard) -> Bounds {
    match hazard {
        hazard::NONE => {
            Bounds { elections: Some(1), false_failovers: Some(0), writes_fenced: Some(0), writes_duplicate: Some(0) }
        }
        _ => Bounds::default(),
    }
}

/// The same where a better id is preferred: an earlier starter leads briefly, until a better one has waited as well.
pub fn preferring(hazard: Hazard) -> Bounds {
    match hazard {
        hazard::NONE => {
            Bounds { false_failovers: Some(2), writes_fenced: Some(0), writes_duplicate: Some(0), ..Bounds::default() }
        }
        _ => Bounds::default(),
    }
}

/// Like [`calm`], and a leader that dies or resigns is replaced once: for protocols without a preferred candidate.
pub fn settled(hazard: Hazard) -> Bounds {
    match hazard {
        // A client may ask the successor for what the dead leader has already done.
        hazard::CRASH => Bounds { elections: Some(2), writes_duplicate: None, ..calm(hazard::NONE) },
        hazard::RESIGNATION => Bounds { elections: Some(2), ..calm(hazard::NONE) },
        hazard => calm(hazard),
    }
}

/// The worst that a run does to clocks and messages, as far as beliefs depend on it. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Conditions {
    /// The number of candidates.
    pub candidates: usize,
    /// How much slower than true time a candidate's clocks may run, parts per million.
    pub slow_ppm: u64,
    /// How much faster than true time a candidate's clocks may run, parts per million.
    pub fast_ppm: u64,
    /// How much faster than true time the service's clocks may run, parts per million.
    pub service_fast_ppm: u64,
    /// The sum of the forward jumps of the service's wall clock.
    pub service_ahead: u64,
    /// The sum of the backward jumps of a candidate's wall clock.
    pub candidate_back: u64,
    /// Whether a candidate may not hear from members of the service, because they are cut off, paused or down, or
    /// messages are lost.
    pub silent: bool,
    /// A message's longest travel time, including retransmission.
    pub travel: u64,
    /// How long an arrived message may lie unread because its receiver is paused or waits for its disk.
    pub unread: u64,
    /// Whether a candidate may lose its memory and continue.
    pub restarts: bool,
    /// Whether a write to a candidate's disk may hang or fail.
    pub hung_disk: bool,
    /// Whether the service may silently drop what it has granted.
    pub drops: bool,
}

/// For how long two running nodes may believe at the same time; nanoseconds of true time. `None` for no limit.
pub type BeliefOverlap = fn(&Timings, &Conditions) -> Option<u64>;

const MILLION: u128 = 1_000_000;

impl Conditions {
    /// The true time of `length` on a candidate's slowest clock.
    pub fn slow(&self, length: u64) -> u64 {
        let rate = MILLION.saturating_sub(u128::from(self.slow_ppm)).max(1);
        shrink((u128::from(length) * MILLION).div_ceil(rate))
    }

    /// The true time of `length` on a candidate's fastest clock.
    pub fn fast(&self, length: u64) -> u64 {
        shrink(u128::from(length) * MILLION / (MILLION + u128::from(self.fast_ppm)))
    }

    /// The true time of `length` on the service's clock, if that runs at its fastest and jumps ahead at the worst
    /// moment; 0 if the service may drop what it has granted.
    pub fn service(&self, length: u64) -> u64 {
        if self.drops {
            return 0;
        }
        let rate = MILLION + u128::from(self.service_fast_ppm);
        shrink(u128::from(length.saturating_sub(self.service_ahead)) * MILLION / rate)
    }
}

fn shrink(length: u128) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// For a belief that counts from the sending of a request, and a lease that counts from its arrival by the service's
/// wall clock.
pub fn from_sending(timings: &Timings, c: &Conditions) -> Option<u64> {
    Some(c.slow(timings.lease_ttl).saturating_sub(c.service(timings.lease_ttl)))
}

/// For a belief that does not expire.
pub fn without_bound(_: &Timings, _: &Conditions) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::{super::Timers, *};
    use crate::types::{MILLISECOND, SECOND};

    const TIMINGS: Timings = Timings {
        lease_ttl: 3 * SECOND,
        renew_interval: SECOND,
        request_timeout: SECOND,
        election_timeout: None,
        rules: crate::election::rules::Rules::USUAL,
        own: Timers::NONE,
    };

    #[test]
    fn counted_from_sending_only_clocks_make_two_believe() {
        assert_eq!(from_sending(&TIMINGS, &Conditions::default()), Some(0));
        // 3 s on a clock that is 1000 ppm slow are 3.003003 s of true time.
        let slow = Conditions { slow_ppm: 1_000, ..Conditions::default() };
        assert_eq!(from_sending(&TIMINGS, &slow), Some(3_003_004));
        let ahead = Conditions { service_ahead: 400 * MILLISECOND, ..Conditions::default() };
        assert_eq!(from_sending(&TIMINGS, &ahead), Some(400 * MILLISECOND));
        let far = Conditions { service_ahead: 90 * SECOND, ..Conditions::default() };
        assert_eq!(from_sending(&TIMINGS, &far), Some(3 * SECOND));
        let late = Conditions { travel: SECOND, unread: SECOND, restarts: true, ..Conditions::default() };
        assert_eq!(from_sending(&TIMINGS, &late), Some(0));
    }
}
