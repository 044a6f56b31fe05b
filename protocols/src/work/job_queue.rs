//! The worker of a job queue: claims the next job, does it, and claims the next. A claim is a record at the queue, with
//! the job's number: the next leader continues after it, and nobody does a job that was already claimed. A leader that
//! dies during a job leaves it undone, as in every queue with at-most-once delivery.

use super::{Context, Kind, Work};
use crate::{
    core::TimerId,
    types::{MILLISECOND, Payload, RequestId},
};

pub const WORK: Kind = Kind {
    name: "job-queue",
    about: "Claims one job after the other, and does it.",
    resources: &["jobs"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Worker::default()),
};

const JOBS: usize = 0;
const NEXT: TimerId = 0;

/// A job's duration, nanoseconds.
pub const JOB_TIME: u64 = 20 * MILLISECOND;

/// The worker of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Worker {
    claims: u32,
    /// Whether a job is running.
    busy: bool,
}

impl Work for Worker {
    fn start(&mut self, at: &mut Context) {
        at.set_timer(NEXT, at.now.mono + JOB_TIME);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        self.busy = false;
        if at.outbox(JOBS).is_empty() && at.may_act() {
            self.claims += 1;
            let claim = Payload::after(at.outbox(JOBS).payload(), at.now.wall);
            at.write(JOBS, at.own_request(self.claims), Some(claim));
        }
        at.set_timer(NEXT, at.now.mono + JOB_TIME);
    }

    fn done(&mut self, _: usize, _: RequestId, _: u64, at: &mut Context) {
        // The claim was applied, so the job is ours.
        self.busy = true;
        at.set_timer(NEXT, at.now.mono + JOB_TIME);
    }

    fn idle(&self) -> bool {
        !self.busy
    }
}
