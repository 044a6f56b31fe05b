//! Messages between members, and their encoding: numbers take eight bytes, little-endian; variable-length data is
//! prefixed by its length.

use protocols::history::GrantEnd;
use std::sync::Arc;

/// Increases with every election.
pub type Term = u64;
/// An entry's place in the log, from 1.
pub type Index = u64;

/// An entry of the log. The first entry of a leader's term has no data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The term in which it was proposed.
    pub term: Term,
    /// The command for the state machine.
    pub data: Arc<[u8]>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A request for a vote; with `pre`, whether the member would vote.
    Vote {
        /// The candidate's term.
        term: Term,
        pre: bool,
        /// The candidate's last entry.
        last: (Index, Term),
    },
    /// The answer to [`Message::Vote`].
    Voted {
        /// The voter's term; or the candidate's, if the voter would vote.
        term: Term,
        /// As in the request.
        pre: bool,
        granted: bool,
    },
    /// The leader's message: `entries` follow the entry `prev`.
    Append {
        term: Term,
        /// The entry before the first one.
        prev: (Index, Term),
        /// The leader's commit index.
        commit: Index,
        /// The round of reads that an answer confirms.
        read: u64,
        entries: Vec<Entry>,
    },
    /// The answer to [`Message::Append`].
    Appended {
        term: Term,
        /// Whether the follower's log matches the leader's.
        success: bool,
        /// The last matching index; if there is no match, the next index to try.
        index: Index,
        /// As in the request.
        read: u64,
    },
    /// A follower forwards a proposal to the leader.
    Propose(Arc<[u8]>),
    /// A follower requests a read, under this name.
    AskRead(u64),
    /// The read may proceed from this index on.
    ReadAt(u64, Index),
}

/// Encodes a message.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// A flag or a kind.
    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    /// How an entry ends a candidate's leadership, for the history; a single server would know it from the request.
    pub fn why(&mut self, why: GrantEnd) -> &mut Self {
        self.byte(why as u8)
    }

    /// Bytes, prefixed by their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Decodes a message. Methods return `None` for malformed bytes.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }

    /// A flag or a kind.
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

    /// Bytes prefixed by their length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    pub fn entry(&mut self) -> Option<Entry> {
        Some(Entry { term: self.number()?, data: self.bytes()?.into() })
    }
}

impl Message {
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
