//! A resource records what was sent to it, once, and keeps it.
//!
//! **Formula.** Over writes with a payload, which states its ordinal among writes of its kind and its time; in parts 2
//! and 3 only over those that record it (a write that makes a plan live or deletes it names a plan recorded before):
//! 1. What reaches the store is what its writer sent: the write of that incarnation and number has that payload, and
//!    none if none was sent. (Writes that take a number for a client carry none and are not checked.)
//! 2. The ordinals of a resource's accepted payloads rise: no tick is recorded twice, no job is claimed twice. So do
//!    their times: nothing is recorded for a time that is already recorded. The same write applied again by a store
//!    without a memory is not a second record.
//! 3. An accepted seal reads the payload accepted last.
//!
//! **Could fail** if an accepted payload could be compared: with what was sent, with the one before, or with what a
//! seal read. Part 1 is judged if the history reports sent writes, and part 3 if it has a header.
//!
//! **Memory.** The latest 1,024 writes with a payload sent to each resource.
//!
//! **Source.** The project's requirement that a tick is a record ("writes a tick record"); at-most-once claims of jobs:
//! Birrell and Nelson, "Implementing remote procedure calls", TOCS 1984, §3.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    by_resource::ByResource,
    words::{count, grouped, wall},
};
use protocols::{
    history::Header,
    message::{Write, WriteVerdict},
    types::{Incarnation, Payload, RequestId, Resource},
    work::outbox::UNDER_WAY_MAX,
};
use std::collections::VecDeque;

pub const ENTRY: Entry = Entry {
    name: "records",
    about: "Each record is what was sent, no tick or job is recorded twice, and a seal reads the latest.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(Records::new(header)),
};

#[derive(Default)]
struct Records {
    /// Does the history have a header?
    whole: bool,
    on: ByResource<On>,
    recorded: u64,
    compared: u64,
    violations: Violations<Violation>,
}

/// The state of one resource.
#[derive(Clone, Default)]
struct On {
    /// The latest payloads sent, if the history reports them, with incarnation and number.
    sent: VecDeque<(Incarnation, u64, Payload)>,
    told: bool,
    last: Option<Recorded>,
}

/// The last accepted record.
#[derive(Clone, Copy)]
struct Recorded {
    incarnation: Incarnation,
    request: RequestId,
    payload: Payload,
}

struct Violation {
    resource: Resource,
    incarnation: Incarnation,
    seq: u64,
    what: What,
}

enum What {
    /// The payload differs from the one sent.
    Changed {
        sent: Payload,
        came: Option<Payload>,
    },
    NeverSent(Payload),
    /// The ordinal does not exceed the last one.
    Twice {
        payload: Payload,
        before: Recorded,
    },
    /// The time is not after the last one.
    Past {
        payload: Payload,
        before: Recorded,
    },
    /// A seal read another payload than the last.
    Read {
        read: Option<Payload>,
        last: Payload,
    },
}

impl On {
    fn find(&self, incarnation: Incarnation, seq: u64) -> Option<Payload> {
        let same = |sent: &&(Incarnation, u64, Payload)| (sent.0, sent.1) == (incarnation, seq);
        self.sent.iter().rev().find(same).map(|sent| sent.2)
    }

    /// Is a payload that is not in `sent` known to have never been sent? Only as long as none was dropped.
    fn tells_of_all(&self) -> bool {
        self.told && self.sent.len() < UNDER_WAY_MAX
    }
}

impl Records {
    fn new(header: Option<&Header>) -> Self {
        Records { whole: header.is_some(), ..Records::default() }
    }

    fn violated(&mut self, t_us: u64, write: &Write, incarnation: Incarnation, what: What) {
        let (resource, seq) = (write.resource, write.seq);
        self.violations.add(t_us, Violation { resource, incarnation, seq, what });
    }

    fn sent(&mut self, incarnation: Incarnation, write: &Write) {
        let Some(payload) = write.payload else { return };
        let on = self.on.at(write.resource);
        on.told = true;
        if on.sent.len() == UNDER_WAY_MAX {
            on.sent.pop_front();
        }
        on.sent.push_back((incarnation, write.seq, payload));
    }

