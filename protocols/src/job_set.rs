//! Pending jobs by due time: in memory, at a few bytes each, or on disk, from where they are read only as far as
//! needed.
//!
//! Jobs are kept in segments of about [`SEGMENT_JOBS`], in order of due time. A segment is packed ([`segment`]):
//! differences of due times, and identifiers with as many bits as the longest needs. Added jobs wait beside their
//! segment until there are enough of them to repack both. Only the segment that is due is unpacked.
//!
//! A new leader can get its jobs in two ways: it supplies every segment, or it reads only the index ([`layout`]), drops
//! everything behind its cursor ([`JobSet::resume_behind`]), and supplies segments when [`JobSet::take`] misses them.
//! There is no I/O here: the caller reads and writes the bytes.

pub mod layout;
pub mod segment;
#[cfg(test)]
mod tests;

use layout::{Span, Stored};
pub use segment::Job;
use segment::{Corrupt, Segment};

/// The number of jobs in a freshly packed segment; it is split at twice that.
pub const SEGMENT_JOBS: usize = 1 << 16;
/// Added jobs are packed once they are this fraction of a segment's jobs: one eighth.
const ADDED_SHARE: usize = 8;
/// Fewer jobs are not packed.
const ADDED_MIN: usize = 64;

/// The next job, if available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A job, which has been removed from the set.
    Job(Job),
    /// The next job is in these bytes, which must be supplied first.
    Missing(Span),
    /// The set is empty.
    Nothing,
}

#[derive(Debug, Default)]
pub struct JobSet {
    /// In order; all jobs of one piece precede all jobs of the next.
    pieces: Vec<Piece>,
    /// The earliest jobs, in reverse order.
    open: Vec<Job>,
    /// Everything up to this job is done.
    behind: Option<Job>,
    jobs: u64,
}

#[derive(Debug)]
struct Piece {
    packed: Packed,
    added: Vec<Job>,
}

#[derive(Debug)]
enum Packed {
    Here(Segment),
    Stored(Stored),
}

impl Packed {
    fn first(&self) -> Job {
        match self {
            Packed::Here(segment) => segment.first(),
            Packed::Stored(stored) => stored.first,
        }
    }

    fn last(&self) -> Job {
        match self {
            Packed::Here(segment) => segment.last(),
            Packed::Stored(stored) => stored.last,
        }
    }

    fn len(&self) -> usize {
        match self {
            Packed::Here(segment) => segment.len(),
            Packed::Stored(stored) => stored.jobs as usize,
        }
    }
}

impl JobSet {
    pub fn new() -> JobSet {
        JobSet::default()
    }

    /// The jobs listed by an index, none of which has been supplied yet.
    pub fn of_index(stored: Vec<Stored>) -> JobSet {
        let jobs = stored.iter().map(|piece| u64::from(piece.jobs)).sum();
        let piece = |stored| Piece { packed: Packed::Stored(stored), added: Vec::new() };
        JobSet { pieces: stored.into_iter().map(piece).collect(), jobs, ..JobSet::default() }
    }

    /// The number of jobs. After [`JobSet::resume_behind`] it may include finished ones, until their segment is
    /// supplied.
    pub fn len(&self) -> u64 {
        self.jobs
    }

    pub fn is_empty(&self) -> bool {
        self.jobs == 0
    }

    /// The heap memory of the jobs, bytes.
    pub fn heap_bytes(&self) -> usize {
        let of = |piece: &Piece| {
            let packed = if let Packed::Here(segment) = &piece.packed { segment.bytes().len() } else { 0 };
            packed + piece.added.capacity() * size_of::<Job>()
        };
        let pieces: usize = self.pieces.iter().map(of).sum();
        pieces + self.pieces.capacity() * size_of::<Piece>() + self.open.capacity() * size_of::<Job>()
    }

    /// Adds a job. One that is due before the last one taken comes next.
    ///
    /// # Errors
    /// Its segment is damaged; as one sentence.
    pub fn add(&mut self, job: Job) -> Result<(), Corrupt> {
        self.jobs += 1;
        let in_open = self.open.first().is_some_and(|latest| job <= *latest);
        if self.pieces.is_empty() && !in_open {
            self.pieces.push(Piece { packed: Packed::Here(Segment::pack(&[])), added: Vec::new() });
        }
        if in_open {
            let place = self.open.partition_point(|open| *open > job);
            self.open.insert(place, job);
            return if self.open.len() > 2 * SEGMENT_JOBS { self.close() } else { Ok(()) };
        }
        let place = self.pieces.partition_point(|piece| piece.packed.first() <= job).saturating_sub(1);
        let piece = &mut self.pieces[place];
        piece.added.push(job);
        let here = matches!(piece.packed, Packed::Here(_));
        if here && piece.added.len() >= ADDED_MIN.max(piece.packed.len() / ADDED_SHARE) {
            self.pack(place)?;
        }
        Ok(())
    }

