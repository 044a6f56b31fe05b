//! Parses the times of a log.

pub use super::values::Unit;
use super::values::{self, Decimal, quoted};
use chrono::{
    DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc,
    format::{Fixed, Item, StrftimeItems},
};
use scenarios::units::{Unread, duration_us};
use serde_json::Value;

/// The fields in which programs and what ships their lines put the time.
pub const NAMES: [&str; 6] = ["t_us", "time", "ts", "timestamp", "@timestamp", "@t"];

/// How a time was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// As a number.
    Counted,
    /// As date and time with a zone, whose offset from UTC is this many seconds.
    Zoned(i32),
    /// As date and time without a zone.
    Bare,
}

/// How a log writes its times.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// The strftime format, if the user gave one.
    pub format: Option<String>,
    /// The unit of numeric times, if known.
    pub unit: Option<Unit>,
    /// Whether that is a guess from a time that is counted from 1970: then no other may be in another unit.
    pub is_guess: bool,
    /// The zone of times that name none; UTC if absent.
    pub zone: Option<FixedOffset>,
    /// The unit of numeric durations, if known.
    pub length: Option<Unit>,
}

/// Formats without a zone: those of SQL and of ISO 8601.
const WITHOUT_ZONE: [&str; 6] = [
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y-%m-%d %I:%M:%S%.f %p",
    "%Y%m%dT%H%M%S%.f",
    "%a %b %e %H:%M:%S %Y",
];
/// Formats with a zone such as `+01` or `+0100`, as PostgreSQL writes it; the last is that of web servers.
const WITH_ZONE: [&str; 5] = [
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f %#z",
    "%Y/%m/%d %H:%M:%S%.f %#z",
    "%d/%b/%Y:%H:%M:%S %z",
];

impl Times {
    /// Parses a duration such as `15s`, or a number in the given unit; microseconds.
    ///
    /// # Errors
    /// It is no duration, or a number whose unit is unknown: one sentence.
    pub(crate) fn length_us(&self, length: &Value) -> Result<u64, String> {
        let text = match length {
            Value::String(text) => text.trim().to_owned(),
            length => length.to_string(),
        };
        let Some(decimal) = Decimal::read(&text) else {
            return values::us(&text).map_or_else(|| duration_us(&text).map_err(|why| why.to_string()), Ok);
        };
        let unit = self.length.ok_or_else(|| {
            format!("the unit of the duration {text} is unknown; pass --duration-unit s, ms, us or ns")
        })?;
        decimal.ns(unit).map(|ns| ns / 1_000).ok_or_else(|| format!("{text} is too long a duration"))
    }

