//! A file that grows: its whole lines, also from the next file of that name, and from one that was cut.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// A file that grows.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: File,
    /// The beginning of a line.
    begun: Vec<u8>,
}

impl Tail {
    /// From the file's start.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<Tail> {
        Ok(Tail { path: path.to_owned(), file: File::open(path)?, begun: Vec::new() })
    }

    /// From where it ends now.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn at_end(path: &Path) -> io::Result<Tail> {
        let mut tail = Tail::open(path)?;
        tail.file.seek(SeekFrom::End(0))?;
        Ok(tail)
    }

    /// The whole lines that were added, with their ends; not many more than `at_most` bytes at once.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn lines(&mut self, at_most: usize) -> io::Result<Vec<u8>> {
        let (mut lines, mut read, mut chunk) = (Vec::new(), 0, vec![0; CHUNK]);
        while read < at_most {
            let length = self.file.read(&mut chunk)?;
            if length == 0 {
                if !self.is_another()? {
                    break;
                }
                lines.extend(self.begun_line());
                continue;
            }
            read += length;
            self.begun.extend(&chunk[..length]);
            if let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') {
                let rest = self.begun.split_off(end + 1);
                lines.append(&mut self.begun);
                self.begun = rest;
            }
        }
        Ok(lines)
    }

    /// The beginning of a line, with an end, since nobody will end it.
    pub fn begun_line(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.begun);
        if !rest.is_empty() {
            rest.push(b'\n');
        }
        rest
    }

    /// Whether there is another file of that name now, which is read from its start, or the file was cut and begins anew.
    fn is_another(&mut self) -> io::Result<bool> {
        let (Ok(now), before) = (fs::metadata(&self.path), self.file.metadata()?) else {
            // Between two names.
            return Ok(false);
        };
        if now.ino() != before.ino() || now.dev() != before.dev() {
            match File::open(&self.path) {
                Ok(next) => self.file = next,
                Err(_) => return Ok(false),
            }
        } else if before.len() < self.file.stream_position()? {
            self.file.seek(SeekFrom::Start(0))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
