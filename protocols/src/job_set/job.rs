//! A set's elements.

/// A job, which becomes due at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Job {
    /// Its due time, milliseconds since the set's origin.
    pub due_ms: u64,
    pub id: u64,
}
