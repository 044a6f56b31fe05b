//! A request has one number.
//!
//! **Formula.** Over the writes on `sequence` that name their request: no request is applied twice, and its client is
//! told the number with which it was applied, never that nothing happened. A client retries while it does not know;
//! retries must not count.
//!
//! **Could fail** if a request reached the store twice, or a client was answered. Not judged if the store remembers no
//! requests: with fencing off, and for protocols without tokens, whose writes it accepts as they come. Only the latest
//! 16,384 requests of each client are checked.
//!
//! In a log without a header, which may have any resources, no request is accepted twice on any one resource, numbered
//! or not. That could fail if two accepted writes on one resource named their requests. All requests are remembered.
//!
//! **Source.** The project's fencing rule 5; Birrell and Nelson, "Implementing remote procedure calls", TOCS 1984, §3
//! (exactly one execution while neither side crashes).

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations, not_applicable};
use crate::{
    said::{At, sentence},
    words::{count, grouped},
};
use protocols::{
    fence::checks::Fencing,
    history::{Header, Outcome, UNKNOWN_REQUEST, UNKNOWN_SEQ},
    message::{Write, WriteVerdict},
    types::{NodeId, RequestId, Resource},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const ENTRY: Entry = Entry {
    name: "one_number",
    about: "No request is applied twice, and its client gets the number that it was applied with.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(OneNumber::new(header)),
};

/// How many of a client's latest requests are checked.
const WINDOW: usize = 1 << 14;

/// By resource and request: the number with which it was accepted, when (microseconds), and from whom.
type Accepted = BTreeMap<(Resource, RequestId), (u64, u64, NodeId)>;

struct OneNumber {
    judged: bool,
    /// For a log.
    of_log: Option<Accepted>,
    /// In a log: accepted writes on a resource that had accepted another, both of which named their request.
    compared: u64,
    clients: BTreeMap<NodeId, Applied>,
    /// The resources of these writes.
    named: BTreeSet<Resource>,
    again: u64,
    answered: u64,
    violations: Violations<Violation>,
}

/// The numbers with which a client's latest requests were applied; 0 if none.
#[derive(Default)]
struct Applied {
    first: u64,
    seqs: VecDeque<u64>,
}

enum Violation {
    Accepted { request: RequestId, resource: Resource, before_us: u64, before: NodeId, by: NodeId },
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
        // A number far away (from a restarted client) begins a new window.
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
        let of_log = header.is_none().then(BTreeMap::new);
        OneNumber {
            judged,
            of_log,
            compared: 0,
            named: BTreeSet::new(),
            clients: BTreeMap::new(),
            again: 0,
            answered: 0,
            violations: Violations::default(),
        }
    }
}

impl OneNumber {
    /// A write of a log was accepted, or recognised as a duplicate.
    fn applied_in_log(&mut self, t_us: u64, node: NodeId, write: &Write, accepted: bool) {
        let (Some(known), request, resource) = (&mut self.of_log, write.request(), write.resource) else { return };
        match known.get(&(resource, request)) {
            // Recording the same under the same number again is done only once.
            Some((seq, ..))
                if accepted && *seq != UNKNOWN_SEQ && *seq == write.seq && resource != Resource::SEQUENCE =>
            {
                self.again += 1;
            }
            Some((_, before_us, before)) if accepted && resource != Resource::SEQUENCE => {
                let (before_us, before) = (*before_us, *before);
                self.again += 1;
                self.violations.add(t_us, Violation::Accepted { request, resource, before_us, before, by: node });
            }
            Some((seq, before_us, before)) if accepted => {
                self.again += 1;
                let numbered = *seq != UNKNOWN_SEQ && write.seq != UNKNOWN_SEQ;
                let (before_us, before) = (*before_us, *before);
                let violation = match numbered {
                    true => Violation::Twice { request, before: *seq, seq: write.seq },
                    false => Violation::Accepted { request, resource, before_us, before, by: node },
                };
                self.violations.add(t_us, violation);
            }
            Some(_) => self.again += 1,
            None if accepted => {
                self.compared += u64::from(!self.named.insert(resource));
                known.insert((resource, request), (write.seq, t_us, node));
            }
            None => {}
        }
    }
}

impl Invariant for OneNumber {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::REPLY)
    }

    fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Apply { node, write, verdict, .. } if self.of_log.is_some() && write.request() != UNKNOWN_REQUEST => {
                self.applied_in_log(event.t_us, *node, write, *verdict == WriteVerdict::Ok);
                if *verdict == WriteVerdict::Ok && write.resource == Resource::SEQUENCE && write.seq != UNKNOWN_SEQ {
                    let (client, number) = (write.client, write.number);
                    let applied = self.clients.entry(client).or_default();
                    if applied.of(number).is_none() {
                        applied.set(number, write.seq);
                    }
                }
            }
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
        let name = |request: &RequestId| ending.names.request(*request);
        let violated = self.violations.sentence(|violation| match violation {
            Violation::Twice { request, before, seq } => {
                let (request, before, seq) = (name(request), grouped(*before), grouped(*seq));
                format!("request {request}, applied as {before}, was applied again as {seq}").into()
            }
            Violation::Accepted { request, resource, before_us, before, by } => {
                let [before, by] = [before, by].map(|node| ending.names.node(*node));
                let (request, resource) = (name(request), ending.names.resource(*resource));
                let text =
                    format!("{resource} accepted request {request} from {by}, which it had accepted from {before} at ");
                sentence![text, At(*before_us)]
            }
            Violation::Told { request, applied, seq } => {
                let (request, applied, seq) = (name(request), grouped(*applied), grouped(*seq));
                format!("request {request}, applied as {applied}, was answered {seq}").into()
            }
            Violation::Denied { request, applied } => {
                let (request, applied) = (name(request), grouped(*applied));
                format!("request {request}, applied as {applied}, ended as if nothing had happened").into()
            }
        });
        let holds = violated.is_none();
        let detail = violated.unwrap_or_else(|| {
            if self.of_log.is_some() && self.again + self.answered == 0 {
                return match self.compared {
                    0 => "no two accepted writes say which request they served".into(),
                    n => {
                        let writes = count(n + self.named.len() as u64, "accepted write");
                        format!("{writes} that named their requests, no request twice").into()
                    }
                };
            }
            if self.again + self.answered == 0 {
                return "no request was repeated or answered".into();
            }
            let (again, answers) = (count(self.again, "repeated request"), count(self.answered, "answer"));
            format!("{again} and {answers}, each request with one number").into()
        });
        Finding { holds, could_fail: self.again + self.answered + self.compared > 0 || !holds, detail }
    }
}
