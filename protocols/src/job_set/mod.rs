//! Pending jobs by the time when they are due: as many as fit in memory at a few bytes each, or on disk, and read from there
//! no further than they are needed.
//!
//! Jobs lie in segments of about [`SEGMENT_JOBS`], in order of their due times. A segment is packed
//! ([`segment`]): differences of due times, and identifiers with as many bits as the longest of them has. What is added waits
//! beside its segment until there is enough of it to pack both anew. Only the segment that is due is unpacked.
//!
//! A new leader has two ways to its jobs. It can supply every segment; or it takes the index alone
//! ([`layout`]), drops what lies behind its cursor ([`JobSet::resume_behind`]), and supplies segments as
//! [`JobSet::take`] misses them. No I/O happens here: bytes come from and go to whoever calls.

mod job;
pub mod layout;
pub mod segment;
#[cfg(test)]
mod tests;

pub use job::Job;
use layout::{Span, Stored};
use segment::{Corrupt, Segment};

/// How many jobs a segment has when it was just packed; up to twice that before it is split.
pub const SEGMENT_JOBS: usize = 1 << 16;
/// What is added is packed when it is so many of a segment's jobs: one of eight.
const ADDED_SHARE: usize = 8;
/// Fewer are not worth it.
const ADDED_MIN: usize = 64;

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// This job; it is no longer in the set.
    Job(Job),
    /// It is in these bytes, which have to be supplied first.
    Missing(Span),
    /// There is none.
    Nothing,
}

/// Pending jobs.
#[derive(Debug, Default)]
pub struct JobSet {
    /// In order; every job of one is before every job of the next.
    pieces: Vec<Piece>,
    /// The earliest jobs, the first of them last.
    open: Vec<Job>,
    /// Everything up to this one is done.
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
    /// An empty set.
    pub fn new() -> JobSet {
        JobSet::default()
    }

    /// The jobs that an index tells of, none of which is here yet.
    pub fn of_index(stored: Vec<Stored>) -> JobSet {
        let jobs = stored.iter().map(|piece| u64::from(piece.jobs)).sum();
        let piece = |stored| Piece { packed: Packed::Stored(stored), added: Vec::new() };
        JobSet { pieces: stored.into_iter().map(piece).collect(), jobs, ..JobSet::default() }
    }

    /// How many jobs there are. After [`JobSet::resume_behind`] some of those may be done, until their segment is supplied.
    pub fn len(&self) -> u64 {
        self.jobs
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.jobs == 0
    }

    /// What the jobs take on the heap, bytes.
    pub fn heap_bytes(&self) -> usize {
        let of = |piece: &Piece| {
            let packed = if let Packed::Here(segment) = &piece.packed { segment.bytes().len() } else { 0 };
            packed + piece.added.capacity() * size_of::<Job>()
        };
        let pieces: usize = self.pieces.iter().map(of).sum();
        pieces + self.pieces.capacity() * size_of::<Piece>() + self.open.capacity() * size_of::<Job>()
    }

    /// Adds a job. One that is due before what was taken last comes next.
    ///
    /// # Errors
    /// Its segment is damaged: one sentence.
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

    /// Puts the open jobs back among the segments.
    fn close(&mut self) -> Result<(), Corrupt> {
        let mut jobs = std::mem::take(&mut self.open);
        jobs.reverse();
        self.pieces.splice(0..0, packed(&jobs));
        Ok(())
    }

    /// Packs a segment and what was added to it anew.
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

    /// Everything up to and with this job is done: drops it, as far as that can be told without a segment that is not here.
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

    /// Takes the job that is due first out of the set.
    ///
    /// # Errors
    /// Its segment is damaged: one sentence.
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

    /// The bytes of a segment that was missing.
    ///
    /// # Errors
    /// They are not what was stored: one sentence.
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

    /// What is not here yet, in order.
    pub fn missing(&self) -> impl Iterator<Item = Span> + '_ {
        self.pieces.iter().filter_map(|piece| match &piece.packed {
            Packed::Stored(stored) => Some(stored.span),
            Packed::Here(_) => None,
        })
    }

    /// Writes everything that is here, segment by segment, and the index last; a set of which something is missing is refused.
    ///
    /// # Errors
    /// A segment is damaged or missing, or `put` says no.
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

/// Jobs in order as segments.
fn packed(jobs: &[Job]) -> Vec<Piece> {
    let segments = jobs.len().div_ceil(2 * SEGMENT_JOBS).max(1);
    // As even as can be: what was split grows again from the middle of what a segment holds.
    let each = jobs.len().div_ceil(segments).max(1);
    let piece = |jobs| Piece { packed: Packed::Here(Segment::pack(jobs)), added: Vec::new() };
    jobs.chunks(each).map(piece).collect()
}
