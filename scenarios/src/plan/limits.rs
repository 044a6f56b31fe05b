//! How much a plan may ask for.

/// Furthest that a wall clock may be off: a year, milliseconds.
pub const OFFSET_MAX_MS: u64 = 366 * 24 * 3600 * 1000;
/// A clock may run at half to one and a half of true time, parts per million.
pub const PPM_MAX: u64 = 500_000;
/// Most candidates.
pub const CANDIDATES_MAX: usize = 64;
pub(super) const CLIENTS_MAX: u16 = 1000;
/// Most requests, or reads, a second.
pub const RATE_MAX: u64 = 1_000_000;
pub(super) const FAULTS_MAX: usize = 1000;
pub(super) const NAME_MAX: usize = 32;
/// Longest one-way latency: a minute, microseconds.
pub(super) const LATENCY_MAX_US: u64 = 60_000_000;
/// Widest link, million bits a second.
pub const BANDWIDTH_MAX_MBPS: u64 = 1_000_000;

/// One sentence when something is wrong.
pub(super) type Checked = Result<(), String>;

/// Refuses a value outside of a range.
pub(super) fn range(what: &str, value: u64, low: u64, high: u64) -> Checked {
    if (low..=high).contains(&value) { Ok(()) } else { Err(format!("{what} is {value}; it must be {low} to {high}")) }
}
