//! Finds the leader's writes in the bytes that a member sends to the store.

use super::{
    audit::redis::{SCRIPTS, WRITES},
    file::Store,
};
use crate::proxy::Find;
use scenarios::triggers::contains;
use std::collections::BTreeSet;

/// The longest statement that is looked at, in bytes.
const STATEMENT_MAX: usize = 64 * 1024;
/// PostgreSQL's requests for TLS, for GSS encryption, and to cancel (protocol 3.0, "Message Formats").
const BEFORE_START: [u32; 3] = [80_877_103, 80_877_104, 80_877_102];

/// Finds writes on one new connection to the store.
pub fn finder(store: &Store) -> Find {
    match store {
        Store::Postgres { table, .. } => {
            let mut frames = Postgres::new(table);
            Box::new(move |bytes| frames.find(bytes))
        }
        Store::Redis { prefix, .. } => {
            let prefix = prefix.clone();
            Box::new(move |bytes| redis(bytes, &prefix))
        }
        Store::Http { .. } => Box::new(|bytes| bytes.starts_with(b"POST ").then_some(0)),
    }
}

/// A command that writes such a key, and begins with these bytes: clients send a command, or a pipeline, at once.
fn redis(bytes: &[u8], prefix: &str) -> Option<usize> {
    let head = &bytes[..bytes.len().min(STATEMENT_MAX)];
    if !contains(head, format!("\r\n{prefix}").as_bytes()) {
        return None;
    }
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    WRITES.iter().chain(&SCRIPTS).any(|name| text.contains(&format!("\r\n{name}\r\n"))).then_some(0)
}

/// The frames of one connection's requests (PostgreSQL, "Message Flow"): a letter, a length that counts itself, and what
/// the letter says. The first message has no letter.
struct Postgres {
    table: String,
    started: bool,
    /// Of the frame under way: what has been seen of it, and where it began in the bytes at hand.
    frame: Vec<u8>,
    length: usize,
    /// Prepared statements that write.
    writes: BTreeSet<Vec<u8>>,
}

impl Postgres {
    fn new(table: &str) -> Postgres {
        Postgres {
            table: table.to_ascii_lowercase(),
            started: false,
            frame: Vec::new(),
            length: 0,
            writes: BTreeSet::new(),
        }
    }

    /// Where the first message begins that writes to the table: 0 if it began before these bytes.
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut found, mut at, mut began) = (None, 0, 0);
        while at < bytes.len() {
            if self.length == 0 {
                began = at;
            }
            let head = if self.started { 5 } else { 4 };
            if self.frame.len() < head {
                self.frame.push(bytes[at]);
                self.length += 1;
                at += 1;
                if self.frame.len() < head {
                    continue;
                }
            }
            let size = u32::from_be_bytes(self.frame[head - 4..head].try_into().unwrap_or_default()) as usize;
            let whole = size.max(4) + head - 4;
            let taken = (whole - self.length).min(bytes.len() - at);
            let room = STATEMENT_MAX.saturating_sub(self.frame.len()).min(taken);
            self.frame.extend_from_slice(&bytes[at..at + room]);
            self.length += taken;
            at += taken;
            if self.length == whole {
                let frame = std::mem::take(&mut self.frame);
                self.length = 0;
                if self.writes_by(&frame) {
                    found = found.or(Some(began));
                }
            }
        }
        found
    }

    fn writes_by(&mut self, frame: &[u8]) -> bool {
        if !self.started {
            let code = frame.get(4..8).and_then(|code| code.try_into().ok()).map(u32::from_be_bytes);
            self.started = code.is_some_and(|code| !BEFORE_START.contains(&code));
            return false;
        }
        let mut parts = frame[5..].split(|byte| *byte == 0);
        match frame[0] {
            b'Q' => self.is_write(parts.next().unwrap_or_default()),
            b'P' => {
                let (name, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                if self.is_write(text) {
                    self.writes.insert(name.to_vec());
                } else {
                    self.writes.remove(name);
                }
                false
            }
            b'B' => {
                let (_portal, name) = (parts.next(), parts.next().unwrap_or_default());
                self.writes.contains(name)
            }
            _ => false,
        }
    }

    fn is_write(&self, statement: &[u8]) -> bool {
        let text = String::from_utf8_lossy(statement).to_ascii_lowercase();
        let words = ["insert", "update", "delete", "merge", "copy"];
        text.contains(&self.table) && words.iter().any(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(letter: u8, rest: &[u8]) -> Vec<u8> {
        [&[letter][..], &(rest.len() as u32 + 4).to_be_bytes(), rest].concat()
    }

    fn started(table: &str) -> Postgres {
        let mut postgres = Postgres::new(table);
        let tls = [8u32.to_be_bytes(), 80_877_103u32.to_be_bytes()].concat();
        let start = [&17u32.to_be_bytes()[..], &196_608u32.to_be_bytes(), b"user\0me\0\0"].concat();
        assert_eq!((postgres.find(&tls), postgres.find(&start)), (None, None));
        assert!(postgres.started);
        postgres
    }

    #[test]
    fn statements_are_found_wherever_they_begin() {
        let mut postgres = started("invoices");
        let read = frame(b'Q', b"SELECT * FROM invoices\0");
        let write = frame(b'Q', b"INSERT INTO Invoices VALUES (1)\0");
        assert_eq!(postgres.find(&read), None);
        assert_eq!(postgres.find(&[read.clone(), write.clone()].concat()), Some(read.len()));
        // Byte by byte, it has begun before its last byte.
        let last = write.iter().map(|byte| postgres.find(&[*byte])).collect::<Vec<_>>();
        assert_eq!(last.iter().filter_map(|found| *found).collect::<Vec<_>>(), [0]);
        assert_eq!(last.last(), Some(&Some(0)));
        let other = frame(b'Q', b"INSERT INTO orders VALUES (1)\0");
        assert_eq!(postgres.find(&other), None);
    }

    #[test]
    fn a_prepared_statement_writes_when_it_is_bound() {
        let mut postgres = started("invoices");
        let parse = frame(b'P', b"s1\0UPDATE invoices SET paid = true\0\0\0");
        let bind = |name: &[u8]| frame(b'B', &[b"\0", name, b"\0\0\0\0\0\0\0"].concat());
        assert_eq!(postgres.find(&parse), None);
        assert_eq!(postgres.find(&bind(b"s1")), Some(0));
        assert_eq!(postgres.find(&bind(b"s2")), None);
        assert_eq!(postgres.find(&frame(b'P', b"s1\0SELECT 1\0\0\0")), None);
        assert_eq!(postgres.find(&bind(b"s1")), None);
    }

    #[test]
    fn redis_commands_are_found_by_key() {
        let command =
            |words: &[&str]| words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len())).collect::<String>().into_bytes();
        assert_eq!(redis(&command(&["SET", "invoice:1", "paid"]), "invoice"), Some(0));
        assert_eq!(redis(&command(&["evalsha", "ab", "1", "invoice:1"]), "invoice"), Some(0));
        assert_eq!(redis(&command(&["GET", "invoice:1"]), "invoice"), None);
        assert_eq!(redis(&command(&["SET", "lock", "x"]), "invoice"), None);
    }
}
