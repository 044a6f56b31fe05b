//! The scheduler: one tick per period, recorded by read-modify-write, one at a time. The record has the tick's number
//! and its time by the leader's clock; a new leader continues from what its seal has read.

use super::{Context, Kind, Work};
use crate::{core::TimerId, types::Payload};

pub const WORK: Kind = Kind {
    name: "scheduler",
    about: "Records a tick every period: which, and when.",
    resources: &["schedule"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Scheduler::default()),
};

const SCHEDULE: usize = 0;
const TICK: TimerId = 0;

/// The scheduler of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Scheduler {
    ticks: u32,
}

impl Work for Scheduler {
    fn start(&mut self, at: &mut Context) {
        at.set_timer(TICK, at.now.mono + at.period);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        // Skipped until the previous tick is recorded.
        if at.may_act() && at.outbox(SCHEDULE).is_empty() {
            self.ticks += 1;
            let tick = Payload::after(at.outbox(SCHEDULE).payload(), at.now.wall);
            at.write(SCHEDULE, at.own_request(self.ticks), Some(tick));
        }
        at.set_timer(TICK, at.now.mono + at.period);
    }
}
