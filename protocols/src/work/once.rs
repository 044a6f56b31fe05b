//! A worker whose items each have an external effect that cannot be undone, and a table of the finished items. Once
//! elected, it reads where the pending items begin, and continues from there: each item takes its time, has its effect,
//! and is marked once the effect is confirmed.
//!
//! If the leader is lost between effect and mark, its successor finds the item pending. Seals do not help, since nobody
//! writes out of turn. An id per item does: every effect is requested under the id `store:<item>`, whichever leader
//! asks, and a receiver that has already had it says so instead of repeating the effect. So delivery is at least once,
//! and the effect happens once.
//!
//! An effect whose answer was lost is requested again. A leader that resigns during an item leaves it to its successor,
//! as does one that dies.
//!
//! After the articles *Leader Election Gone Wrong* (a job queue of invoices) and *Leader election: mechanisms, failure
//! modes, fencing*, "Singleton background worker".

use super::{Context, Kind, Work, work_set::Asked};
use crate::{
    core::TimerId,
    point::Point,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId},
};
use std::num::NonZeroU64;

/// Invoices: each pending one is charged at the payment side, and its row marked.
pub const INVOICES: Kind = Kind {
    name: "invoices",
    about: "Charges one pending invoice after the other, and marks its row.",
    resources: &["payments", "invoices"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Worker::new(INVOICE_TIME)),
};

/// A queue: each message is delivered, and then acknowledged.
pub const QUEUE_WORKER: Kind = Kind {
    name: "queue-worker",
    about: "Processes one message of a queue after the other, and acknowledges it.",
    resources: &["deliveries", "queue"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || Box::new(Worker::new(MESSAGE_TIME)),
};

/// The works with external effects.
pub const KINDS: [&Kind; 2] = [&INVOICES, &QUEUE_WORKER];

/// The time per invoice, nanoseconds.
pub const INVOICE_TIME: u64 = 50 * MILLISECOND;
/// The default processing time of a message, nanoseconds.
pub const MESSAGE_TIME: u64 = 100 * MILLISECOND;

const OUTSIDE: usize = 0;
const TABLE: usize = 1;
const NEXT: TimerId = 0;

/// The worker of one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    item_time: u64,
    /// The last item that is done and marked.
    marked: u64,
    /// Whether the next item has had its effect.
    done: bool,
    /// Whether it is being processed.
    at_work: bool,
    writes: u32,
}

impl Worker {
    fn new(item_time: u64) -> Self {
        Worker { item_time, marked: 0, done: false, at_work: false, writes: 0 }
    }

    fn send(&mut self, resource: usize, operation: Operation, at: &mut Context) {
        let number = NonZeroU64::MIN.saturating_add(self.marked);
        self.writes += 1;
        let request = match operation == Operation::Effect && at.effects_are_named() {
            true => at.request_of(number),
            false => at.own_request(self.writes),
        };
        let at_us = at.now.wall / MICROSECOND;
        at.operate(resource, request, operation, Some(Payload { number, at_us }));
    }

    fn begin(&mut self, at: &mut Context) {
        self.at_work = true;
        at.set_timer(NEXT, at.now.mono.saturating_add(self.item_time));
    }

    fn mark(&mut self, at: &mut Context) {
        at.point(Point::MarkChecked);
        self.send(TABLE, Operation::Complete, at);
    }
}

impl Work for Worker {
    fn start(&mut self, at: &mut Context) {
        let Asked { item_ms, .. } = at.work_set();
        self.item_time = item_ms.map_or(self.item_time, |ms| ms.saturating_mul(MILLISECOND));
        self.marked = at.outbox(TABLE).payload().map_or(0, |last| last.number.get());
        self.begin(at);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        self.at_work = false;
        let waits = !at.outbox(OUTSIDE).is_empty() || !at.outbox(TABLE).is_empty();
        if waits || !at.may_act() {
            // The belief has ended or is about to be given up, or the store is slow. If it recovers, so does the work.
            at.set_timer(NEXT, at.now.mono.saturating_add(self.item_time));
        } else if self.done {
            self.mark(at);
        } else {
            at.point(Point::EffectChecked);
            self.send(OUTSIDE, Operation::Effect, at);
            // In case the answer is lost.
            at.set_timer(NEXT, at.now.mono.saturating_add(self.item_time));
        }
    }

    fn done(&mut self, resource: usize, _: RequestId, _: u64, at: &mut Context) {
        if resource == OUTSIDE {
            self.done = true;
            if at.may_act() {
                self.mark(at);
            }
            return;
        }
        (self.marked, self.done) = (self.marked + 1, false);
        self.begin(at);
    }

    fn is_at_work(&self) -> bool {
        self.at_work
    }
}
