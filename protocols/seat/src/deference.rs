//! Which member is to lead if it can.

/// How a member leaves a vacant seat to those that are preferred, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deference {
    /// For how long this one does; zero if it does not.
    pub(crate) own: u64,
    /// How long who has resigned keeps away, so that whoever defers leads before it.
    pub(crate) longest: u64,
}

impl Deference {
    /// Whoever has deferred does so again when it has stood for so many leases: a leader that dies or fails again and again
    /// must not have it defer each time, and a dead leader's lease takes three at most.
    pub(crate) const STEADY: u64 = 5;

    /// A lease is longer than it takes to lead in a seat that is given back.
    pub(crate) fn new(preferred: &[String], member: &str, lease: u64) -> Self {
        let behind = preferred.iter().position(|name| name == member).unwrap_or(preferred.len());
        let leases = |count: usize| lease.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX));
        // One more, for winning twice.
        let longest = if preferred.is_empty() { 0 } else { leases(preferred.len() + 1) };
        Deference { own: leases(behind), longest }
    }
}
