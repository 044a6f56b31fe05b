//! What an advice goes by.

/// What a service lives through.
#[derive(Clone, PartialEq, Debug)]
pub struct Situation {
    /// Pauses of the leader that were seen, milliseconds, in rising order.
    pub pauses_ms: Vec<f64>,
    /// The time in which they were, milliseconds.
    pub pauses_over_ms: f64,
    /// How often a leader died.
    pub crashes: u64,
    /// In what time, milliseconds.
    pub crashes_over_ms: f64,
    /// How long after its election a new leader is of no use yet, milliseconds: caches, queues, connections.
    pub warm_up_ms: f64,
    /// The share of time in which nobody needs to lead, 0 to 1.
    pub may_be_dark: f64,
}
