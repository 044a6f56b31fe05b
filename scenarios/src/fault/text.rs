//! Durations and names in words.

use super::Who;

pub(super) fn duration(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", round(ms / 1_000.0)) } else { format!("{} ms", round(ms)) }
}

pub(super) fn us(us: u64) -> String {
    duration(us as f64 / 1_000.0)
}

pub(super) fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// `n1's`, `the followers'`.
pub(super) fn possessive(on: &str) -> String {
    if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
}

/// The plan's wording for a restart.
pub(super) fn restart_after(after_ms: Option<f64>) -> String {
    after_ms.map_or(String::new(), |after_ms| format!(" and restart it after {after_ms} ms"))
}

/// All members of a group, joined by `and`.
pub(super) fn group(group: &[Who]) -> String {
    let words: Vec<&str> = group.iter().map(Who::word).collect();
    words.join(" and ")
}
