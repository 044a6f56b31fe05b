//! The leader's work-set: a long sequence of items, done one after the other, and a cursor that records the progress. A
//! new leader continues after the cursor; without one it starts at the first item.
//!
//! An item is done by a write ([`Operation::Perform`]), which may be repeated: that is wasted, but harmless. The cursor
//! is a record at the same resource, written only once the item is known to be done: nobody looks again at what a
//! cursor has passed. So a hand-over repeats some items, but skips none. A run's `work_redone` and
//! `work_stalled_ms_max` tell how many, and for how long nothing new is done.
//!
//! Before the first item, a new leader loads its state, which takes [`Size::load_time`]: nothing if the cursor is all
//! of it, minutes if the whole set must be read. An item under way when leadership ends is lost, and no part of it is
//! in the resource.
//!
//! After the design exercise, "Leader work-set": 10M to 100M pending jobs, or a compaction cursor over 100 GB of
//! segments.

use super::{Context, Kind, Work};
use crate::{
    bug::{Bug, Shown},
    core::TimerId,
    types::{MICROSECOND, MILLISECOND, Operation, Payload, RequestId},
};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Compaction of 100 GiB in segments of 64 MiB, each read and written at a total of 200 MiB/s.
pub const COMPACTION: Kind = Kind {
    name: "compaction",
    about: "Compacts one segment after the other, and records how far it has come.",
    resources: &["segments"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || {
        Box::new(Performer::new(Size { items: 1_600, item_time: 320 * MILLISECOND, checkpoint_every: 1, load_time: 0 }))
    },
};

/// 100 million jobs that become due at 10,000 a second, done in batches of a thousand.
pub const PENDING_JOBS: Kind = Kind {
    name: "pending-jobs",
    about: "Does the jobs that are due, a thousand at a time, and records how far it has come.",
    resources: &["fired"],
    serves: false,
    timers: 1,
    parameters: &[],
    new: || {
        Box::new(Performer::new(Size {
            items: 100_000,
            item_time: 100 * MILLISECOND,
            checkpoint_every: 10,
            load_time: 0,
        }))
    },
};

/// The cursor is moved before the item is done.
pub const CURSOR_FIRST: Bug = Bug {
    id: "cursor-first",
    protocols: &[],
    what: "The leader records an item as done before it does it: its successor continues behind it, and nobody does it.",
    source: "derived: the order of side effect and commit of an offset, as in Kafka's consumer documentation, \"Manual Offset \
             Control\" (at most once instead of at least once)",
    violation: "nothing_skipped",
    shown: Shown::by("clean-kill", "etcd-election", 4).with("--works sequencer,compaction"),
};

/// The works of this kind.
pub const KINDS: [&Kind; 2] = [&COMPACTION, &PENDING_JOBS];

/// The most items of a sequence.
pub const ITEMS_MAX: u64 = 1_000_000_000;

const ROW: usize = 0;
const NEXT: TimerId = 0;

/// The length of the sequence, and the cost of an item and of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Size {
    /// The number of items.
    pub items: u64,
    /// The time per item, nanoseconds.
    pub item_time: u64,
    /// The cursor is recorded after this many items; 0 for never.
    pub checkpoint_every: u64,
    /// How long a new leader loads before it starts, nanoseconds.
    pub load_time: u64,
}

/// Settings of the work-set that differ from the defaults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// [`Size::items`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// [`Size::item_time`], milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_ms: Option<u64>,
    /// [`Size::checkpoint_every`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_every: Option<u64>,
    /// [`Size::load_time`], milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_ms: Option<u64>,
}

impl Asked {
    /// Whether nothing is set.
    pub fn is_nothing(&self) -> bool {
        *self == Asked::default()
    }

    /// The default size with these settings applied.
    fn of(self, usual: Size) -> Size {
        let time = |ms: Option<u64>, usual| ms.map_or(usual, |ms| ms.saturating_mul(MILLISECOND));
        Size {
            items: self.items.unwrap_or(usual.items),
            item_time: time(self.item_ms, usual.item_time),
            checkpoint_every: self.checkpoint_every.unwrap_or(usual.checkpoint_every),
            load_time: time(self.load_ms, usual.load_time),
        }
    }
}

/// Does the items in one leadership.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Performer {
    size: Size,
    /// The last item known to be done.
    done: u64,
    /// The cursor's position, including a pending write.
    cursor: u64,
    writes: u32,
    /// The write that does an item, and the item.
    performing: Option<(RequestId, u64)>,
}

impl Performer {
    fn new(size: Size) -> Self {
        Performer { size, done: 0, cursor: 0, writes: 0, performing: None }
    }

    fn send(&mut self, operation: Operation, item: u64, at: &mut Context) -> RequestId {
        self.writes += 1;
        let request = at.own_request(self.writes);
        let before = at.outbox(ROW).payload().map_or(0, |before| before.at_us + 1);
        let at_us = before.max(at.now.wall / MICROSECOND);
        let number = NonZeroU64::new(item).unwrap_or(NonZeroU64::MIN);
        at.operate(ROW, request, operation, Some(Payload { number, at_us }));
        request
    }

    fn record(&mut self, item: u64, at: &mut Context) {
        self.cursor = item;
        self.send(Operation::Record, item, at);
    }

    /// Starts the next item, which is done when its time has passed.
    fn begin(&mut self, loading: u64, at: &mut Context) {
        if self.done >= self.size.items {
            return;
        }
        if at.has(&CURSOR_FIRST) && self.size.checkpoint_every > 0 && at.may_act() {
            self.record(self.done + 1, at);
        }
        at.set_timer(NEXT, at.now.mono.saturating_add(loading).saturating_add(self.size.item_time));
    }
}

impl Work for Performer {
    fn start(&mut self, at: &mut Context) {
        self.size = at.work_set().of(self.size);
        if self.size.checkpoint_every > 0 {
            self.done = at.outbox(ROW).payload().map_or(0, |cursor| cursor.number.get());
            self.cursor = self.done;
        }
        self.begin(self.size.load_time, at);
    }

    fn timer(&mut self, _: TimerId, at: &mut Context) {
        if at.may_act() {
            let item = self.done + 1;
            self.performing = Some((self.send(Operation::Perform, item, at), item));
        } else {
            // The belief has ended or is about to be given up. If it is renewed, the item is done then.
            at.set_timer(NEXT, at.now.mono.saturating_add(self.size.item_time));
        }
    }

    fn done(&mut self, _: usize, request: RequestId, _: u64, at: &mut Context) {
        let Some((_, item)) = self.performing.take_if(|performing| performing.0 == request) else { return };
        self.done = item;
        let due = self.size.checkpoint_every > 0 && item - self.cursor.min(item) >= self.size.checkpoint_every;
        if due && at.may_act() {
            self.record(item, at);
        }
        self.begin(0, at);
    }

    fn leave(&mut self, at: &mut Context) {
        if self.size.checkpoint_every > 0 && self.done > self.cursor && at.may_act() {
            self.record(self.done, at);
        }
    }
}
