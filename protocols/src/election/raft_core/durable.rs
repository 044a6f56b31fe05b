//! A server's durable state (figure 2, "persistent state"): its term, its vote and its log. The content of entries is
//! irrelevant to an election, so an entry is its term, and terms never fall along the log.

use super::message::{Index, Term};
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

// The log as far as elections need it: each entry's term. A leader's entries are contiguous, and unless the leader is
// made to append more, a term has only its first entry; so the log is stored as runs of equal terms.

/// The terms of the entries, which never fall.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Log {
    /// Each term with entries, and its last index.
    runs: Vec<(Term, Index)>,
}

/// On disk, this separates a term from the number of its further entries. Only the first run could have term 0.
const MORE: u64 = 0;

impl Log {
    pub(super) fn last_index(&self) -> Index {
        self.runs.last().map_or(0, |(_, end)| *end)
    }

    /// The term of an entry, 0 before the first; `None` beyond the log's end.
    pub(super) fn term_at(&self, index: Index) -> Option<Term> {
        if index == 0 {
            return Some(0);
        }
        let place = self.runs.partition_point(|(_, end)| *end < index);
        self.runs.get(place).map(|(term, _)| *term)
    }

    /// Appends an entry, whose term is no older than the last.
    pub(super) fn push(&mut self, term: Term) {
        let next = self.last_index() + 1;
        match self.runs.last_mut() {
            Some((last, end)) if *last == term => *end = next,
            _ => self.runs.push((term, next)),
        }
    }

    /// The entries after `index`.
    pub(super) fn after(&self, index: Index) -> Vec<Term> {
        let first = self.runs.partition_point(|(_, end)| *end <= index);
        let (mut entries, mut before) = (Vec::new(), index);
        for (term, end) in &self.runs[first..] {
            entries.extend(std::iter::repeat_n(*term, (end - before) as usize));
            before = *end;
        }
        entries
    }

    /// Whether this log begins with all of `other`.
    pub(super) fn starts_with(&self, other: &Log) -> bool {
        let Some(((term, end), whole)) = other.runs.split_last() else { return true };
        let reaches = |(own, last): &(Term, Index)| own == term && last >= end;
        self.runs.starts_with(whole) && self.runs.get(whole.len()).is_some_and(reaches)
    }

    /// Drops everything after `index`.
    pub(super) fn truncate(&mut self, index: Index) {
        let place = self.runs.partition_point(|(_, end)| *end < index);
        self.runs.truncate(place + 1);
        if index == 0 {
            self.runs.clear();
        } else if let Some((_, end)) = self.runs.last_mut() {
            *end = index.min(*end);
        }
    }

    /// The words for the disk: each term, and if it has several entries, how many more.
    pub(super) fn words(&self) -> Vec<u64> {
        let (mut words, mut before) = (Vec::with_capacity(self.runs.len()), 0);
        for (term, end) in &self.runs {
            words.push(*term);
            if end - before > 1 {
                words.extend([MORE, end - before - 1]);
            }
            before = *end;
        }
        words
    }

    /// The log from these words; `None` if [`Log::words`] did not write them.
    pub(super) fn of_words(words: &[u64]) -> Option<Log> {
        let (mut log, mut rest) = (Log::default(), words);
        while let [term, after @ ..] = rest {
            if log.runs.last().is_some_and(|(last, _)| last >= term) {
                return None;
            }
            let (more, after) = match after {
                [MORE, 0, ..] => return None,
                [MORE, more, after @ ..] => (*more, after),
                after => (0, after),
            };
            let end = log.last_index().checked_add(1)?.checked_add(more)?;
            log.runs.push((*term, end));
            rest = after;
        }
        Some(log)
    }
}

#[cfg(test)]
impl From<&[Term]> for Log {
    fn from(terms: &[Term]) -> Log {
        let mut log = Log::default();
        terms.iter().for_each(|term| log.push(*term));
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_of_one_term_are_one_run() {
        let mut log = Log::from(&[1, 1, 1, 4, 6, 6][..]);
        assert_eq!(log.runs, [(1, 3), (4, 4), (6, 6)]);
        assert_eq!((log.term_at(0), log.term_at(3), log.term_at(6), log.term_at(7)), (Some(0), Some(1), Some(6), None));
        assert_eq!((log.after(2), log.after(6)), (vec![1, 4, 6, 6], Vec::new()));
        assert_eq!(log.words(), [1, MORE, 2, 4, 6, MORE, 1]);
        log.truncate(2);
        assert_eq!((log.after(0), log.last_index()), (vec![1, 1], 2));
        log.truncate(9);
        assert_eq!(log.last_index(), 2);
        log.truncate(0);
        assert_eq!(log, Log::default());
    }

    /// Few terms and short, so that one often begins with another.
    fn logs() -> impl Strategy<Value = Log> {
        proptest::collection::vec(1..3u64, 0..5).prop_map(|mut terms| {
            terms.sort_unstable();
            Log::from(&terms[..])
        })
    }

    #[test]
    fn other_words_are_no_log() {
        for words in [&[3, 2][..], &[3, 3], &[3, MORE], &[3, MORE, 0], &[3, MORE, u64::MAX], &[3, MORE, 1, MORE, 1]] {
            assert_eq!(Log::of_words(words), None, "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn a_log_starts_with_what_its_entries_start_with(one in logs(), other in logs()) {
            let entries = |log: &Log| log.after(0);
            prop_assert_eq!(one.starts_with(&other), entries(&one).starts_with(&entries(&other)));
        }

        #[test]
        fn words_say_all_of_a_log(mut terms: Vec<u8>, cut: u8) {
            terms.sort_unstable();
            let terms: Vec<Term> = terms.into_iter().map(Term::from).collect();
            let mut log = Log::from(&terms[..]);
            prop_assert_eq!(&log.after(0), &terms);
            prop_assert_eq!(Log::of_words(&log.words()), Some(log.clone()));
            log.truncate(cut.into());
            prop_assert_eq!(log.after(0), &terms[..usize::from(cut).min(terms.len())]);
            prop_assert_eq!(log.after(3), terms[..log.last_index() as usize].iter().skip(3).copied().collect::<Vec<_>>());
        }
    }
}
