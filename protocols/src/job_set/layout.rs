//! A job set on disk: its segments, an index of them, and a footer that says where the index is. Segments and index have a
//! checksum each (XXH3).

use super::{
    job::Job,
    segment::{Corrupt, Segment, damaged},
};
use xxhash_rust::xxh3::xxh3_64;

/// What the footer begins with.
const MAGIC: u64 = u64::from_le_bytes(*b"FPjobs-1");
/// Words of an index entry: where, how long, how many jobs, the first, the last, checksum.
const ENTRY_WORDS: usize = 8;
/// How long the footer is, bytes: magic, where the index begins, how long it is, its checksum.
pub const FOOTER_BYTES: usize = 4 * 8;

/// Where bytes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// From which byte.
    pub at: u64,
    /// How many.
    pub bytes: u64,
}

/// A segment that is stored, as the index has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Where it is.
    pub span: Span,
    /// How many jobs it has.
    pub jobs: u32,
    /// The first of them.
    pub first: Job,
    /// The last.
    pub last: Job,
    checksum: u64,
}

impl Stored {
    /// The segment that these bytes are.
    ///
    /// # Errors
    /// They are not: one sentence.
    pub fn segment(&self, bytes: Vec<u8>) -> Result<Segment, Corrupt> {
        if xxh3_64(&bytes) != self.checksum || bytes.len() as u64 != self.span.bytes {
            return Err(damaged("its checksum is wrong"));
        }
        Segment::packed(self.jobs, (self.first, self.last), bytes)
    }
}

/// Lays segments out one after the other.
#[derive(Default)]
pub(super) struct Writer {
    index: Vec<u8>,
    at: u64,
}

impl Writer {
    /// The next segment's bytes.
    pub(super) fn segment<'s>(&mut self, segment: &'s Segment) -> &'s [u8] {
        let (bytes, first, last) = (segment.bytes(), segment.first(), segment.last());
        let long = bytes.len() as u64;
        let jobs = segment.len() as u64;
        let words = [self.at, long, jobs, first.due_ms, first.id, last.due_ms, last.id, xxh3_64(bytes)];
        self.index.extend(words.into_iter().flat_map(u64::to_le_bytes));
        self.at += long;
        bytes
    }

    /// The index and the footer.
    pub(super) fn index(self) -> Vec<u8> {
        let footer = [MAGIC, self.at, self.index.len() as u64, xxh3_64(&self.index)];
        let mut bytes = self.index;
        bytes.extend(footer.into_iter().flat_map(u64::to_le_bytes));
        bytes
    }
}

/// Where a footer, the last [`FOOTER_BYTES`] of a file this long, says that the index is, and its checksum.
///
/// # Errors
/// It is no footer, or points out of the file: one sentence.
pub fn footer(bytes: &[u8], file_bytes: u64) -> Result<(Span, u64), Corrupt> {
    let words = words(bytes);
    let [MAGIC, at, long, checksum] = words[..] else { return Err(Corrupt("this is no file of jobs".to_owned())) };
    if at.checked_add(long).and_then(|end| end.checked_add(FOOTER_BYTES as u64)) != Some(file_bytes) {
        return Err(Corrupt("the file of jobs does not end where it should".to_owned()));
    }
    Ok((Span { at, bytes: long }, checksum))
}

/// What an index says.
///
/// # Errors
/// Its checksum is wrong: one sentence.
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
