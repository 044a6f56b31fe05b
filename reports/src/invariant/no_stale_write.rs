//! No stale write is accepted.
//!
//! **Formula.** A write is *stale* if its token is below the highest that has sealed its resource, had a write accepted
//! there, or been refused by it: a resource that refuses a token knows a higher one. Without tokens, it is stale if an
//! incarnation elected later has sealed the resource or had a write accepted; in a log without elections, if one that
//! the store first saw later has. No stale write is accepted.
//!
//! **Could fail** if a stale write reached the store.
//!
//! **Source.** The project's fencing rules 1 and 2; Kleppmann, "How to do distributed locking", 2016, "Making the lock safe
//! with fencing".

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kind, Kinds, Violations};
use crate::{
    freshness::Freshness,
    said::{At, sentence},
    words::{count, grouped},
};
use protocols::{
    history::UNKNOWN_SEQ,
    message::WriteVerdict,
    types::{Incarnation, Resource},
};

pub const ENTRY: Entry = Entry {
    name: "no_stale_write",
    about: "No write is accepted after a newer leader has sealed the resource or written to it.",
    class: Class::Safety,
    only_defects: false,
    new: |header| Box::new(NoStaleWrite { freshness: Freshness::new(header), ..NoStaleWrite::default() }),
};

#[derive(Default)]
struct NoStaleWrite {
    freshness: Freshness,
    stale: u64,
    accepted: Violations<Violation>,
}

struct Violation {
    resource: Resource,
    incarnation: Incarnation,
    seq: u64,
    highest: Option<u64>,
}

impl Invariant for NoStaleWrite {
    fn wants(&self) -> Kinds {
        Kinds::APPLY.and(Kinds::SEAL).and(Kinds::ELECTED)
    }

    fn observe(&mut self, event: &Event) {
        if !self.freshness.observe(event) {
            return;
        }
        let Kind::Apply { node, write, verdict, .. } = &event.kind else { return };
        self.stale += 1;
        if *verdict == WriteVerdict::Ok {
            let incarnation = write.incarnation(*node);
            let (resource, seq, highest) = (write.resource, write.seq, self.freshness.highest(write.resource));
            self.accepted.add(event.t_us, Violation { resource, incarnation, seq, highest });
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.accepted.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let stale = count(self.stale, "stale write");
        let violated = self.accepted.first.as_ref().map(|(t_us, v)| {
            let past = match v.highest {
                None => "a newer leader".to_owned(),
                Some(token) => format!("token {token}"),
            };
            let who = ending.names.incarnation(v.incarnation);
            let resource = ending.names.resource(v.resource);
            let what = if v.seq == UNKNOWN_SEQ { "a write".to_owned() } else { format!("seq {}", v.seq) };
            sentence!["at ", At(*t_us), format!(" {resource} accepted {what} of {who} after {past} had taken over")]
        });
        let detail = match violated {
            Some(violated) => {
                let (accepted, first) = match self.accepted.count {
                    1 => ("1 was accepted".to_owned(), ""),
                    n => (format!("{} were accepted", grouped(n)), "the first "),
                };
                sentence![format!("{stale} reached the store, {accepted}: {first}"), violated]
            }
            None if self.stale == 0 => "no stale write reached the store".into(),
            None if self.stale == 1 => "1 stale write reached the store, and was refused".into(),
            None => format!("{stale} reached the store, all refused").into(),
        };
        Finding { holds: self.accepted.count == 0, could_fail: self.stale > 0, detail }
    }
}
