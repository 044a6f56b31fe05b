//! Packed jobs in order: the first due time, then differences of due times as LEB128, then identifiers, each with as
//! many bits as the longest needs.

use std::fmt;

/// The bytes are not what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Corrupt(pub String);

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Corrupt {}

/// Packed jobs in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    jobs: u32,
    first: Job,
    last: Job,
    bytes: Box<[u8]>,
}

impl Segment {
    /// Packs jobs, which are in order.
    pub fn pack(jobs: &[Job]) -> Segment {
        let (first, last) = (jobs.first().copied().unwrap_or_default(), jobs.last().copied().unwrap_or_default());
        let width = 64 - jobs.iter().fold(0, |all, job| all | job.id).leading_zeros();
        let mut bytes = Vec::with_capacity(jobs.len() * (2 + width as usize / 8) + 16);
        bytes.push(width as u8);
        let mut before = first.due_ms;
        for job in jobs {
            leb128(job.due_ms - before, &mut bytes);
            before = job.due_ms;
        }
        let (mut kept, mut bits) = (0_u128, 0);
        for job in jobs {
            kept |= u128::from(job.id) << bits;
            bits += width;
            while bits >= 8 {
                bytes.push(kept as u8);
                kept >>= 8;
                bits -= 8;
            }
        }
        if bits > 0 {
            bytes.push(kept as u8);
        }
        Segment { jobs: jobs.len() as u32, first, last, bytes: bytes.into() }
    }

    /// A segment packed elsewhere: its number of jobs, with the first and the last.
    ///
    /// # Errors
    /// The bytes do not match; as one sentence.
    pub fn packed(jobs: u32, (first, last): (Job, Job), bytes: Vec<u8>) -> Result<Segment, Corrupt> {
        let segment = Segment { jobs, first, last, bytes: bytes.into() };
        let all = segment.unpack()?;
        let ends = (all.first().copied().unwrap_or_default(), all.last().copied().unwrap_or_default());
        if ends != (first, last) || !all.is_sorted() {
            return Err(damaged("its jobs are not those of the index"));
        }
        Ok(segment)
    }

    /// The jobs, in order.
    ///
    /// # Errors
    /// The bytes end too early, or are impossible; as one sentence.
    pub fn unpack(&self) -> Result<Vec<Job>, Corrupt> {
        let (&width, mut rest) = self.bytes.split_first().ok_or_else(|| damaged("it is empty"))?;
        let width = u32::from(width);
        // Every job takes at least a byte, so a larger count is wrong.
        if width > 64 || self.jobs as usize > rest.len() {
            return Err(damaged("its head is wrong"));
        }
        let mut jobs = Vec::with_capacity(self.jobs as usize);
        let mut due_ms = self.first.due_ms;
        for _ in 0..self.jobs {
            let more = take_leb128(&mut rest).ok_or_else(|| damaged("a due time is wrong"))?;
            due_ms = due_ms.checked_add(more).ok_or_else(|| damaged("a due time is wrong"))?;
            jobs.push(Job { due_ms, id: 0 });
        }
        if rest.len() as u64 != (u64::from(width) * u64::from(self.jobs)).div_ceil(8) {
            return Err(damaged("its length is wrong"));
        }
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let (mut kept, mut bits, mut bytes) = (0_u128, 0, rest.iter());
        for job in &mut jobs {
            while bits < width {
                kept |= u128::from(*bytes.next().unwrap_or(&0)) << bits;
                bits += 8;
            }
            job.id = kept as u64 & mask;
            kept >>= width;
            bits -= width;
        }
        Ok(jobs)
    }

    pub fn first(&self) -> Job {
        self.first
    }

    pub fn last(&self) -> Job {
        self.last
    }

    pub fn len(&self) -> usize {
        self.jobs as usize
    }

    pub fn is_empty(&self) -> bool {
        self.jobs == 0
    }

    /// The packed form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) fn damaged(what: &str) -> Corrupt {
    Corrupt(format!("a segment of jobs is damaged: {what}"))
}

fn leb128(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_leb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The tenth byte has room for a single bit.
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

// A set's elements.

/// A job, which becomes due at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Job {
    /// Its due time, milliseconds since the set's origin.
    pub due_ms: u64,
    pub id: u64,
}
