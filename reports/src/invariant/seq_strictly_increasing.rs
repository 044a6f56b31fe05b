//! Numbers are handed out in strictly increasing order.
//!
//! **Formula.** Over a resource's accepted writes with distinct request ids, seq rises in apply order. And externally:
//! if reply a precedes invocation b in real time, seq_a < seq_b. No value is returned for two requests. Gaps are
//! allowed (the metrics count them).
//!
//! **Could fail** if at least two writes were accepted on a resource, or a request was answered after another's answer.
//!
//! **Memory.** One floor per request in flight: the highest value returned before it was invoked. Returned values are
//! remembered in a window of 65,536: a value returned twice further apart breaks the real-time order anyway.
//!
//! **Source.** The project's definitions ("strictly increasing seq"); Herlihy and Wing, "Linearizability", TOPLAS 1990.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{by_resource::ByResource, requests::Requests, words::count};
use protocols::{
    history::{Outcome, UNKNOWN_REQUEST, UNKNOWN_SEQ},
    message::{Write, WriteVerdict},
    types::{Incarnation, RequestId, Resource},
};

pub const ENTRY: Entry = Entry {
    name: "seq_strictly_increasing",
    about: "Numbers rise in apply order and in real time, and no number is returned for two requests.",
    class: Class::Safety,
    only_defects: false,
    new: |_| Box::new(SeqStrictlyIncreasing::default()),
};

/// How many of the highest returned values are remembered.
const WINDOW: u64 = 1 << 16;

#[derive(Default)]
struct SeqStrictlyIncreasing {
    last: ByResource<Option<(u64, RequestId)>>,
    under_way: Requests<UnderWay>,
    returned: Returned,
    in_apply_order: u64,
    in_real_time: u64,
    violations: Violations<Violation>,
}

struct UnderWay {
    /// One more than the highest value returned before the request was invoked.
    floor: u64,
    applied: Option<u64>,
}

enum Violation {
    ApplyOrder { resource: Resource, incarnation: Incarnation, before: u64, seq: u64 },
    RealTime { request: RequestId, before: u64, seq: u64 },
    Twice { request: RequestId, seq: u64 },
}

impl SeqStrictlyIncreasing {
    fn accepted(&mut self, event: &Event, incarnation: Incarnation, write: &Write) {
        let (Write { resource, seq, .. }, request) = (*write, write.request());
        if seq == UNKNOWN_SEQ {
            return;
        }
        let known = if resource == Resource::SEQUENCE { self.under_way.get_mut(request) } else { None };
        // The same request again is not a second request: a store without a memory applies a repeated datagram twice.
        let mut again = known.as_ref().is_some_and(|u| u.applied == Some(seq));
        if let Some(under_way) = known {
            under_way.applied = Some(seq);
        }
        if let Some((before, last_request)) = *self.last.of(resource) {
            again |= request == last_request && request != UNKNOWN_REQUEST;
            self.in_apply_order += u64::from(!again);
            if seq <= before && !again {
                self.violations.add(event.t_us, Violation::ApplyOrder { resource, incarnation, before, seq });
            }
        }
        *self.last.at(resource) = Some((seq, request));
    }

    fn replied(&mut self, event: &Event, request: RequestId, outcome: Outcome) {
        let Some(UnderWay { floor, .. }) = self.under_way.remove(request) else { return };
        let Outcome::Ok { seq, .. } = outcome else { return };
        self.in_real_time += u64::from(floor > 0);
        if seq < floor {
            self.violations.add(event.t_us, Violation::RealTime { request, before: floor - 1, seq });
        } else if self.returned.insert(seq) {
            self.violations.add(event.t_us, Violation::Twice { request, seq });
        }
    }
}

impl Invariant for SeqStrictlyIncreasing {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::INVOKE).and(Kinds::REPLY)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict: WriteVerdict::Ok, .. } => {
                let incarnation = write.incarnation(*node);
                self.accepted(event, incarnation, write);
            }
            Kind::Invoke { request } => {
                self.under_way.insert(*request, UnderWay { floor: self.returned.top, applied: None });
            }
            Kind::Reply { request, outcome } => self.replied(event, *request, *outcome),
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let name = |request: &RequestId| ending.names.request(*request);
        let violated = self.violations.sentence(|v| match v {
            Violation::ApplyOrder { resource, incarnation, before, seq } => {
                let (who, resource) = (ending.names.incarnation(*incarnation), ending.names.resource(*resource));
                format!("{resource} accepted seq {seq} of {who} after seq {before}")
            }
            Violation::RealTime { request, before, seq } => {
                format!("{} was answered {seq}, but was asked after {before} had been returned", name(request))
            }
            Violation::Twice { request, seq } => {
                format!("{} was answered {seq}, which another request had been answered", name(request))
            }
        });
        let seen = format!(
            "{} in apply order and {} in real time, all rising",
            count(self.in_apply_order, "pair"),
            count(self.in_real_time, "answer")
        );
        let could_fail = self.in_apply_order + self.in_real_time > 0 || violated.is_some();
        let seen = if could_fail { seen } else { "nothing to compare".to_owned() };
        Finding { holds: violated.is_none(), could_fail, detail: violated.unwrap_or(seen.into()) }
    }
}

/// The returned values, as far as they are among the highest.
struct Returned {
    /// One more than the highest.
    top: u64,
    bits: Vec<u64>,
}

impl Default for Returned {
    fn default() -> Self {
        Returned { top: 0, bits: vec![0; (WINDOW / 64) as usize] }
    }
}

impl Returned {
    /// Returns true if `seq` was returned before.
    fn insert(&mut self, seq: u64) -> bool {
        if seq >= self.top {
            if seq - self.top >= WINDOW {
                self.bits.fill(0);
            } else {
                (self.top..seq).for_each(|s| self.bits[Self::word(s)] &= !Self::bit(s));
            }
            self.bits[Self::word(seq)] |= Self::bit(seq);
            self.top = seq.saturating_add(1);
            return false;
        }
        if self.top - seq > WINDOW {
            return false;
        }
        let before = self.bits[Self::word(seq)] & Self::bit(seq) != 0;
        self.bits[Self::word(seq)] |= Self::bit(seq);
        before
    }

    const fn word(seq: u64) -> usize {
        (seq % WINDOW / 64) as usize
    }

    const fn bit(seq: u64) -> u64 {
        1 << (seq % 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_remembers_the_highest_values() {
        let mut returned = Returned::default();
        assert!(!returned.insert(5) && returned.insert(5) && !returned.insert(3) && returned.insert(3));
        assert!(!returned.insert(5 + WINDOW) && returned.insert(5 + WINDOW));
        assert!(!returned.insert(6), "not confused with its neighbours");
        assert!(!returned.insert(10 * WINDOW) && !returned.insert(10 * WINDOW - 1) && returned.insert(10 * WINDOW));
        assert!(!returned.insert(u64::MAX));
    }
}
