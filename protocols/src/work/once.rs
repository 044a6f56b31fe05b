//! A worker whose every item has an effect outside that cannot be undone, and a table that says which items are done. It reads
//! once where the pending ones begin, when it is elected, and goes on from there: each item takes its time, has its effect, and
//! is marked when the effect is known.
//!
//! Between effect and mark the leader can be lost, and its successor finds the item pending. No seal helps against that,
//! since nobody writes out of turn. What does is a name of the item that goes with its effect: every effect is asked for under
//! the request `store:<item>`, whoever leads, and who has had that before says so instead of doing it again. So delivery is
//! at least once, and the effect once.
//!
//! An effect whose answer was lost is asked for again. A leader that resigns in the middle leaves the item to its successor,
//! as one does that dies.
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
    new: || Box::new(Worker::new(INVOICE_TIME)),
};

/// A queue: each message is delivered, and acknowledged after.
pub const QUEUE_WORKER: Kind = Kind {
    name: "queue-worker",
    about: "Processes one message of a queue after the other, and acknowledges it.",
    resources: &["deliveries", "queue"],
    serves: false,
    timers: 1,
    new: || Box::new(Worker::new(MESSAGE_TIME)),
};

/// The works that have effects outside.
pub const KINDS: [&Kind; 2] = [&INVOICES, &QUEUE_WORKER];

/// From one invoice to the next, nanoseconds.
pub const INVOICE_TIME: u64 = 50 * MILLISECOND;
/// How long a message is processed, nanoseconds, unless something else is asked for.
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
    /// Has the next one had its effect?
    done: bool,
    /// Is it being processed?
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
            // The belief is over, or about to be given up, or the store is slow. Should it go on, so does this.
            at.set_timer(NEXT, at.now.mono.saturating_add(self.item_time));
        } else if self.done {
            self.mark(at);
        } else {
            at.point(Point::EffectChecked);
            self.send(OUTSIDE, Operation::Effect, at);
            // Should the answer be lost.
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
