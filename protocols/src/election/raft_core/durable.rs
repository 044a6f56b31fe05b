//! A server's durable state (figure 2, "persistent state"): its term, its vote and its log. The content of entries is
//! irrelevant to an election, so an entry is its term, and terms never fall along the log.

use super::{
    log::Log,
    message::{Index, Term},
};
use crate::types::NodeId;

/// The state that survives a loss of power.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Durable {
    pub(super) term: Term,
    /// This server's vote in the term; a candidate votes for itself.
    pub(super) voted: Option<NodeId>,
    /// The entries; the first has index 1.
    pub(super) log: Log,
}

const NOBODY: u16 = u16::MAX;
const HEAD_BYTES: usize = 10;

impl Durable {
    /// The bytes: term, vote, then the log; little-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let words = self.log.words();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 8 * words.len());
        bytes.extend(self.term.to_le_bytes());
        bytes.extend(self.voted.map_or(NOBODY, |node| node.0).to_le_bytes());
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    }

    /// Decodes the state; `None` if [`Durable::encode`] did not write these bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, words) = bytes.split_at_checked(HEAD_BYTES)?;
        let term = Term::from_le_bytes(head.get(..8)?.try_into().ok()?);
        let voted = u16::from_le_bytes(head.get(8..)?.try_into().ok()?);
        let words = words.chunks(8).map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        let log = Log::of_words(&words.collect::<Option<Vec<_>>>()?)?;
        let state = Durable { term, voted: Some(voted).filter(|v| *v != NOBODY).map(NodeId), log };
        (state.last_term() <= term).then_some(state)
    }

    pub(super) fn last_index(&self) -> Index {
        self.log.last_index()
    }

    pub(super) fn last_term(&self) -> Term {
        self.term_at(self.last_index()).unwrap_or(0)
    }

    /// See [`Log::term_at`].
    pub(super) fn term_at(&self, index: Index) -> Option<Term> {
        self.log.term_at(index)
    }

    /// Whether a log with this end is at least as up to date as ours (§5.4.1).
    pub(super) fn is_up_to_date(&self, last_index: Index, last_term: Term) -> bool {
        (last_term, last_index) >= (self.last_term(), self.last_index())
    }

    /// Makes the log continue with these entries after `prev_index`; truncates only what conflicts with them (figure 2,
    /// AppendEntries, receiver 3 and 4). Returns whether it truncated anything.
    pub(super) fn append(&mut self, prev_index: Index, entries: &[Term]) -> bool {
        let agrees = |(index, term): &(Index, &Term)| self.log.term_at(*index) == Some(**term);
        let known = (prev_index + 1..).zip(entries).take_while(agrees).count();
        let Some(others) = entries.get(known..).filter(|others| !others.is_empty()) else { return false };
        let from = prev_index + known as Index;
        let cut = self.last_index() > from;
        self.log.truncate(from);
        others.iter().for_each(|term| self.log.push(*term));
        cut
    }
}
