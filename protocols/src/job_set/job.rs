//! What a set is made of.

/// A job: what is done at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Job {
    /// When it is due, milliseconds since whatever the set counts from.
    pub due_ms: u64,
    /// Which it is.
    pub id: u64,
}
