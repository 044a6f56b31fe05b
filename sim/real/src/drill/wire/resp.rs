//! Redis' protocol (RESP): commands are arrays of strings.

use crate::{
    drill::audit::redis::{Does, Scripts, does},
    proxy::{Answer, Watch},
};

/// The longest command that is looked at, in bytes.
const COMMAND_MAX: usize = 1024 * 1024;

/// The commands of one connection.
pub struct Commands {
    prefix: String,
    scripts: Scripts,
    /// Of a command under way.
    begun: Vec<u8>,
    /// Between MULTI and EXEC.
    queues: bool,
    /// A write is queued.
    queued: bool,
}

impl Commands {
    pub fn new(prefix: &str, scripts: Scripts) -> Commands {
        Commands { prefix: prefix.to_owned(), scripts, begun: Vec::new(), queues: false, queued: false }
    }

    /// Whether this command makes a write take effect.
    fn writes(&mut self, words: &[String]) -> bool {
        match words.first().map(|name| name.to_ascii_lowercase()).as_deref() {
            Some("multi") => (self.queues, self.queued) = (true, false),
            Some("discard") => (self.queues, self.queued) = (false, false),
            Some("exec") => {
                self.queues = false;
                return std::mem::take(&mut self.queued);
            }
            _ => {}
        }
        let writes = match does(words, &self.prefix) {
            Does::Writes => true,
            Does::Runs => words.get(1).is_some_and(|script| self.scripts.have(script)),
            Does::Perhaps | Does::Nothing => false,
        };
        self.queued |= writes && self.queues;
        writes && !self.queues
    }
}

impl Watch for Commands {
    fn sent(&mut self, bytes: &[u8]) -> Option<usize> {
        let before = self.begun.len();
        self.begun.extend_from_slice(bytes);
        let (mut at, mut found) = (0, None);
        while let Some((words, length)) = command(&self.begun[at..]) {
            if self.writes(&words) {
                // 0 if it began in earlier bytes.
                found = found.or(Some(at.saturating_sub(before)));
            }
            at += length;
        }
        self.begun.drain(..at);
        // Something else than commands, or a value that is too long.
        if self.begun.len() > COMMAND_MAX || self.begun.first().is_some_and(|first| *first != b'*') {
            self.begun.clear();
        }
        found
    }

    fn answered(&mut self, bytes: &[u8]) -> Option<Answer> {
        let nothing = [&b"-"[..], b":0\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n"];
        // A script may refuse in words of its own; what it has written, MONITOR knows.
        let refused = nothing.iter().any(|nothing| bytes.starts_with(nothing));
        (!bytes.is_empty()).then_some(if refused { Answer::Refused } else { Answer::Given })
    }
}

/// The words of the command that these bytes begin with, and its length; `None` if it is not whole, or none.
fn command(bytes: &[u8]) -> Option<(Vec<String>, usize)> {
    let line = |from: usize, mark: u8| {
        let rest = bytes.get(from..)?;
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        let number = std::str::from_utf8(rest.get(..end)?.strip_prefix(&[mark])?).ok()?.parse::<usize>().ok()?;
        Some((number, from + end + 2))
    };
    let (count, mut at) = line(0, b'*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let (length, start) = line(at, b'$')?;
        let end = start.checked_add(length)?;
        words.push(String::from_utf8_lossy(bytes.get(start..end)?).into_owned());
        at = end + 2;
        bytes.get(end..at)?;
    }
    Some((words, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Vec<u8> {
        let words: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        format!("*{}\r\n{words}", words.matches('$').count()).into_bytes()
    }

    fn commands() -> Commands {
        Commands::new("invoice", Scripts::default())
    }

    #[test]
    fn a_write_is_found_wherever_it_begins() {
        let (read, write) = (said(&["GET", "invoice:1"]), said(&["SET", "invoice:1", "paid"]));
        assert_eq!(commands().sent(&read), None);
        assert_eq!(commands().sent(&said(&["SET", "lock", "invoice"])), None);
        assert_eq!(commands().sent(&said(&["SET", "invoice", "x", "NX"])), None);
        assert_eq!(commands().sent(&[read.clone(), write.clone()].concat()), Some(read.len()));
        let mut commands = commands();
        let found: Vec<_> = write.iter().map(|byte| commands.sent(&[*byte])).collect();
        assert_eq!(found.iter().flatten().count(), 1);
        assert_eq!(found.last(), Some(&Some(0)));
        assert_eq!(commands.sent(&write), Some(0));
    }

    #[test]
    fn of_a_transaction_it_is_what_carries_it_out() {
        let mut commands = commands();
        assert_eq!(commands.sent(&said(&["MULTI"])), None);
        assert_eq!(commands.sent(&said(&["SET", "invoice:1", "paid"])), None);
        assert_eq!(commands.sent(&said(&["EXEC"])), Some(0));
        assert_eq!(commands.sent(&said(&["EXEC"])), None);
        assert_eq!(commands.sent(&said(&["EVAL", "return 1", "0"])), None, "a script that has never written");
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        let answered = |bytes: &[u8]| commands().answered(bytes);
        assert_eq!(answered(b"-ERR stale\r\n"), Some(Answer::Refused));
        assert_eq!(answered(b"*-1\r\n"), Some(Answer::Refused));
        assert_eq!(answered(b"+OK\r\n"), Some(Answer::Given));
        assert_eq!(answered(b"$6\r\nfenced\r\n"), Some(Answer::Given));
    }
}
