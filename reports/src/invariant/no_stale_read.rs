//! No read returns stale data.
//!
//! **Formula.** A read of the last number, sent after some client had been told number k by the answer to a request or
//! to another read, does not return less than k. (It may miss a write of the newest leader that was accepted but not
//! yet answered: that write is concurrent with the read and can be ordered after it.) Nor is it answered in the name of
//! a leader whose successor, by its token, some client had already been told of: only the newest leader is asked.
//!
//! **Could fail** if an answered read was sent after some client had been told a number.
//!
//! **Memory.** One number per read in flight.
//!
//! **Source.** Linearizability of a register: Herlihy and Wing, "Linearizability: a correctness condition for concurrent
//! objects", TOPLAS 1990. Which leader may answer without asking anybody: Ongaro, "Consensus: Bridging Theory and Practice",
//! 2014, §6.4.1.

use super::{Class, Ending, Entry, Event, Finding, Invariant, Kinds, Violations};
use crate::{
    freshness::{Read, Reads},
    words::{count, grouped},
};
use std::collections::BTreeSet;

pub const ENTRY: Entry = Entry {
    name: "no_stale_read",
    about: "No read returns a number below one that had been returned to a client before the read was sent.",
    class: Class::Safety,
    only_defects: false,
    new: |_| Box::new(NoStaleRead::default()),
};

#[derive(Default)]
struct NoStaleRead {
    reads: Reads,
    /// Answered reads that were sent after some client had been told a number.
    compared: u64,
    answered_by: BTreeSet<protocols::types::NodeId>,
    stale: Violations<Read>,
}

impl Invariant for NoStaleRead {
    fn wants(&self) -> Kinds {
        Kinds::REPLY.and(Kinds::READ_INVOKE).and(Kinds::READ_REPLY)
    }

    fn observe(&mut self, event: &Event) {
        let Some(read) = self.reads.observe(event) else { return };
        self.compared += u64::from(read.known.is_some());
        self.answered_by.insert(read.node);
        if read.is_stale() || read.is_of_former() {
            self.stale.add(event.t_us, read);
        }
    }

    fn violated_us(&self, _: &Ending) -> Option<u64> {
        self.stale.first_us()
    }

    fn finish(&mut self, ending: &Ending) -> Finding {
        let violated = self.stale.sentence(|read| {
            let Read { request, node, seq, known, token, known_token } = read;
            let (request, node) = (ending.names.request(*request), ending.names.node(*node));
            if !read.is_stale() {
                return format!(
                    "{node} answered {request} with token {token}, but that was asked after token {known_token} had been \
                     returned"
                );
            }
            let (seq, known) = (grouped(*seq), grouped(known.unwrap_or(0)));
            format!("{request} read {seq} from {node}, but asked after {known} had been returned")
        });
        let seen = match self.compared {
            0 => "nothing was read".to_owned(),
            n => {
                let nodes = count(self.answered_by.len() as u64, "node");
                format!("{} answered by {nodes}, none stale", count(n, "read"))
            }
        };
        Finding { holds: violated.is_none(), could_fail: self.compared > 0, detail: violated.unwrap_or(seen.into()) }
    }
}
