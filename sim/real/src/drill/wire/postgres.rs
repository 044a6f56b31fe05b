//! PostgreSQL's protocol, 3.0 ("Message Flow"): frames of a letter, a length that counts itself, and what the letter says. The
//! first message has no letter.

use crate::proxy::{Answer, Watch};
use std::collections::BTreeMap;

/// The longest statement that is looked at, in bytes.
const STATEMENT_MAX: usize = 64 * 1024;
/// Requests for TLS, for GSS encryption, and to cancel ("Message Formats").
const BEFORE_START: [u32; 3] = [80_877_103, 80_877_104, 80_877_102];

/// One connection.
pub struct Frames {
    table: String,
    sent: Reader,
    answered: Reader,
    prepared: BTreeMap<Vec<u8>, Does>,
    /// In a transaction that was begun by a statement.
    inside: bool,
    /// That transaction has written.
    written: bool,
}

/// What a statement does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Does {
    begins: bool,
    writes: bool,
    commits: bool,
    ends: bool,
}

/// Frames under way.
struct Reader {
    /// Whether frames have a letter.
    lettered: bool,
    /// What has been seen of the frame, at most so much as is looked at.
    frame: Vec<u8>,
    /// How long what has been seen of it is.
    length: usize,
}

impl Reader {
    fn new(lettered: bool) -> Reader {
        Reader { lettered, frame: Vec::new(), length: 0 }
    }

    /// Takes bytes up to the end of a frame, if it is among them. Returns how many, and the frame.
    fn take(&mut self, bytes: &[u8]) -> (usize, Option<Vec<u8>>) {
        let head = if self.lettered { 5 } else { 4 };
        let missing = head - self.length.min(head);
        let first = missing.min(bytes.len());
        self.frame.extend_from_slice(&bytes[..first]);
        self.length += first;
        if self.length < head {
            return (first, None);
        }
        let size = u32::from_be_bytes(self.frame[head - 4..head].try_into().unwrap_or_default()) as usize;
        let whole = size.max(4) + head - 4;
        let rest = (whole - self.length).min(bytes.len() - first);
        let room = STATEMENT_MAX.saturating_sub(self.frame.len()).min(rest);
        self.frame.extend_from_slice(&bytes[first..first + room]);
        self.length += rest;
        if self.length < whole {
            return (first + rest, None);
        }
        self.length = 0;
        (first + rest, Some(std::mem::take(&mut self.frame)))
    }
}

impl Frames {
    pub fn new(table: &str) -> Frames {
        Frames {
            table: bare(table),
            sent: Reader::new(false),
            answered: Reader::new(true),
            prepared: BTreeMap::new(),
            inside: false,
            written: false,
        }
    }

    /// Whether the statement makes a write take effect: alone, or by committing a transaction that has written.
    fn effect(&mut self, does: Does) -> bool {
        let inside = self.inside || does.begins;
        self.written = does.writes || (self.written && self.inside);
        let effect = self.written && (!inside || does.commits);
        self.inside = inside && !does.commits && !does.ends;
        self.written &= self.inside;
        effect
    }

    fn is_effect(&mut self, frame: &[u8]) -> bool {
        if !self.sent.lettered {
            let code = frame.get(4..8).and_then(|code| code.try_into().ok()).map(u32::from_be_bytes);
            self.sent.lettered = code.is_some_and(|code| !BEFORE_START.contains(&code));
            return false;
        }
        let mut parts = frame.get(5..).unwrap_or_default().split(|byte| *byte == 0);
        match frame[0] {
            b'Q' => {
                let does = Does::of(parts.next().unwrap_or_default(), &self.table);
                self.effect(does)
            }
            b'P' => {
                let (name, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                self.prepared.insert(name.to_vec(), Does::of(text, &self.table));
                false
            }
            b'B' => {
                let (_portal, name) = (parts.next(), parts.next().unwrap_or_default());
                let does = self.prepared.get(name).copied().unwrap_or_default();
                self.effect(does)
            }
            _ => false,
        }
    }
}

impl Watch for Frames {
    fn sent(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut found, mut at) = (None, 0);
        while at < bytes.len() {
            // 0 if the frame began in earlier bytes.
            let began = if self.sent.length == 0 { at } else { 0 };
            let (taken, frame) = self.sent.take(&bytes[at..]);
            at += taken;
            if frame.is_some_and(|frame| self.is_effect(&frame)) {
                found = found.or(Some(began));
            }
        }
        self.answered = Reader::new(true);
        found
    }

    fn answered(&mut self, bytes: &[u8]) -> Option<Answer> {
        let mut at = 0;
        while at < bytes.len() {
            let (taken, frame) = self.answered.take(&bytes[at..]);
            at += taken;
            let Some(frame) = frame else { continue };
            match frame[0] {
                b'E' => return Some(Answer::Refused),
                b'C' => {
                    let tag = String::from_utf8_lossy(&frame[5..]);
                    let tag = tag.trim_end_matches('\0');
                    let nothing = tag == "ROLLBACK" || tag.ends_with(" 0");
                    return Some(if nothing { Answer::Refused } else { Answer::Given });
                }
                _ => {}
            }
        }
        None
    }
}

/// The last part of a name, without quotation marks.
fn bare(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).trim_matches('"').to_ascii_lowercase()
}

impl Does {
    /// What the text of one or more statements does to the table.
    fn of(text: &[u8], table: &str) -> Does {
        let text = String::from_utf8_lossy(text).to_ascii_lowercase();
        text.split(';').map(|statement| Does::one(statement, table)).fold(Does::default(), |all, one| Does {
            begins: all.begins || one.begins,
            writes: all.writes || one.writes,
            commits: all.commits || one.commits,
            ends: all.ends || one.ends,
        })
    }

