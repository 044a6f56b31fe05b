//! What programs have written, and who is known to have written it.

use crate::world::with;
use protocols::{
    fence::{
        ablated::AnyLedger,
        checks::Fencing,
        ledger::Fence,
        store::{self, Ledgers},
    },
    history::Kind,
    message::{Message, Write, WriteVerdict},
    types::{NodeId, Operation, Resource},
};

const SEQUENCE: Resource = Resource(0);

/// What was written, and who is known to have written it.
pub(super) struct Written {
    ledgers: Ledgers,
    count: u64,
}

impl Written {
    pub(super) fn new(fencing: Fencing) -> Written {
        let mut checks = fencing.checks();
        checks.rules.seal = false;
        Written { ledgers: vec![AnyLedger::new(checks)], count: 0 }
    }

    pub(super) fn seq(&self) -> u64 {
        self.ledgers[0].seq()
    }

    /// A write of this process on this connection: the ledger's answer, of which the judge is told.
    pub(super) fn write(&mut self, (node, conn): (NodeId, u32), token: u64) -> Option<Message> {
        self.count += 1;
        let of = with(|world| world.leadership_of(node, conn, token));
        let ledger = &self.ledgers[0];
        let write = Write {
            resource: SEQUENCE,
            operation: Operation::Record,
            generation: of.generation,
            token,
            seq: ledger.seq() + 1,
            read_version: ledger.version(),
            client: node,
            number: self.count,
            payload: None,
        };
        let (mut kind, message) = store::answer(&mut self.ledgers, node, Message::Write(write))?;
        // The store goes by the token that it is shown, the judge by who is known to have shown it.
        if let Kind::Apply { write, .. } = &mut kind {
            write.token = of.token;
        }
        let accepted = matches!(message, Message::Written { verdict: WriteVerdict::Ok, .. });
        with(|world| {
            if world.is_told(node, conn) {
                world.record(Kind::Issue { node, write: Write { token: of.token, ..write } });
            }
            world.record(kind);
            if accepted {
                world.took_effect(of);
            }
        });
        Some(message)
    }
}
