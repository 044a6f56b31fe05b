//! A table whose rows each record the token that completed them, and the check that goes with it:
//! `UPDATE … WHERE id = $2 AND (processed_by_token IS NULL OR processed_by_token < $1)` (*Leader Election Gone Wrong*,
//! Fix 2).
//!
//! It compares tokens row by row, and so only orders two updates of the same row. It accepts a former leader's update
//! of a row that its successor has not reached, and then the successor's update of that row: both rows are "affected",
//! and both leaders take the job for theirs. It also refuses its own leader's second attempt.

use crate::{message::Write, types::Operation};
use std::collections::BTreeMap;

/// The token that completed each row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rows {
    processed_by_token: BTreeMap<u64, u64>,
}

impl Rows {
    /// Takes a write that completes a row; returns the row's token if that is not lower than the write's. Ignores other
    /// operations.
    pub(super) fn refuses(&mut self, write: &Write) -> Option<u64> {
        let row = write.payload.filter(|_| write.operation == Operation::Complete)?.number.get();
        match self.processed_by_token.get(&row) {
            Some(token) if *token >= write.token => Some(*token),
            _ => {
                self.processed_by_token.insert(row, write.token);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fence::{ablated::AnyLedger, checks::ChargeCheck, ledger::Fence},
        message::WriteVerdict,
        types::{NodeId, Payload, Resource},
    };

    fn completes(ledger: &mut AnyLedger, token: u64, row: u64) -> bool {
        let payload = Payload { number: row.try_into().unwrap(), at_us: row };
        let (resource, client, payload, operation) = (Resource(2), NodeId(0), Some(payload), Operation::Complete);
        let (seq, number) = (ledger.seq() + 1, row);
        let write = Write { resource, operation, generation: 1, token, seq, read_version: 0, client, number, payload };
        ledger.write(NodeId(token as u16), &write) == WriteVerdict::Ok
    }

    #[test]
    fn the_printed_check_lets_a_stale_leader_take_an_untouched_row_and_a_newer_one_overwrite_it() {
        let mut table = AnyLedger::new(ChargeCheck::Row.table());
        assert!(table.seal(NodeId(5), 1, 5) && completes(&mut table, 5, 1));
        // The successor has read that row 2 is pending.
        assert!(table.seal(NodeId(6), 1, 6));
        assert!(completes(&mut table, 5, 2), "its former leader takes the untouched row");
        assert!(completes(&mut table, 6, 2), "and the successor completes it again");
        assert!(!completes(&mut table, 5, 2), "only who comes last is refused");
        assert!(!completes(&mut table, 6, 2), "as is the rightful leader's second try");
    }

    #[test]
    fn a_sealed_table_refuses_what_the_rows_let_in() {
        let mut table = AnyLedger::new(ChargeCheck::Sealed.table());
        assert!(table.seal(NodeId(5), 1, 5) && completes(&mut table, 5, 1));
        assert!(table.seal(NodeId(6), 1, 6));
        assert!(!completes(&mut table, 5, 2));
        assert!(completes(&mut table, 6, 2) && completes(&mut table, 6, 3));
        assert_eq!(table.payload().map(|last| last.number.get()), Some(3), "what is pending begins behind it");
    }
}
