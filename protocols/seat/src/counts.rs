//! What has happened to a seat since the process began: for dashboards.

use crate::ended::Ended;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The upper ends of the classes of answers, milliseconds.
pub(crate) const BUCKETS_MS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) elections: AtomicU64,
    pub(crate) renewals: AtomicU64,
    pub(crate) renewal_failures: AtomicU64,
    pub(crate) service_failures: AtomicU64,
    pub(crate) rejections: AtomicU64,
    /// By the index of [`Ended::ALL`].
    pub(crate) endings: [AtomicU64; Ended::ALL.len()],
    /// The end of the belief by the monotonic clock, nanoseconds; 0 if there is none.
    pub(crate) deadline: AtomicU64,
    /// When the belief was last renewed by the wall clock, milliseconds since the Unix epoch; 0 before the first time.
    pub(crate) renewed_at_ms: AtomicU64,
    /// The answers of each class, and above all classes.
    pub(crate) answers: [AtomicU64; BUCKETS_MS.len() + 1],
    /// How long all answers took, nanoseconds.
    pub(crate) answers_took: AtomicU64,
}

impl Counts {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    /// Counts an answer that took so many nanoseconds.
    pub(crate) fn answered(&self, took: u64) {
        let class = BUCKETS_MS.partition_point(|end_ms| end_ms * 1_000_000 < took);
        if let Some(class) = self.answers.get(class) {
            Counts::add(class);
        }
        self.answers_took.fetch_add(took, Relaxed);
    }

    pub(crate) fn ended(&self, why: Ended) {
        if let Some(counter) = self.endings.get(why as usize) {
            Counts::add(counter);
        }
    }

    pub(crate) fn believes_no_more(&self) {
        self.deadline.store(0, Relaxed);
    }
}