    /// Parses a time; nanoseconds since the log's own zero, or since 1970.
    ///
    /// # Errors
    /// It is no time, or before 1970, or a number whose unit is unknown.
    pub(crate) fn ns(&self, time: &Value) -> Result<(u64, Written), String> {
        let no_time = || match &self.format {
            Some(format) => format!("{time} does not match --time-format {}", quoted(format)),
            None => format!(
                "{time} is not a known form of time; write it like 2026-11-21T10:00:00.250Z or as a number \
                 (--time-unit), or pass its form, such as --time-format '%d.%m.%Y %H:%M:%S'"
            ),
        };
        let text = match time {
            Value::Number(number) => number.to_string(),
            // Web servers and some loggers use brackets.
            Value::String(text) => {
                let text = text.trim();
                text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).to_owned()
            }
            _ => return Err(no_time()),
        };
        if let Some((ns, written)) = self.format.as_ref().and_then(|format| self.formatted(&text, format)) {
            return Ok((u64::try_from(ns).map_err(|_| format!("{time} is before 1970"))?, written));
        }
        if let Some(decimal) = Decimal::read(&text) {
            let other = Unit::of_an_epoch(decimal.whole).filter(|unit| self.is_guess && Some(*unit) != self.unit);
            if let (Some(other), Some(unit)) = (other, self.unit) {
                return Err(format!(
                    "{text} looks like {other} since 1970, and the log's first time like {unit}; write all times in one unit (for \
                     example with jq), or pass --time-unit if they are"
                ));
            }
            let unit = self.unit.or_else(|| Unit::of_an_epoch(decimal.whole));
            let unit =
                unit.ok_or_else(|| format!("the unit of {text} is unknown; pass --time-unit s, ms, us or ns"))?;
            return Ok((decimal.ns(unit).ok_or_else(no_time)?, Written::Counted));
        }
        let (ns, written) = self.words(&text).filter(|_| self.format.is_none()).ok_or_else(no_time)?;
        Ok((u64::try_from(ns).map_err(|_| format!("{time} is before 1970"))?, written))
    }

    /// The resolution of a time as written, nanoseconds.
    pub fn digit_ns(&self, time: &Value) -> Option<u64> {
        let text = time.as_str().map_or_else(|| time.to_string(), |text| text.trim().replace(',', "."));
        if let Some(format) = &self.format {
            let unit_ns = if format.contains("%S") || format.contains("%T") { 1_000_000_000 } else { 60_000_000_000 };
            let parts = text.rsplit_once('.').filter(|_| format.contains('f')).map_or("", |(_, parts)| parts);
            let digits = parts.bytes().take_while(u8::is_ascii_digit).count() as u32;
            return Some((unit_ns / 10_u64.checked_pow(digits)?).max(1));
        }
        let number = Decimal::read(&text);
        let unit = number.map(|number| self.unit.or_else(|| Unit::of_an_epoch(number.whole)));
        let unit = unit.map_or(Some(Unit::S), |unit| unit)?;
        let parts = text.split_once('.').map_or("", |(_, parts)| parts);
        let digits = parts.bytes().take_while(u8::is_ascii_digit).count() as u32;
        let unit = u64::try_from(unit.ns()).ok()?;
        Some((unit / 10_u64.checked_pow(digits)?).max(1))
    }

    /// The unit in which this number would be a time of this century.
    pub fn unit_of(time: &Value) -> Option<Unit> {
        let text = time.as_str().map_or_else(|| time.to_string(), |text| text.trim().to_owned());
        Decimal::read(&text).and_then(|decimal| Unit::of_an_epoch(decimal.whole))
    }

    /// Parses a time in the given format; one without a date is of January 1st, 1970.
    fn formatted(&self, text: &str, format: &str) -> Option<(i64, Written)> {
        if let Ok(time) = DateTime::parse_from_str(text, format) {
            return Some((time.timestamp_nanos_opt()?, Written::Zoned(time.offset().local_minus_utc())));
        }
        let of_day = |time: NaiveTime| NaiveDate::from_ymd_opt(1970, 1, 1).map(|day| day.and_time(time));
        let time = NaiveDateTime::parse_from_str(text, format).ok();
        let time = time.or_else(|| NaiveTime::parse_from_str(text, format).ok().and_then(of_day))?;
        Some((self.in_zone(time)?.timestamp_nanos_opt()?, Written::Bare))
    }

    /// A time without a zone, in the zone given.
    fn in_zone(&self, time: NaiveDateTime) -> Option<DateTime<Utc>> {
        match self.zone {
            Some(zone) => Some(time.and_local_timezone(zone).single()?.to_utc()),
            None => Some(time.and_utc()),
        }
    }

    fn words(&self, text: &str) -> Option<(i64, Written)> {
        // After the offset, Go adds the zone's name and its monotonic clock, and Java the zone's name in brackets.
        let text = text.split(" m=").next().unwrap_or(text);
        let text = text.split_once('[').filter(|_| text.ends_with(']')).map_or(text, |(time, _)| time);
        let named = text.rsplit_once(' ').filter(|(time, name)| {
            name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase()) && time.contains([' ', 'T'])
        });
        let named = named.filter(|(time, _)| time.rsplit(' ').next().is_some_and(|zone| zone.starts_with(['+', '-'])));
        let text = named.map_or(text, |(time, _)| time);
        let spoken = text;
        // Python and Java log a comma before the fraction.
        let text = &text.replace(',', ".");
        let zoned = |time: DateTime<FixedOffset>| {
            time.timestamp_nanos_opt().map(|ns| (ns, Written::Zoned(time.offset().local_minus_utc())))
        };
        if let Ok(time) = DateTime::parse_from_rfc2822(spoken) {
            return zoned(time);
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return zoned(time);
        }
        if let Some(time) = WITH_ZONE.iter().find_map(|form| DateTime::parse_from_str(text, form).ok()) {
            return zoned(time);
        }
        let utc = ["Z", " UTC", " GMT"].iter().find_map(|end| text.strip_suffix(end));
        let (bare, written) = utc.map_or((text.as_str(), Written::Bare), |bare| (bare, Written::Zoned(0)));
        let time = WITHOUT_ZONE.iter().find_map(|form| NaiveDateTime::parse_from_str(bare, form).ok())?;
        let time = if written == Written::Bare { self.in_zone(time)? } else { time.and_utc() };
        time.timestamp_nanos_opt().map(|ns| (ns, written))
    }
}

/// Parses a zone such as `+02:00`, `-0530` or `UTC`.
///
/// # Errors
/// It is no zone: one sentence.
pub fn zone(text: &str) -> Result<FixedOffset, Unread> {
    let utc = ["UTC", "GMT", "Z"].contains(&text);
    let at = if utc { "1970-01-01T00:00:00+00:00".to_owned() } else { format!("1970-01-01T00:00:00{text}") };
    let time = DateTime::parse_from_str(&at, "%Y-%m-%dT%H:%M:%S%#z");
    time.map(|time| *time.offset()).map_err(|_| Unread::of(text, "is not a time zone; write it like +02:00, or UTC"))
}

/// Checks a strftime format.
///
/// # Errors
/// It is no such format: one sentence.
pub fn format(text: &str) -> Result<String, Unread> {
    let mut items = StrftimeItems::new(text);
    // A zone's name would be skipped without being read.
    let wrong = |item| matches!(item, Item::Error | Item::Fixed(Fixed::TimezoneName));
    if !text.contains('%') || items.any(wrong) {
        return Err(Unread::of(text, "is not a time format; write it like '%d.%m.%Y %H:%M:%S'"));
    }
    Ok(text.to_owned())
}
