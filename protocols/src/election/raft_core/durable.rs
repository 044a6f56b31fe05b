//! What a server keeps on disk (figure 2, "persistent state"): its term, its vote and its log. The log holds nothing but the
//! no-op of each term's leader, so that an entry is its term, and terms rise along the log.

use super::message::{Index, Term};
use crate::types::NodeId;

/// The state that survives a loss of power.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Durable {
    pub(super) term: Term,
    /// For whom this server has voted in the term; a candidate votes for itself.
    pub(super) voted: Option<NodeId>,
    /// The entries' terms; the entry of index 1 is the first.
    pub(super) log: Vec<Term>,
}

const NOBODY: u16 = u16::MAX;
const HEAD_BYTES: usize = 10;

impl Durable {
    /// The bytes: term, vote, then the log; little-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 * self.log.len());
        bytes.extend(self.term.to_le_bytes());
        bytes.extend(self.voted.map_or(NOBODY, |node| node.0).to_le_bytes());
        self.log.iter().for_each(|term| bytes.extend(term.to_le_bytes()));
        bytes
    }

    /// The state in these bytes; `None` when they are nothing that [`Durable::encode`] wrote.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, log) = bytes.split_at_checked(HEAD_BYTES)?;
        let term = Term::from_le_bytes(head.get(..8)?.try_into().ok()?);
        let voted = u16::from_le_bytes(head.get(8..)?.try_into().ok()?);
        let entries = log.chunks(8).map(|entry| Some(Term::from_le_bytes(entry.try_into().ok()?)));
        let log = entries.collect::<Option<Vec<_>>>()?;
        let rising = log.windows(2).all(|pair| pair[0] < pair[1]) && log.last().is_none_or(|last| *last <= term);
        rising.then_some(Durable { term, voted: Some(voted).filter(|v| *v != NOBODY).map(NodeId), log })
    }

    pub(super) fn last_index(&self) -> Index {
        self.log.len() as Index
    }

    pub(super) fn last_term(&self) -> Term {
        self.term_at(self.last_index()).unwrap_or(0)
    }

    /// The term of an entry, 0 before the first; `None` beyond the log's end.
    pub(super) fn term_at(&self, index: Index) -> Option<Term> {
        match index {
            0 => Some(0),
            index => self.log.get(index as usize - 1).copied(),
        }
    }

    /// Is a log that ends like this at least as up to date as ours? (§5.4.1)
    pub(super) fn is_up_to_date(&self, last_index: Index, last_term: Term) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }

    /// Makes the log go on with these entries after `prev_index`; cuts off what disagrees with them, and nothing else
    /// (figure 2, AppendEntries, receiver 3 and 4). True when something was cut off.
    pub(super) fn append(&mut self, prev_index: Index, entries: &[Term]) -> bool {
        for (place, term) in entries.iter().enumerate() {
            let index = prev_index as usize + place;
            match self.log.get(index) {
                Some(own) if own == term => {}
                found => {
                    let cut = found.is_some();
                    self.log.truncate(index);
                    self.log.extend(&entries[place..]);
                    return cut;
                }
            }
        }
        false
    }
}
