//! The enactor: makes a plan, makes it live, and cleans up, again and again. The three are writes of their own, each sent when
//! the one before it was applied, and before each the lease is checked anew: whatever happens between a check and its
//! write happens to a clean-up as it does to any other write.
//!
//! What is deleted is everything that the leader does not know to be in use: the plan that it has just made live and the few
//! before it stay. It does not ask which plans there are. A former leader may have left some that it made and never made live,
//! and whoever sweeps those away has to trust that nobody else is making any.
//!
//! After AWS, "Summary of the Amazon DynamoDB Service Disruption in the Northern Virginia (US-EAST-1) Region", October 2025:
//! there DNS Enactors apply plans of endpoints and clean up old ones.

use super::{Context, Kind, Work};
use crate::{
    core::TimerId,
    point::Point,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId},
};
use std::num::NonZeroU64;

/// The work.
pub const WORK: Kind = Kind {
    name: "enactor",
    about: "Makes numbered plans, makes each live, and deletes those that are not in use any more.",
    resources: &["plans"],
    serves: false,
    timers: 1,
    new: || Box::new(Enactor::default()),
};

const PLANS: usize = 0;
const NEXT: TimerId = 0;

/// From one plan to the next, nanoseconds.
pub const PERIOD: u64 = 20 * MILLISECOND;

/// The enactor of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Enactor {
    /// How many writes it has sent.
    writes: u32,
    /// What was sent last, and for which plan.
    under_way: Option<(Operation, NonZeroU64)>,
}

impl Enactor {
    fn send(&mut self, operation: Operation, plan: Payload, at: &mut Context) {
        self.writes += 1;
        self.under_way = Some((operation, plan.number));
        let request = at.own_request(self.writes);
        at.operate(PLANS, request, operation, Some(plan));
    }
}

impl Work for Enactor {
    fn start(&mut self, at: &mut Context) {
        at.set_timer(NEXT, at.now.mono + PERIOD);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        // Skipped while the one before is not cleaned up after.
        if at.outbox(PLANS).is_empty() && at.may_act() {
            let plan = Payload::after(at.outbox(PLANS).payload(), at.now.wall);
            self.send(Operation::Make, plan, at);
        }
        at.set_timer(NEXT, at.now.mono + PERIOD);
    }

    fn done(&mut self, _: usize, _: RequestId, _: u64, at: &mut Context) {
        let (next, point, number) = match self.under_way.take() {
            Some((Operation::Make, number)) => (Operation::Enact, Point::EnactChecked, number),
            Some((Operation::Enact, number)) => (Operation::Delete, Point::DeleteChecked, number),
            _ => return,
        };
        if at.may_act() {
            at.point(point);
            let at_us = at.now.wall / MICROSECOND;
            self.send(next, Payload { number, at_us }, at);
        }
    }
}
