//! A file that grows, and the copy of its whole lines.

use crate::terminal::exit::Stop;
use ::logs::Tail;
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, TryRecvError},
    thread,
};

/// How much of standard input is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// The most that is read of one file before the others are looked at, in bytes.
const TURN_MAX: usize = 16 * 1024 * 1024;

/// A temporary folder; removed in the end.
pub struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// It cannot be made.
    pub fn new() -> Result<Folder, Stop> {
        let folder = std::env::temp_dir().join(format!("fencepost-follow-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| Stop::harness(format!("cannot make {}: {e}", folder.display())))?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // At worst, a temporary folder is left behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Where the lines come from.
enum From {
    File(Tail),
    /// Standard input, by a thread that waits for it.
    Input(Receiver<Vec<u8>>),
    /// The end of standard input.
    Ended,
}

/// A file that grows.
pub struct Source {
    path: PathBuf,
    from: From,
    copy: PathBuf,
    to: File,
    /// The beginning of a line of standard input.
    begun: Vec<u8>,
    lines: bool,
}

impl Source {
    /// Opens `path`, or standard input for `-`, to be copied into the folder.
    ///
    /// # Errors
    /// It cannot be read, or is compressed.
    pub fn open(path: &Path, folder: &Folder, place: usize) -> Result<Source, Stop> {
        let unread = |e: io::Error| Stop::usage(format!("cannot read {}: {e}", path.display()));
        let from = if path == Path::new("-") {
            From::Input(input())
        } else {
            let mut file = File::open(path).map_err(unread)?;
            let mut magic = [0; 4];
            let head = file.read(&mut magic).map_err(unread)?;
            if magic[..head].starts_with(&[0x1f, 0x8b]) || magic == [0x28, 0xb5, 0x2f, 0xfd] {
                let why = format!("{} is compressed, so nothing is added to it; leave --follow out", path.display());
                return Err(Stop::usage(why));
            }
            From::File(Tail::open(path).map_err(unread)?)
        };
        // Its name may stand for the node.
        let own = folder.0.join(place.to_string());
        let copy = own.join(path.file_name().unwrap_or_else(|| "-".as_ref()));
        let made = fs::create_dir_all(&own).and_then(|()| File::create(&copy));
        let to = made.map_err(|e| Stop::harness(format!("cannot write {}: {e}", copy.display())))?;
        Ok(Source { path: path.to_owned(), from, copy, to, begun: Vec::new(), lines: false })
    }

    pub fn copy(&self) -> &Path {
        &self.copy
    }

    pub fn has_lines(&self) -> bool {
        self.lines
    }

    /// Whether nothing will be added to it.
    pub fn has_ended(&self) -> bool {
        matches!(self.from, From::Ended)
    }

    /// Copies the lines that were added. Returns whether there were any.
    ///
    /// # Errors
    /// It cannot be read, or the copy cannot be written.
    pub fn read(&mut self) -> Result<bool, Stop> {
        let (mut added, mut read) = (false, 0);
        while read < TURN_MAX {
            let whole = match &mut self.from {
                From::Ended => break,
                From::Input(lines) => match lines.try_recv() {
                    Ok(chunk) => {
                        read += chunk.len();
                        self.begun.extend(chunk);
                        let end = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                        let rest = self.begun.split_off(end);
                        std::mem::replace(&mut self.begun, rest)
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        added |= self.end_line()?;
                        self.from = From::Ended;
                        break;
                    }
                },
                From::File(tail) => {
                    let unread = |e: io::Error| Stop::harness(format!("cannot read {}: {e}", self.path.display()));
                    read = TURN_MAX;
                    tail.lines(TURN_MAX).map_err(unread)?
                }
            };
            added |= self.keep(&whole)?;
        }
        Ok(added)
    }

    fn keep(&mut self, lines: &[u8]) -> Result<bool, Stop> {
        self.to.write_all(lines).map_err(|e| Stop::harness(format!("cannot write {}: {e}", self.copy.display())))?;
        self.lines |= !lines.is_empty();
        Ok(!lines.is_empty())
    }

    /// Copies the beginning of a line, since nobody will end it.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn end_line(&mut self) -> Result<bool, Stop> {
        let mut rest = std::mem::take(&mut self.begun);
        if !rest.is_empty() {
            rest.push(b'\n');
        }
        if let From::File(tail) = &mut self.from {
            rest = tail.begun_line();
        }
        self.keep(&rest)
    }
}

/// Standard input as it comes.
fn input() -> Receiver<Vec<u8>> {
    let (to, lines) = mpsc::channel();
    thread::spawn(move || {
        let (mut from, mut chunk) = (io::stdin(), vec![0; CHUNK]);
        while let Ok(length @ 1..) = from.read(&mut chunk) {
            if to.send(chunk[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    lines
}

/// A sentence about copies, with the names of the files.
pub fn with_names(text: &str, sources: &[Source]) -> String {
    let named = |text: String, source: &Source| {
        text.replace(&source.copy.display().to_string(), &source.path.display().to_string())
    };
    sources.iter().fold(text.to_owned(), named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    fn add(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    #[test]
    fn whole_lines_are_copied_also_from_the_next_file_and_from_one_that_was_cut() {
        let folder = Folder(std::env::temp_dir().join(format!("fencepost-source-{}", std::process::id())));
        fs::create_dir_all(&folder.0).expect("a folder");
        let path = folder.0.join("a.log");
        add(&path, "one\nof a li");
        let mut source = Source::open(&path, &folder, 0).expect("it is there");
        let copied = |source: &Source| fs::read_to_string(source.copy()).expect("a copy");
        assert!(source.read().expect("read") && !source.read().expect("read"));
        assert_eq!(copied(&source), "one\n");
        add(&path, "ne\n");
        assert!(source.read().expect("read"));
        assert_eq!(copied(&source), "one\nof a line\n");
        fs::rename(&path, folder.0.join("a.log.1")).expect("renamed");
        assert!(!source.read().expect("between two names"));
        add(&folder.0.join("a.log.1"), "last of the first");
        add(&path, "next\n");
        assert!(source.read().expect("read"));
        assert_eq!(copied(&source), "one\nof a line\nlast of the first\nnext\n");
        File::create(&path).expect("cut");
        add(&path, "n\n");
        assert!(source.read().expect("read"));
        assert!(copied(&source).ends_with("next\nn\n"));
        assert_eq!(source.copy().file_name(), path.file_name(), "it may stand for the node");
    }
}
