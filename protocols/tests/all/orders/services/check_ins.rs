//! PostgreSQL's rows with the time of the last check-in: read and written in one transaction, under the row's lock.

use super::{Answer, End, Grant, Process, Serves, named, refused, typed};
use protocols::{
    payload::{Opaque, Payload},
    service::postgres::{CheckIn, Reply, Request},
};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CheckIns {
    row: Option<CheckIn>,
    /// Who has the row locked, and by which request.
    locked: Option<(Process, u64)>,
}

impl Serves for CheckIns {
    fn grant(&self, _: u64) -> Option<Grant> {
        let row = self.row.as_ref()?;
        named(&row.holder).map(|name| (name.to_owned(), row.token))
    }

    fn take(&mut self, _: u64, by: Process, number: u64, request: &Opaque) -> Answer {
        match typed(request) {
            Request::Begin { .. } => {
                self.locked = Some((by, number));
                Ok(Reply::CheckIn(self.row.clone()).erase())
            }
            Request::End { put } => {
                // What was asked on an earlier connection is over with that.
                if self.locked.take_if(|(process, begun)| *process == by && *begun < number).is_none() {
                    return refused("no transaction");
                }
                self.row = put.map(|(_, row)| row).or(self.row.take());
                Ok(Reply::Done(true).erase())
            }
            _ => unreachable!("nobody here asks for it"),
        }
    }

    fn is_ready(&self, _: Process, request: &Opaque) -> bool {
        self.locked.is_none() || !matches!(request.get(), Some(Request::Begin { .. }))
    }

    /// The transaction, with its connection: at any time.
    fn ends(&self) -> Vec<End> {
        self.locked.iter().map(|(of, _)| End { at: 0, of: *of, which: 0 }).collect()
    }

    fn end(&mut self, _: u64, _: u64) {
        self.locked = None;
    }
}
