//! A job set on disk: its segments, their index, and a footer that locates the index. Each segment, and the index, has
//! a checksum (XXH3).

use super::segment::{Corrupt, Job, Segment, damaged};
use xxhash_rust::xxh3::xxh3_64;

/// The footer's first word.
const MAGIC: u64 = u64::from_le_bytes(*b"FPjobs-1");
/// The words of an index entry: position, length, number of jobs, first and last job, checksum.
const ENTRY_WORDS: usize = 8;
/// The footer's length, bytes: magic, the index's position, length and checksum.
pub const FOOTER_BYTES: usize = 4 * 8;

/// A range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first byte's position.
    pub at: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// A stored segment's index entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    pub span: Span,
    /// The number of its jobs.
    pub jobs: u32,
    pub first: Job,
    pub last: Job,
    checksum: u64,
}

impl Stored {
    /// Checks the bytes, and makes the segment.
    ///
    /// # Errors
    /// They are not that segment; as one sentence.
    pub fn segment(&self, bytes: Vec<u8>) -> Result<Segment, Corrupt> {
        if xxh3_64(&bytes) != self.checksum || bytes.len() as u64 != self.span.bytes {
            return Err(damaged("its checksum is wrong"));
        }
        Segment::packed(self.jobs, (self.first, self.last), bytes)
    }
}

/// Lays segments out consecutively.
#[derive(Default)]
pub(super) struct Writer {
    index: Vec<u8>,
    at: u64,
}

impl Writer {
    /// Adds a segment to the index; returns its bytes.
    pub(super) fn segment<'s>(&mut self, segment: &'s Segment) -> &'s [u8] {
        let (bytes, first, last) = (segment.bytes(), segment.first(), segment.last());
        let long = bytes.len() as u64;
        let jobs = segment.len() as u64;
        let words = [self.at, long, jobs, first.due_ms, first.id, last.due_ms, last.id, xxh3_64(bytes)];
        self.index.extend(words.into_iter().flat_map(u64::to_le_bytes));
        self.at += long;
        bytes
    }

    pub(super) fn index(self) -> Vec<u8> {
        let footer = [MAGIC, self.at, self.index.len() as u64, xxh3_64(&self.index)];
        let mut bytes = self.index;
        bytes.extend(footer.into_iter().flat_map(u64::to_le_bytes));
        bytes
    }
}

/// The index's position and checksum, according to the footer: the last [`FOOTER_BYTES`] of a file of `file_bytes`.
///
/// # Errors
/// The bytes are not a footer, or point outside the file; as one sentence.
pub fn footer(bytes: &[u8], file_bytes: u64) -> Result<(Span, u64), Corrupt> {
    let words = words(bytes);
    let [MAGIC, at, long, checksum] = words[..] else { return Err(Corrupt("this is no file of jobs".to_owned())) };
    if at.checked_add(long).and_then(|end| end.checked_add(FOOTER_BYTES as u64)) != Some(file_bytes) {
        return Err(Corrupt("the file of jobs does not end where it should".to_owned()));
    }
    Ok((Span { at, bytes: long }, checksum))
}

/// The entries of an index.
///
/// # Errors
/// Its checksum is wrong; as one sentence.
pub fn index(bytes: &[u8], checksum: u64) -> Result<Vec<Stored>, Corrupt> {
    let words = words(bytes);
    if xxh3_64(bytes) != checksum || words.len() % ENTRY_WORDS != 0 {
        return Err(Corrupt("the index of the file of jobs is damaged".to_owned()));
    }
    let entry = |words: &[u64]| Stored {
        span: Span { at: words[0], bytes: words[1] },
        jobs: words[2] as u32,
        first: Job { due_ms: words[3], id: words[4] },
        last: Job { due_ms: words[5], id: words[6] },
        checksum: words[7],
    };
    Ok(words.chunks_exact(ENTRY_WORDS).map(entry).collect())
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
