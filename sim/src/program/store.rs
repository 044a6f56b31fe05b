//! The resource that programs write to.

mod database;
mod own;
mod sequence;

pub use database::{Database, NoSchema};
pub use own::Own;
pub(crate) use own::{FOLDER, Folder};

use crate::{
    service::postgres::server::Server,
    world::{env::SimEnv, with},
};
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
use sequence::Sequence;
use std::{pin::Pin, sync::Arc};

const SEQUENCE: Resource = Resource(0);

/// What is on the store's disk, and how it is reached.
#[derive(Clone)]
pub enum Store {
    Sequence(Sequence),
    Database(Arc<Server>),
    /// A program of the user's own.
    Own(Arc<Begin>),
}

/// Runs a process of the store to its end.
pub type Begin = dyn Fn(NodeId) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

impl Store {
    /// An empty sequence, or this database.
    pub fn new(fencing: Fencing, database: Option<&Database>) -> Store {
        match database {
            None => Store::Sequence(Sequence::new(fencing)),
            Some(database) => Store::Database(database.server()),
        }
    }

    /// Serves until the process ends.
    pub async fn serve(self, env: SimEnv) {
        match self {
            Store::Sequence(sequence) => sequence.serve(env).await,
            Store::Database(server) => database::serve(server, env).await,
            Store::Own(begin) => begin(env.node).await,
        }
    }
}

/// What was written, and who is known to have written it.
struct Written {
    ledgers: Ledgers,
    count: u64,
}

impl Written {
    fn new(fencing: Fencing) -> Written {
        let mut checks = fencing.checks();
        checks.rules.seal = false;
        Written { ledgers: vec![AnyLedger::new(checks)], count: 0 }
    }

    fn seq(&self) -> u64 {
        self.ledgers[0].seq()
    }

    /// A write of this process on this connection: the ledger's answer, of which the judge is told.
    fn write(&mut self, (node, conn): (NodeId, u32), token: u64) -> Option<Message> {
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
