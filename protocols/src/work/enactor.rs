//! The enactor: repeatedly makes a plan, enacts it, and cleans up. These are three separate writes, each sent once the
//! one before was applied, and each after a new check of the lease: whatever can happen between a check and its write
//! can happen to a clean-up too.
//!
//! The clean-up deletes everything that the leader does not know to be in use: the plan just enacted and the few before
//! it stay. It does not ask which plans exist. A former leader may have left some that it made and never enacted, and
//! deleting those relies on nobody else making any.
//!
//! After AWS, "Summary of the Amazon DynamoDB Service Disruption in the Northern Virginia (US-EAST-1) Region", October
//! 2025, where DNS Enactors apply plans of endpoints and clean up old ones.

use super::{Context, Kind, Work};
use crate::{
    core::TimerId,
    point::Point,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId},
};
use std::num::NonZeroU64;

pub const WORK: Kind = Kind {
    name: "enactor",
    about: "Makes numbered plans, makes each live, and deletes those that are not in use any more.",
    resources: &["plans"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Enactor::default()),
};

const PLANS: usize = 0;
const NEXT: TimerId = 0;

/// The interval between plans, nanoseconds.
pub const PERIOD: u64 = 20 * MILLISECOND;

/// The enactor of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Enactor {
    /// The number of writes it has sent.
    writes: u32,
    /// The last write's operation and plan.
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
        // Skipped until the previous plan's clean-up is done.
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
