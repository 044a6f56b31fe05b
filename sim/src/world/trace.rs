//! The trace of everything the world did. Only its running hash is kept, and its text on request.

use std::io::Write;
use xxhash_rust::xxh3::Xxh3;

/// The number of bytes hashed at once.
const BUFFERED: usize = 8 << 10;
/// The size of an event: its time and three words.
const EVENT: usize = 32;

/// The running hash over all events, and their text on request.
pub struct Trace {
    hasher: Xxh3,
    buffer: Vec<u8>,
    count: u64,
    text: Option<Box<dyn Write + Send>>,
    text_error: Option<std::io::Error>,
    /// The processes' names, by place in the topology.
    names: Vec<String>,
    sealed: bool,
}

impl Trace {
    /// An empty trace; `text` receives one line per event, with these process names.
    pub fn new(text: Option<Box<dyn Write + Send>>, names: Vec<String>) -> Self {
        let buffer = Vec::with_capacity(BUFFERED);
        Trace { hasher: Xxh3::new(), buffer, count: 0, text, text_error: None, names, sealed: false }
    }

    /// Records an event at true time `t`: the words determine it completely, the line is for people.
    #[inline]
    pub fn note(&mut self, t: u64, words: [u64; 3], line: impl FnOnce() -> String) {
        if self.sealed {
            return;
        }
        self.count += 1;
        let mut event = [0; EVENT];
        for (word, place) in [t, words[0], words[1], words[2]].iter().zip(event.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.buffer.extend_from_slice(&event);
        if self.buffer.len() >= BUFFERED {
            self.drain();
        }
        if self.text.is_some() {
            self.write(t, &line());
        }
    }

    #[cold]
    fn write(&mut self, t: u64, line: &str) {
        let line = named(line, &self.names);
        let Some(text) = &mut self.text else { return };
        if let Err(error) = writeln!(text, "{:>6}.{:09} {line}", t / 1_000_000_000, t % 1_000_000_000) {
            self.text_error.get_or_insert(error);
        }
    }

    #[inline(never)]
    fn drain(&mut self) {
        self.hasher.update(&self.buffer);
        self.buffer.clear();
    }

    /// The number of events.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Accepts no more events: what tasks do during teardown is not part of the run.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// The hash over all events and their number, in hex, and any error in writing the text.
    pub fn finish(&mut self) -> (String, Option<std::io::Error>) {
        self.drain();
        self.hasher.update(&self.count.to_le_bytes());
        if let Some(text) = &mut self.text
            && let Err(error) = text.flush()
        {
            self.text_error.get_or_insert(error);
        }
        (format!("{:032x}", self.hasher.digest128()), self.text_error.take())
    }
}

/// A line with the processes' names in place of their numbers: `n2` for `NodeId(1)`.
fn named(line: &str, names: &[String]) -> String {
    const PLACE: &str = "NodeId(";
    let (mut text, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(start) = rest.find(PLACE) {
        let (before, place) = (&rest[..start], &rest[start + PLACE.len()..]);
        let Some((number, after)) = place.split_once(')') else { break };
        text += before;
        match number.parse::<usize>().ok().and_then(|number| names.get(number)) {
            Some(name) => text += name,
            None => text += &rest[start..rest.len() - after.len()],
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn processes_go_by_their_names() {
        let names = ["n1", "n2"].map(str::to_owned);
        assert_eq!(named("boot NodeId(1), Some(NodeId(0))", &names), "boot n2, Some(n1)");
        assert_eq!(named("NodeId(7) NodeId(", &names), "NodeId(7) NodeId(");
    }
}
