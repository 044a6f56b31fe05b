//! A request has one number.
//!
//! **Formula.** Over the writes on `sequence` that name their request: no request is applied twice, and what its client is
//! told is the number that it was applied as, and never that nothing happened. A client retries for as long as it does not
//! know; retries must not count.
//!
//! **Could fail** when a request reached the store twice, or a client was answered. Not judged where the store remembers no
//! requests: with fencing off, and for protocols without tokens, whose writes it accepts as they come. Only the latest
//! 16,384 requests of each client are looked at.
//!
//! **Source.** The project's fencing rule 5; Birrell and Nelson, "Implementing remote procedure calls", TOCS 1984, §3
//! (exactly one execution while neither side crashes).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations, not_applicable};
use crate::words::{count, grouped};
use protocols::{
    fence::checks::Fencing,
    history::{Header, Outcome, UNKNOWN_REQUEST},
    message::WriteVerdict,
    types::{NodeId, RequestId, Resource},
};
use std::collections::{BTreeMap, VecDeque};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "one_number",
    about: "No request is applied twice, and its client gets the number that it was applied with.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(OneNumber::new(header)),
};

/// So many of a client's latest requests are looked at.
const WINDOW: usize = 1 << 14;

struct OneNumber {
    judged: bool,
    clients: BTreeMap<NodeId, Applied>,
    again: u64,
    answered: u64,
    violations: Violations<Violation>,
}

/// The numbers that a client's latest requests were applied as; 0 is none.
#[derive(Default)]
struct Applied {
    first: u64,
    seqs: VecDeque<u64>,
}

enum Violation {
    Twice { request: RequestId, before: u64, seq: u64 },
    Told { request: RequestId, applied: u64, seq: u64 },
    Denied { request: RequestId, applied: u64 },
}

impl Applied {
    fn of(&self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first)?;
        self.seqs.get(usize::try_from(place).ok()?).copied().filter(|seq| *seq > 0)
    }

    fn set(&mut self, number: u64, seq: u64) {
        // Numbers that begin far away (a client that was started again) begin a new window.
        if self.seqs.is_empty() || number < self.first || number - self.first >= 2 * WINDOW as u64 {
            self.seqs.clear();
            self.first = number.saturating_sub(WINDOW as u64 / 2);
        }
        let place = (number - self.first) as usize;
        if place >= self.seqs.len() {
            self.seqs.resize(place + 1, 0);
        }
        self.seqs[place] = seq;
        while self.seqs.len() > WINDOW {
            self.seqs.pop_front();
            self.first += 1;
        }
    }
}

impl OneNumber {
    fn new(header: Option<&Header>) -> Self {
        let judged = header.is_none_or(|h| h.tokened && h.fencing != Fencing::Off);
        OneNumber { judged, clients: BTreeMap::new(), again: 0, answered: 0, violations: Violations::default() }
    }
}

impl Invariant for OneNumber {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::REPLY)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { write, verdict, .. } if self.judged && write.resource == Resource::SEQUENCE => {
                let request = write.request();
                if request == UNKNOWN_REQUEST {
                    return;
                }
                let applied = self.clients.entry(request.client).or_default();
                match (applied.of(request.number), verdict) {
                    (None, WriteVerdict::Ok) => applied.set(request.number, write.seq),
                    (Some(before), WriteVerdict::Ok) => {
                        self.again += 1;
                        self.violations.add(event.t_us, Violation::Twice { request, before, seq: write.seq });
                    }
                    (before, _) => self.again += u64::from(before.is_some()),
                }
            }
            Kind::Reply { request, outcome: Outcome::Ok { seq, .. } } if self.judged => {
                let applied = self.clients.get(&request.client).and_then(|applied| applied.of(request.number));
                if let Some(applied) = applied {
                    self.answered += 1;
                    if applied != *seq {
                        let violation = Violation::Told { request: *request, applied, seq: *seq };
                        self.violations.add(event.t_us, violation);
                    }
                }
            }
            Kind::Reply { request, outcome: Outcome::Rejected } if self.judged => {
                let applied = self.clients.get(&request.client).and_then(|applied| applied.of(request.number));
                if let Some(applied) = applied {
                    self.violations.add(event.t_us, Violation::Denied { request: *request, applied });
                }
            }
            _ => {}
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.violations.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        if !self.judged {
            return not_applicable("the store remembers no requests");
        }
        let name = |request: &RequestId| format!("{}:{}", ending.names.node(request.client), request.number);
        let violated = self.violations.sentence(|violation| match violation {
            Violation::Twice { request, before, seq } => {
                let (request, before, seq) = (name(request), grouped(*before), grouped(*seq));
                format!("request {request}, applied as {before}, was applied again as {seq}")
            }
            Violation::Told { request, applied, seq } => {
                let (request, applied, seq) = (name(request), grouped(*applied), grouped(*seq));
                format!("request {request}, applied as {applied}, was answered {seq}")
            }
            Violation::Denied { request, applied } => {
                let (request, applied) = (name(request), grouped(*applied));
                format!("request {request}, applied as {applied}, ended as if nothing had happened")
            }
        });
        let holds = violated.is_none();
        let detail = violated.unwrap_or_else(|| {
            if self.again + self.answered == 0 {
                return "no request was repeated or answered".to_owned();
            }
            let (again, answers) = (count(self.again, "repeated request"), count(self.answered, "answer"));
            format!("{again} and {answers}, each request with one number")
        });
        Finding { holds, could_fail: self.again + self.answered > 0 || !holds, detail }
    }
}