    fn one(statement: &str, table: &str) -> Does {
        let without: String =
            statement.lines().map(|line| line.split("--").next().unwrap_or("")).collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = without
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .filter(|word| !word.is_empty())
            .collect();
        let first = words.first().copied().unwrap_or_default();
        let changes = |place: &usize| {
            let before = place.checked_sub(1).and_then(|before| words.get(before)).copied();
            ["insert", "update", "delete", "merge"].contains(&words[*place])
                && !matches!(before, Some("for" | "key" | "do" | "then" | "on"))
        };
        let writes = match first {
            "insert" | "update" | "delete" | "merge" | "truncate" => true,
            "copy" => words.contains(&"from"),
            "with" => (0..words.len()).any(|place| changes(&place)),
            _ => false,
        };
        Does {
            begins: first == "begin" || (first == "start" && words.get(1) == Some(&"transaction")),
            writes: writes && words.contains(&table),
            commits: (first == "commit" || first == "end") && !words.contains(&"prepared"),
            ends: (first == "rollback" && !words.contains(&"to")) || first == "abort",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(letter: u8, rest: &[u8]) -> Vec<u8> {
        [&[letter][..], &(rest.len() as u32 + 4).to_be_bytes(), rest].concat()
    }

    fn says(text: &str) -> Vec<u8> {
        frame(b'Q', &[text.as_bytes(), b"\0"].concat())
    }

    fn started() -> Frames {
        let mut frames = Frames::new("public.\"Invoices\"");
        let tls = [8u32.to_be_bytes(), 80_877_103u32.to_be_bytes()].concat();
        let start = [&17u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), b"user\0me\0\0"].concat();
        assert_eq!((frames.sent(&tls), frames.sent(&start)), (None, None));
        assert!(frames.sent.lettered);
        frames
    }

    #[test]
    fn statements_are_found_wherever_they_begin() {
        let mut frames = started();
        let (read, write) = (says("SELECT * FROM invoices FOR UPDATE"), says("INSERT INTO Invoices VALUES (1)"));
        assert_eq!(frames.sent(&[read.clone(), write.clone()].concat()), Some(read.len()));
        let found: Vec<_> = write.iter().map(|byte| frames.sent(&[*byte])).collect();
        assert_eq!((found.iter().flatten().count(), found.last()), (1, Some(&Some(0))));
    }

    #[test]
    fn what_only_looks_like_a_write_is_none() {
        for read in [
            "SELECT * FROM invoices WHERE deleted_at IS NULL AND updated_at > now()",
            "INSERT INTO orders VALUES (1)",
            "COPY invoices TO STDOUT",
            "WITH locked AS (SELECT id FROM invoices FOR UPDATE) SELECT * FROM locked",
            "-- insert into invoices\nSELECT 1",
            "ROLLBACK",
        ] {
            assert_eq!(started().sent(&says(read)), None, "{read}");
        }
        for write in [
            "WITH fenced AS (UPDATE fence SET token = 7 RETURNING token) INSERT INTO invoices SELECT token FROM fenced",
            "  delete from public.invoices where id = 1",
            "COPY invoices FROM STDIN",
            "TRUNCATE invoices",
            "BEGIN; INSERT INTO invoices VALUES (1); COMMIT",
        ] {
            assert_eq!(started().sent(&says(write)), Some(0), "{write}");
        }
    }

    #[test]
    fn of_a_transaction_it_is_the_commit() {
        let mut frames = started();
        for statement in ["BEGIN", "SELECT 1", "INSERT INTO invoices VALUES (1)", "SELECT 2", "ROLLBACK TO SAVEPOINT a"]
        {
            assert_eq!(frames.sent(&says(statement)), None, "{statement}");
        }
        assert_eq!(frames.sent(&says("COMMIT")), Some(0));
        for statement in ["BEGIN", "INSERT INTO invoices VALUES (1)", "ROLLBACK", "COMMIT"] {
            assert_eq!(frames.sent(&says(statement)), None, "{statement}");
        }
    }

    #[test]
    fn a_prepared_statement_writes_when_it_is_bound() {
        let mut frames = started();
        let parse = frame(b'P', b"s1\0UPDATE invoices SET paid = true\0\0\0");
        let bind = |name: &[u8]| frame(b'B', &[b"\0", name, b"\0\0\0\0\0\0\0"].concat());
        assert_eq!(frames.sent(&parse), None);
        assert_eq!(frames.sent(&bind(b"s1")), Some(0));
        assert_eq!(frames.sent(&bind(b"s2")), None);
        assert_eq!(frames.sent(&frame(b'P', b"s1\0SELECT 1\0\0\0")), None);
        assert_eq!(frames.sent(&bind(b"s1")), None);
    }

    #[test]
    fn the_answer_is_its_tag_or_an_error() {
        let answer = |bytes: &[u8]| started().answered(bytes);
        let tag = |tag: &str| frame(b'C', &[tag.as_bytes(), b"\0"].concat());
        assert_eq!(answer(&tag("INSERT 0 1")), Some(Answer::Given));
        assert_eq!(answer(&tag("COMMIT")), Some(Answer::Given));
        assert_eq!(answer(&tag("INSERT 0 0")), Some(Answer::Refused));
        assert_eq!(answer(&tag("ROLLBACK")), Some(Answer::Refused));
        assert_eq!(answer(&[frame(b'2', b""), frame(b'E', b"SERROR\0\0")].concat()), Some(Answer::Refused));
        assert_eq!(answer(&frame(b'2', b"")), None);
    }
}
