//! A nightly job: who is elected for a night runs its job, and gives leadership up when that is done. A night is ten seconds long
//! here. The job of a night has its effect outside when it ends; which night it is, the wall clock says.
//!
//! It comes with the ways to pick who runs it, [`crate::election::cron`]: what is elected there lasts for a job.

use super::{Context, Kind, Work};
use crate::{
    core::TimerId,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId, SECOND},
};
use std::num::NonZeroU64;

/// The work.
pub const WORK: Kind = Kind {
    name: "nightly-job",
    about: "Runs the job of the night that it was elected for, and gives leadership up.",
    resources: &["runs"],
    serves: false,
    timers: 1,
    new: || Box::new(Job::default()),
};

/// From one midnight to the next, nanoseconds.
pub const PERIOD: u64 = 10 * SECOND;
/// How long the job takes, nanoseconds.
pub const JOB_TIME: u64 = 1_000 * MILLISECOND;
/// Where nights are counted from: 2026-01-01T00:00:00Z, nanoseconds since the Unix epoch.
const COUNTED_FROM: u64 = 1_767_225_600 * SECOND;

const RUNS: usize = 0;
const END: TimerId = 0;

/// The night whose midnight is nearest to what a wall clock shows, counted from 1.
pub fn night(wall: u64) -> NonZeroU64 {
    NonZeroU64::new((wall.saturating_sub(COUNTED_FROM) + PERIOD / 2) / PERIOD).unwrap_or(NonZeroU64::MIN)
}

/// How long it is until the next midnight, nanoseconds of a wall clock that shows this.
pub fn until_midnight(wall: u64) -> u64 {
    let since = wall.saturating_sub(COUNTED_FROM);
    COUNTED_FROM + (since / PERIOD + 1) * PERIOD - wall
}

/// The job of one night.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Job {
    night: Option<NonZeroU64>,
    finished: bool,
}

impl Work for Job {
    fn start(&mut self, at: &mut Context) {
        self.night = Some(night(at.now.wall));
        at.set_timer(END, at.now.mono + JOB_TIME);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        if let Some(number) = self.night.filter(|_| at.may_act()) {
            let payload = Payload { number, at_us: at.now.wall / MICROSECOND };
            at.operate(RUNS, at.own_request(1), Operation::Effect, Some(payload));
        }
    }

    fn done(&mut self, _: usize, _: RequestId, _: u64, _: &mut Context) {
        self.finished = true;
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_is_the_one_whose_midnight_is_near() {
        let at = |ms: u64| COUNTED_FROM + ms * MILLISECOND;
        for (ms, number, until_ms) in [(9_900, 1, 100), (10_000, 1, 10_000), (12_500, 1, 7_500), (29_999, 3, 1)] {
            assert_eq!((night(at(ms)).get(), until_midnight(at(ms))), (number, until_ms * MILLISECOND), "{ms}");
        }
        // A clock that is behind when nights begin to be counted waits for the first.
        let behind = COUNTED_FROM - 1_500 * MILLISECOND;
        assert_eq!(until_midnight(behind), PERIOD + 1_500 * MILLISECOND);
    }
}
