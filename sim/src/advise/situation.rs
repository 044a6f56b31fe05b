//! The input to a recommendation.

/// The pauses, crashes and target of a service.
#[derive(Clone, PartialEq, Debug)]
pub struct Situation {
    /// Observed pauses of the leader, in milliseconds, ascending.
    pub pauses_ms: Vec<f64>,
    /// The time over which they were observed, in milliseconds.
    pub pauses_over_ms: f64,
    /// How many leaders crashed.
    pub crashes: u64,
    /// The time over which they crashed, in milliseconds.
    pub crashes_over_ms: f64,
    /// How long a new leader needs to warm up (caches, queues, connections), in milliseconds.
    pub warm_up_ms: f64,
    /// The share of time that may pass without a leader, 0 to 1.
    pub may_be_dark: f64,
}