    /// Takes a write that has reached the store.
    fn came(&mut self, t_us: u64, incarnation: Incarnation, write: &Write, verdict: WriteVerdict) {
        let on = self.on.of(write.resource);
        // Most writes record nothing, on resources that never do.
        if write.payload.is_none() && on.sent.is_empty() {
            return;
        }
        match (on.find(incarnation, write.seq), write.payload) {
            (Some(sent), came) if came != Some(sent) => {
                self.violated(t_us, write, incarnation, What::Changed { sent, came });
            }
            (None, Some(payload)) if on.tells_of_all() => {
                self.violated(t_us, write, incarnation, What::NeverSent(payload));
            }
            (sent, _) => self.compared += u64::from(sent.is_some()),
        }
        if let (WriteVerdict::Ok, Some(payload), true) = (verdict, write.payload, write.operation.records()) {
            self.accepted(t_us, incarnation, write, payload);
        }
    }

    fn accepted(&mut self, t_us: u64, incarnation: Incarnation, write: &Write, payload: Payload) {
        let request = write.request();
        let now = Recorded { incarnation, request, payload };
        let before = self.on.at(write.resource).last.replace(now);
        self.recorded += 1;
        let Some(before) = before else { return };
        self.compared += 1;
        let again = (before.incarnation, before.request, before.payload) == (incarnation, request, payload);
        if payload.number <= before.payload.number && !again {
            self.violated(t_us, write, incarnation, What::Twice { payload, before });
        } else if payload.at_us <= before.payload.at_us && !again {
            self.violated(t_us, write, incarnation, What::Past { payload, before });
        }
    }

    fn sealed(&mut self, t_us: u64, resource: Resource, incarnation: Incarnation, seq: u64, read: Option<Payload>) {
        let Some(Recorded { payload: last, .. }) = self.on.of(resource).last.filter(|_| self.whole) else { return };
        self.compared += 1;
        if read != Some(last) {
            let what = What::Read { read, last };
            self.violations.add(t_us, Violation { resource, incarnation, seq, what });
        }
    }
}

impl Invariant for Records {
    fn wants(&self) -> Kinds {
        // Writes that take a client's number record nothing, and are many.
        Kinds::ISSUE_ASIDE.and(Kinds::APPLY_ASIDE).and(Kinds::SEAL)
    }

    fn observe(&mut self, event: &Event) {
        let of = |node, write: &Write| write.incarnation(node);
        match &event.kind {
            Kind::Issue { node, write } => self.sent(of(*node, write), write),
            Kind::Apply { node, write, verdict, .. } => self.came(event.t_us, of(*node, write), write, *verdict),
            Kind::Seal { resource, incarnation, accepted: true, seq, payload, .. } => {
                self.sealed(event.t_us, *resource, *incarnation, *seq, *payload);
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.violations.sentence(|Violation { resource, incarnation, seq, what }| {
            let (resource, who) = (ending.names.resource(*resource), ending.names.incarnation(*incarnation));
            let of = |before: &Recorded| ending.names.incarnation(before.incarnation);
            match what {
                What::Changed { sent, came: Some(came) } => {
                    format!("seq {seq} of {who} reached {resource} with {}, but was sent with {}", say(came), say(sent))
                }
                What::Changed { sent, came: None } => {
                    format!("seq {seq} of {who} reached {resource} with no record, but was sent with {}", say(sent))
                }
                What::NeverSent(payload) => {
                    format!("seq {seq} of {who} reached {resource} with {}, which nobody had sent", say(payload))
                }
                What::Twice { payload, before } => {
                    let (number, last) = (grouped(payload.number.get()), grouped(before.payload.number.get()));
                    let by = of(before);
                    format!("{resource} recorded number {number} of {who}, when {by} had recorded number {last}")
                }
                What::Past { payload, before } => {
                    let (at, last, by) = (wall(payload.at_us), wall(before.payload.at_us), of(before));
                    format!("{resource} recorded {at} of {who}, when {by} had recorded {last}")
                }
                What::Read { read, last } => {
                    let read = read.as_ref().map_or("no record".to_owned(), say);
                    format!("the seal of {who} read {read} from {resource} when {} was the last", say(last))
                }
            }
        });
        let seen = match (self.recorded, self.compared) {
            (0, 0) => "nothing was recorded".to_owned(),
            (0, n) => format!("nothing was recorded; {} came as sent", count(n, "payload")),
            (n, _) => format!("{}, each as it was sent, and once", count(n, "record")),
        };
        let could_fail = self.compared > 0 || violated.is_some();
        Finding { holds: violated.is_none(), could_fail, detail: violated.unwrap_or(seen.into()) }
    }
}

fn say(payload: &Payload) -> String {
    format!("number {} of {}", grouped(payload.number.get()), wall(payload.at_us))
}
