//! What a protocol promises: about safety, about figures, and for how long two may believe.

use super::{Hazard, Timings};

/// What a protocol promises about safety under a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Every safety invariant holds.
    Holds,
    /// These invariants, by name, are violated every time. Others may be.
    Breaks(&'static [&'static str]),
    /// Neither is promised, which is the last resort: what happens depends on chance, such as whose timer ran out first.
    May,
}

/// Who acts without being stopped: two take effect, numbers come twice, writes build on nothing. What has neither a token
/// nor a quorum shows it whenever two lead for long enough.
pub const UNFENCED: Promise =
    Promise::Breaks(&["leaders_acting_by_effect", "seq_strictly_increasing", "no_stale_write", "read_version"]);

/// The same of a protocol with tokens that nobody checks: an old one is accepted after a new one.
pub const UNCHECKED: Promise = Promise::Breaks(&[
    "leaders_acting_by_effect",
    "tokens_monotone",
    "seq_strictly_increasing",
    "no_stale_write",
    "read_version",
]);

/// The service hands out a token again, or a lower one, as it has lost what it had: its own grants fall back, and the resource
/// refuses whoever has such a token.
pub const GRANTED_AGAIN: Promise = Promise::Breaks(&["elections"]);

/// The same where the resource does not look: it takes an old token after a new one.
pub const GRANTED_AGAIN_UNCHECKED: Promise = Promise::Breaks(&["elections", "tokens_monotone"]);

/// What is promised where the service comes back without its data, or with an old copy of them.
pub const fn granted_again(fencing: bool) -> Promise {
    if fencing { GRANTED_AGAIN } else { GRANTED_AGAIN_UNCHECKED }
}

/// Does the protocol itself see to it that somebody else acts in place of a leader that does nothing, and how soon?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// It does not: nobody acts for as long as the trouble lasts.
    Never,
    /// As soon as for a leader that has died.
    AsDead,
    /// Somebody else acts anyway.
    AtOnce,
}

/// What a protocol promises to notice by itself, without help from the node around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notices {
    /// A leader that keeps everything which makes it the leader, while the store or its clients do not reach it.
    pub cannot_work: Notice,
    /// A candidate that is heard by the service or by those who elect, and does not hear them in time: others may wait for it,
    /// or it may hold a lock without knowing.
    pub half_heard: Notice,
}

impl Notices {
    /// Nothing at all.
    pub const NOTHING: Notices = Notices { cannot_work: Notice::Never, half_heard: Notice::Never };
    /// What everybody does who takes a leader for dead when it does not renew in time, and does not look at its work.
    pub const SILENCE: Notices = Notices { half_heard: Notice::AsDead, ..Notices::NOTHING };
}

/// At most so many of each figure, in every run of a cell; `None` promises nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bounds {
    /// Elections won.
    pub elections: Option<u64>,
    /// Changes of leadership that nothing called for.
    pub false_failovers: Option<u64>,
    /// Writes that the store refused for their token.
    pub writes_fenced: Option<u64>,
    /// Writes that came to the store again after they had been applied.
    pub writes_duplicate: Option<u64>,
}

/// Nothing goes wrong: one election, and nothing is refused.
pub fn calm(hazard: Hazard) -> Bounds {
    match hazard {
        Hazard::None => {
            Bounds { elections: Some(1), false_failovers: Some(0), writes_fenced: Some(0), writes_duplicate: Some(0) }
        }
        _ => Bounds::default(),
    }
}

/// The same where the best id is preferred: who has started earlier leads for a moment, until a better one has waited too.
pub fn preferring(hazard: Hazard) -> Bounds {
    match hazard {
        Hazard::None => {
            Bounds { false_failovers: Some(2), writes_fenced: Some(0), writes_duplicate: Some(0), ..Bounds::default() }
        }
        _ => Bounds::default(),
    }
}

/// The same as [`calm`], and a leader that dies or resigns is replaced once: for protocols in which nobody is preferred.
pub fn settled(hazard: Hazard) -> Bounds {
    match hazard {
        // A client asks the successor for what the dead one may have done.
        Hazard::Crash => Bounds { elections: Some(2), writes_duplicate: None, ..calm(Hazard::None) },
        Hazard::Resignation => Bounds { elections: Some(2), ..calm(Hazard::None) },
        hazard => calm(hazard),
    }
}

/// What a run does to clocks and messages at the worst, as far as beliefs depend on it. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Conditions {
    /// How many candidates there are.
    pub candidates: usize,
    /// How much slower than true time a candidate's clocks run, parts per million.
    pub slow_ppm: u64,
    /// How much faster.
    pub fast_ppm: u64,
    /// How much faster the coordination service's clocks run.
    pub service_fast_ppm: u64,
    /// How far the service's wall clock jumps ahead, all jumps together.
    pub service_ahead: u64,
    /// How far a candidate's wall clock jumps back, all jumps together.
    pub candidate_back: u64,
    /// Can a candidate fail to hear from members of the service, as they are cut off, stopped or down, or messages are lost?
    pub silent: bool,
    /// How long a message travels, resending included.
    pub travel: u64,
    /// How long a message that has arrived may lie there because its receiver is stopped or waits for its disk.
    pub unread: u64,
    /// Does a candidate lose its memory and run on?
    pub restarts: bool,
    /// Can a write to a candidate's disk take for ever, or fail?
    pub hung_disk: bool,
    /// Does the service drop what it has granted, without a word to the holder?
    pub drops: bool,
}

/// For how long two nodes that run may believe at one time; nanoseconds of true time. `None`: for any length of time.
pub type BeliefOverlap = fn(&Timings, &Conditions) -> Option<u64>;

const MILLION: u128 = 1_000_000;

impl Conditions {
    /// True time of `length` on a candidate's slowest clock.
    pub fn slow(&self, length: u64) -> u64 {
        let rate = MILLION.saturating_sub(u128::from(self.slow_ppm)).max(1);
        shrink((u128::from(length) * MILLION).div_ceil(rate))
    }

    /// True time of `length` on a candidate's fastest clock.
    pub fn fast(&self, length: u64) -> u64 {
        shrink(u128::from(length) * MILLION / (MILLION + u128::from(self.fast_ppm)))
    }

    /// True time of `length` on the service's clock, if that is as fast as it gets and jumps ahead at the worst moment;
    /// nothing if the service may drop what it has granted.
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

/// A belief that counts from when a request was sent, against a lease that the service counts by its wall clock from when
/// it arrived.
pub fn from_sending(timings: &Timings, c: &Conditions) -> Option<u64> {
    Some(c.slow(timings.lease_ttl).saturating_sub(c.service(timings.lease_ttl)))
}

/// Nothing ends a belief that nobody contradicts.
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
        // 3 s on a clock that is 1000 ppm slow are 3.003003 s.
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
