//! A nightly job: the node elected for a night runs its job, and resigns when that is done. A night takes ten seconds
//! here. A night's job has its external effect at its end; the wall clock tells which night it is.
//!
//! It is used with the ways to choose the node, [`crate::election::cron`], where a leadership lasts for one job.

use super::{Context, Kind, Work};
use crate::{
    core::TimerId,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId, SECOND},
};
use std::num::NonZeroU64;

pub const WORK: Kind = Kind {
    name: "nightly-job",
    about: "Runs the job of the night that it was elected for, and gives leadership up.",
    resources: &["runs"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Job::default()),
};

/// The time between midnights, nanoseconds.
pub const PERIOD: u64 = 10 * SECOND;
/// The job's duration, nanoseconds.
pub const JOB_TIME: u64 = 1_000 * MILLISECOND;
/// The origin of the count of nights: 2026-01-01T00:00:00Z, nanoseconds since the Unix epoch.
const COUNTED_FROM: u64 = 1_767_225_600 * SECOND;

const RUNS: usize = 0;
const END: TimerId = 0;

/// The number of the night whose midnight is nearest to the wall clock, from 1.
pub fn night(wall: u64) -> NonZeroU64 {
    NonZeroU64::new((wall.saturating_sub(COUNTED_FROM) + PERIOD / 2) / PERIOD).unwrap_or(NonZeroU64::MIN)
}

/// The time until the next midnight, nanoseconds, for that reading of the wall clock.
pub fn until_midnight(wall: u64) -> u64 {
    let since = wall.saturating_sub(COUNTED_FROM);
    COUNTED_FROM + (since / PERIOD + 1) * PERIOD - wall
}

/// One night's job.
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
        // A clock behind the origin waits for the first night.
        let behind = COUNTED_FROM - 1_500 * MILLISECOND;
        assert_eq!(until_midnight(behind), PERIOD + 1_500 * MILLISECOND);
    }
}
