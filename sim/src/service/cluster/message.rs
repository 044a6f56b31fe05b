//! What members say to each other, and the bytes of it: numbers have eight bytes, lowest first; what has a length is
//! preceded by it.

use protocols::history::GrantEnd;
use std::sync::Arc;

/// Grows with every election.
pub type Term = u64;
/// An entry's place in the log, from 1.
pub type Index = u64;

/// One entry of the log; one without data is the first of a leader's term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The term in which it was made.
    pub term: Term,
    /// What the state machine is to do.
    pub data: Arc<[u8]>,
}

/// A message between two members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Vote for me; or, with `pre`, would you?
    Vote {
        /// The term that it stands for.
        term: Term,
        /// It only asks.
        pre: bool,
        /// Its last entry.
        last: (Index, Term),
    },
    /// The answer.
    Voted {
        /// The voter's; the one that was asked about, when it would.
        term: Term,
        /// As asked.
        pre: bool,
        /// Yes.
        granted: bool,
    },
    /// I lead; these follow the entry `prev`.
    Append {
        /// The leader's.
        term: Term,
        /// The entry before the first.
        prev: (Index, Term),
        /// Up to where the log is committed.
        commit: Index,
        /// The round of reads that an answer confirms.
        read: u64,
        /// Entries.
        entries: Vec<Entry>,
    },
    /// The answer.
    Appended {
        /// The follower's.
        term: Term,
        /// Does its log go with the leader's?
        success: bool,
        /// Up to where; or where to try next.
        index: Index,
        /// As asked.
        read: u64,
    },
    /// A follower passes on what was proposed to it.
    Propose(Arc<[u8]>),
    /// A follower wants to read, and calls it so.
    AskRead(u64),
    /// It may, from this index on.
    ReadAt(u64, Index),
}

/// Bytes under construction.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// A number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// A flag, or a kind.
    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    /// How a leadership of candidates has ended that an entry ends: for the history, where one server would know who asks.
    pub fn why(&mut self, why: GrantEnd) -> &mut Self {
        self.byte(why as u8)
    }

    /// Bytes, and how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Bytes that are read; `None` of any of these: they make no sense.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }

    /// A flag, or a kind.
    pub fn byte(&mut self) -> Option<u8> {
        let (head, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*head)
    }

    /// How a leadership has ended.
    pub fn why(&mut self) -> Option<GrantEnd> {
        let all = [GrantEnd::Expired, GrantEnd::Released, GrantEnd::Taken, GrantEnd::Lost];
        let byte = self.byte()?;
        all.into_iter().find(|why| *why as u8 == byte)
    }

    /// Bytes, of which it is said how many they are.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    /// An entry.
    pub fn entry(&mut self) -> Option<Entry> {
        Some(Entry { term: self.number()?, data: self.bytes()?.into() })
    }
}

impl Message {
    /// Its bytes.
    pub fn encode(&self, to: &mut Writer) {
        match self {
            Message::Vote { term, pre, last } => {
                to.byte(0).number(*term).byte(u8::from(*pre)).number(last.0).number(last.1);
            }
            Message::Voted { term, pre, granted } => {
                to.byte(1).number(*term).byte(u8::from(*pre)).byte(u8::from(*granted));
            }
            Message::Append { term, prev, commit, read, entries } => {
                to.byte(2).number(*term).number(prev.0).number(prev.1).number(*commit).number(*read);
                to.number(entries.len() as u64);
                for entry in entries {
                    to.number(entry.term).bytes(&entry.data);
                }
            }
            Message::Appended { term, success, index, read } => {
                to.byte(3).number(*term).byte(u8::from(*success)).number(*index).number(*read);
            }
            Message::Propose(data) => drop(to.byte(4).bytes(data)),
            Message::AskRead(read) => drop(to.byte(5).number(*read)),
            Message::ReadAt(read, index) => drop(to.byte(6).number(*read).number(*index)),
        }
    }

    /// The message of these bytes.
    pub fn decode(from: &mut Reader) -> Option<Message> {
        Some(match from.byte()? {
            0 => {
                let (term, pre) = (from.number()?, from.byte()? == 1);
                Message::Vote { term, pre, last: (from.number()?, from.number()?) }
            }
            1 => Message::Voted { term: from.number()?, pre: from.byte()? == 1, granted: from.byte()? == 1 },
            2 => {
                let (term, prev) = (from.number()?, (from.number()?, from.number()?));
                let (commit, read, count) = (from.number()?, from.number()?, from.number()?);
                let entries = (0..count).map(|_| from.entry()).collect::<Option<Vec<_>>>()?;
                Message::Append { term, prev, commit, read, entries }
            }
            3 => {
                let (term, success) = (from.number()?, from.byte()? == 1);
                Message::Appended { term, success, index: from.number()?, read: from.number()? }
            }
            4 => Message::Propose(from.bytes()?.into()),
            5 => Message::AskRead(from.number()?),
            6 => Message::ReadAt(from.number()?, from.number()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let entry = |term, data: &[u8]| Entry { term, data: data.into() };
        let entries = vec![entry(1, b""), entry(3, b"put")];
        for message in [
            Message::Vote { term: 4, pre: true, last: (7, 3) },
            Message::Voted { term: 4, pre: false, granted: true },
            Message::Append { term: 4, prev: (5, 1), commit: 5, read: 9, entries },
            Message::Appended { term: 4, success: true, index: 7, read: 9 },
            Message::Propose(b"put".as_slice().into()),
            Message::AskRead(11),
            Message::ReadAt(11, 7),
        ] {
            let mut bytes = Writer::default();
            message.encode(&mut bytes);
            assert_eq!(Message::decode(&mut Reader(&bytes.0)), Some(message));
            let short = &bytes.0[..bytes.0.len() - 1];
            assert_eq!(Message::decode(&mut Reader(short)), None);
        }
    }
}