    /// Puts the open jobs back into segments.
    fn close(&mut self) -> Result<(), Corrupt> {
        let mut jobs = std::mem::take(&mut self.open);
        jobs.reverse();
        self.pieces.splice(0..0, packed(&jobs));
        Ok(())
    }

    /// Repacks a segment together with its added jobs.
    fn pack(&mut self, place: usize) -> Result<(), Corrupt> {
        let piece = &mut self.pieces[place];
        let Packed::Here(segment) = &piece.packed else { return Ok(()) };
        if piece.added.is_empty() {
            return Ok(());
        }
        let mut jobs = segment.unpack()?;
        jobs.append(&mut piece.added);
        jobs.sort_unstable();
        self.pieces.splice(place..=place, packed(&jobs));
        Ok(())
    }

    /// Marks everything up to and including this job as done, and drops it, except within a segment that has not been
    /// supplied.
    pub fn resume_behind(&mut self, cursor: Job) {
        let done = self.pieces.partition_point(|piece| piece.packed.last() <= cursor);
        let mut ahead = Vec::new();
        for piece in self.pieces.drain(..done) {
            self.jobs -= (piece.packed.len() + piece.added.len()) as u64;
            ahead.extend(piece.added.into_iter().filter(|job| *job > cursor));
        }
        self.jobs += ahead.len() as u64;
        self.open.extend(ahead);
        self.open.sort_unstable_by(|a, b| b.cmp(a));
        self.behind = Some(cursor);
        self.drop_done();
    }

    fn drop_done(&mut self) {
        let Some(behind) = self.behind else { return };
        let left = self.open.partition_point(|job| *job > behind);
        self.jobs -= (self.open.len() - left) as u64;
        self.open.truncate(left);
    }

    /// Removes the job that is due first.
    ///
    /// # Errors
    /// Its segment is damaged; as one sentence.
    pub fn take(&mut self) -> Result<Next, Corrupt> {
        loop {
            if let Some(job) = self.open.pop() {
                self.jobs -= 1;
                return Ok(Next::Job(job));
            }
            let Some(Piece { packed, added }) = self.pieces.first_mut() else { return Ok(Next::Nothing) };
            let mut jobs = match packed {
                Packed::Stored(stored) => return Ok(Next::Missing(stored.span)),
                Packed::Here(segment) => segment.unpack()?,
            };
            jobs.append(added);
            jobs.sort_unstable_by(|a, b| b.cmp(a));
            self.open = jobs;
            self.pieces.remove(0);
            self.drop_done();
        }
    }

    /// Supplies the bytes of a missing segment.
    ///
    /// # Errors
    /// They are not the stored ones; as one sentence.
    pub fn supply(&mut self, span: Span, bytes: Vec<u8>) -> Result<(), Corrupt> {
        for piece in &mut self.pieces {
            if let Packed::Stored(stored) = &piece.packed
                && stored.span == span
            {
                piece.packed = Packed::Here(stored.segment(bytes)?);
                break;
            }
        }
        Ok(())
    }

    /// The missing segments, in order.
    pub fn missing(&self) -> impl Iterator<Item = Span> + '_ {
        self.pieces.iter().filter_map(|piece| match &piece.packed {
            Packed::Stored(stored) => Some(stored.span),
            Packed::Here(_) => None,
        })
    }

    /// Writes the set, segment by segment, with the index last. All segments must have been supplied.
    ///
    /// # Errors
    /// A segment is damaged or missing, or `put` fails.
    pub fn store<E: From<Corrupt>>(&mut self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.close()?;
        for place in (0..self.pieces.len()).rev() {
            self.pack(place)?;
        }
        let mut writer = layout::Writer::default();
        for piece in &self.pieces {
            let Packed::Here(segment) = &piece.packed else {
                return Err(Corrupt("a segment is missing".into()).into());
            };
            put(writer.segment(segment))?;
        }
        put(&writer.index())
    }
}

/// Packs jobs, which are in order, into segments.
fn packed(jobs: &[Job]) -> Vec<Piece> {
    let segments = jobs.len().div_ceil(2 * SEGMENT_JOBS).max(1);
    // As evenly as possible: a split leaves half-full segments with room to grow.
    let each = jobs.len().div_ceil(segments).max(1);
    let piece = |jobs| Piece { packed: Packed::Here(Segment::pack(jobs)), added: Vec::new() };
    jobs.chunks(each).map(piece).collect()
}
