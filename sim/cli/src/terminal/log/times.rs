//! Times in a log.

use chrono::{DateTime, NaiveDateTime};
use clap::ValueEnum;
use serde_json::Value;

/// What a time counts, where it is a number.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    #[default]
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// How many there are in a second.
    const fn per_second(self) -> u32 {
        match self {
            Unit::S => 1,
            Unit::Ms => 1_000,
            Unit::Us => 1_000_000,
            Unit::Ns => 1_000_000_000,
        }
    }
}

/// Ways to write a time without a zone, which is then taken for UTC: as SQL does, and as ISO 8601 does.
const WITHOUT_ZONE: [&str; 2] = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
/// With a zone such as `+01` or `+0100`, as PostgreSQL writes it.
const WITH_ZONE: [&str; 2] = ["%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z"];

/// A time in microseconds since the log's own zero, or since 1970.
///
/// # Errors
/// It is no time, or before 1970.
pub fn microseconds(time: &Value, unit: Unit) -> Result<u64, String> {
    let no_time =
        || format!("{time} is no time; write it like 2026-11-21T10:00:00.250Z, or as a number of --time-unit");
    match time {
        Value::Number(number) => counted(&number.to_string(), unit).ok_or_else(no_time),
        Value::String(text) => match counted(text, unit) {
            Some(t_us) => Ok(t_us),
            None => u64::try_from(written(text).ok_or_else(no_time)?).map_err(|_| format!("{time} is before 1970")),
        },
        _ => Err(no_time()),
    }
}

/// A number of units, with or without a fraction.
fn counted(text: &str, unit: Unit) -> Option<u64> {
    let per_second = u64::from(unit.per_second());
    if let Ok(whole) = text.parse::<u64>() {
        let t_us = u128::from(whole) * 1_000_000 / u128::from(per_second);
        return u64::try_from(t_us).ok();
    }
    // A double has microseconds for longer than clocks have run: 2^53 of them are 285 years.
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    let t_us = (number * 1e6 / per_second as f64).round();
    (t_us < u64::MAX as f64).then_some(t_us as u64)
}

fn written(text: &str) -> Option<i64> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_micros());
    }
    let zoned = WITH_ZONE.iter().find_map(|form| DateTime::parse_from_str(text, form).ok());
    let bare = || WITHOUT_ZONE.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    zoned.map(|time| time.timestamp_micros()).or_else(|| bare().map(|time| time.and_utc().timestamp_micros()))
}
