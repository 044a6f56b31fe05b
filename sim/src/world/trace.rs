//! The trace: everything the world did. Only its running hash is kept, and its text when somebody asks for it.

use std::io::Write;
use xxhash_rust::xxh3::Xxh3;

const BUFFERED: usize = 1024;

/// The running hash over every event, and the text of it on request.
pub struct Trace {
    hasher: Xxh3,
    buffer: Vec<u64>,
    count: u64,
    text: Option<Box<dyn Write + Send>>,
    text_error: Option<std::io::Error>,
    sealed: bool,
}

impl Trace {
    /// An empty trace; `text` receives a line per event.
    pub fn new(text: Option<Box<dyn Write + Send>>) -> Self {
        let buffer = Vec::with_capacity(BUFFERED + 8);
        Trace { hasher: Xxh3::new(), buffer, count: 0, text, text_error: None, sealed: false }
    }

    /// Records one event at true time `t`: four words that say all there is to it, and a line for people.
    #[inline]
    pub fn note(&mut self, t: u64, words: [u64; 3], line: impl FnOnce() -> String) {
        if self.sealed {
            return;
        }
        self.count += 1;
        self.buffer.extend_from_slice(&[t, words[0], words[1], words[2]]);
        if self.buffer.len() >= BUFFERED {
            self.drain();
        }
        if self.text.is_some() {
            self.write(t, &line());
        }
    }

    #[cold]
    fn write(&mut self, t: u64, line: &str) {
        let Some(text) = &mut self.text else { return };
        if let Err(error) = writeln!(text, "{:>6}.{:09} {line}", t / 1_000_000_000, t % 1_000_000_000) {
            self.text_error.get_or_insert(error);
        }
    }

    fn drain(&mut self) {
        let mut bytes = [0u8; 8 * (BUFFERED + 8)];
        for (word, place) in self.buffer.iter().zip(bytes.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.hasher.update(&bytes[..self.buffer.len() * 8]);
        self.buffer.clear();
    }

    /// How many events there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes no more events: what tasks do while they are torn down is not part of the run.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// The hash over every event and their number, in hex.
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
