//! Limits on a plan's values.

/// Longest run, lease and fault, milliseconds.
pub use protocols::parameter::LONGEST_MS;

/// Largest offset of a wall clock: a year, milliseconds.
pub const OFFSET_MAX_MS: u64 = 366 * 24 * 3600 * 1000;
/// A clock may run at half to one and a half times true time, parts per million.
pub const PPM_MAX: u64 = 500_000;
pub const CANDIDATES_MAX: usize = 64;
pub(super) const CLIENTS_MAX: u16 = 1000;
/// Most requests, or reads, per second.
pub const RATE_MAX: u64 = 1_000_000;
pub(super) const FAULTS_MAX: usize = 1000;
pub(super) const BRANCHES_MAX: usize = 1000;
pub(super) const NAME_MAX: usize = 32;
/// Longest one-way latency: a minute, microseconds.
pub(super) const LATENCY_MAX_US: u64 = 60_000_000;
/// Longest delay of a message or a sync by a fault: ten minutes, microseconds.
pub(super) const EXTRA_MAX_US: u64 = 600_000_000;
/// Widest link, millions of bits per second.
pub const BANDWIDTH_MAX_MBPS: u64 = 1_000_000;

/// Why a plan, or the options for one, are invalid: one sentence that names the mistake and what would be valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

/// Errors are one sentence.
pub(super) type Checked = Result<(), String>;

/// Rejects a value outside a range.
pub(super) fn range(what: &str, value: u64, low: u64, high: u64) -> Checked {
    if (low..=high).contains(&value) { Ok(()) } else { Err(format!("{what} is {value}; it must be {low} to {high}")) }
}

pub(super) fn signed(what: &str, value: i64, bound: u64) -> Checked {
    if value.unsigned_abs() <= bound {
        Ok(())
    } else {
        Err(format!("{what} is {value}; it must be -{bound} to {bound}"))
    }
}

/// Times in faults are fractional milliseconds, but no finer than microseconds, so that they survive writing and
/// reading unchanged.
pub(super) fn milliseconds(what: &str, value: f64) -> Checked {
    if !(0.0..=LONGEST_MS as f64).contains(&value) {
        let value = if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") };
        return Err(format!("{what} {value} ms; it must be 0 to {LONGEST_MS}"));
    }
    if (value * 1e3).round() / 1e3 != value {
        return Err(format!("{what} {value} ms; at most three decimals"));
    }
    Ok(())
}

/// At most six decimals, for the same reason.
pub(super) fn probability(value: f64) -> Checked {
    if !(0.0..=1.0).contains(&value) {
        return Err(format!("is {value}; a probability is 0 to 1"));
    }
    if (value * 1e6).round() / 1e6 != value {
        return Err(format!("is {value}; at most six decimals"));
    }
    Ok(())
}
