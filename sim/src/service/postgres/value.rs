//! Values, their types, and their text and binary formats.

use super::error::Error;

/// The types that elections use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Type {
    Bool,
    Int4,
    Int8,
    Text,
    Timestamptz,
    Interval,
    Void,
}

/// A value. Timestamps are microseconds since the year 2000; intervals are microseconds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int4(i32),
    Int8(i64),
    Text(String),
    Timestamptz(i64),
    Interval(i64),
    Void,
}

/// Seconds from the Unix epoch to the year 2000.
const EPOCH_S: i64 = 946_684_800;

/// Converts a wall clock's nanoseconds to a timestamp.
pub fn timestamp(wall: u64) -> i64 {
    (wall / 1_000) as i64 - EPOCH_S * 1_000_000
}

/// Converts a timestamp to nanoseconds since the Unix epoch.
pub fn wall(timestamp: i64) -> u64 {
    u64::try_from(timestamp.saturating_add(EPOCH_S * 1_000_000)).unwrap_or(0).saturating_mul(1_000)
}

impl Type {
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "bool" | "boolean" => Type::Bool,
            "int4" | "int" | "integer" => Type::Int4,
            "int8" | "bigint" => Type::Int8,
            "text" => Type::Text,
            "timestamptz" => Type::Timestamptz,
            "interval" => Type::Interval,
            _ => return None,
        })
    }

    /// As named in errors.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Bool => "boolean",
            Type::Int4 => "integer",
            Type::Int8 => "bigint",
            Type::Text => "text",
            Type::Timestamptz => "timestamp with time zone",
            Type::Interval => "interval",
            Type::Void => "void",
        }
    }

    /// Its OID, and the size of a value in bytes; −1 if that varies.
    pub const fn oid(self) -> (u32, i16) {
        match self {
            Type::Bool => (16, 1),
            Type::Int4 => (23, 4),
            Type::Int8 => (20, 8),
            Type::Text => (25, -1),
            Type::Timestamptz => (1184, 8),
            Type::Interval => (1186, 16),
            Type::Void => (2278, 4),
        }
    }

    pub fn of_oid(oid: u32) -> Option<Type> {
        [Type::Bool, Type::Int4, Type::Int8, Type::Text, Type::Timestamptz, Type::Interval]
            .into_iter()
            .find(|of| of.oid().0 == oid)
    }

    /// Parses a value of this type from text.
    ///
    /// # Errors
    /// The text is no such value.
    pub fn read(self, text: &str) -> Result<Value, Error> {
        let wrong = || Error::new("22P02", format!("invalid input syntax for type {}: \"{text}\"", self.name()));
        let trimmed = text.trim();
        let number = || {
            let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(wrong());
            }
            let out_of_range =
                || Error::new("22003", format!("value \"{text}\" is out of range for type {}", self.name()));
            trimmed.parse::<i64>().map_err(|_| out_of_range()).and_then(|number| match self {
                Type::Int4 => i32::try_from(number).map(Value::Int4).map_err(|_| out_of_range()),
                _ => Ok(Value::Int8(number)),
            })
        };
        match self {
            Type::Int4 | Type::Int8 => number(),
            Type::Text => Ok(Value::Text(text.to_owned())),
            Type::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "t" | "true" | "yes" | "on" | "1" => Ok(Value::Bool(true)),
                "f" | "false" | "no" | "off" | "0" => Ok(Value::Bool(false)),
                _ => Err(wrong()),
            },
            Type::Interval => interval(trimmed).map(Value::Interval),
            Type::Timestamptz | Type::Void => Err(Error::unsupported(format!("{} as text", self.name()))),
        }
    }

    /// Parses a value of this type from binary.
    ///
    /// # Errors
    /// The bytes are no such value.
    pub fn read_binary(self, bytes: &[u8]) -> Result<Value, Error> {
        let wrong = || Error::new("22P03", "incorrect binary data format in bind parameter");
        let eight = || bytes.try_into().map(i64::from_be_bytes).map_err(|_| wrong());
        match self {
            Type::Bool => match bytes {
                [byte] => Ok(Value::Bool(*byte != 0)),
                _ => Err(wrong()),
            },
            Type::Int4 => bytes.try_into().map(|bytes| Value::Int4(i32::from_be_bytes(bytes))).map_err(|_| wrong()),
            Type::Int8 => eight().map(Value::Int8),
            Type::Timestamptz => eight().map(Value::Timestamptz),
            Type::Text => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Ok(Value::Text(text.to_owned())),
                _ => Err(Error::new("22021", "invalid byte sequence for encoding \"UTF8\"")),
            },
            Type::Interval | Type::Void => Err(Error::unsupported(format!("parameters of type {}", self.name()))),
        }
    }
}

/// Parses `'5 seconds'` or `'1 millisecond'` into microseconds.
fn interval(text: &str) -> Result<i64, Error> {
    let unit = |unit: &str| match unit.trim_end_matches('s') {
        "microsecond" => Some(1),
        "millisecond" => Some(1_000),
        "second" => Some(1_000_000),
        "minute" => Some(60_000_000),
        "hour" => Some(3_600_000_000),
        _ => None,
    };
    let mut words = text.split_whitespace();
    let mut read = || words.next()?.parse::<i64>().ok()?.checked_mul(unit(words.next()?)?);
    let length = read();
    length.ok_or_else(|| Error::unsupported(format!("the interval '{text}'")))
}

impl Value {
    /// Its type; `None` for null.
    pub const fn of(&self) -> Option<Type> {
        Some(match self {
            Value::Null => return None,
            Value::Bool(_) => Type::Bool,
            Value::Int4(_) => Type::Int4,
            Value::Int8(_) => Type::Int8,
            Value::Text(_) => Type::Text,
            Value::Timestamptz(_) => Type::Timestamptz,
            Value::Interval(_) => Type::Interval,
            Value::Void => Type::Void,
        })
    }

    /// The text format.
    pub fn text(&self) -> String {
        match self {
            Value::Null | Value::Void => String::new(),
            Value::Bool(yes) => if *yes { "t" } else { "f" }.to_owned(),
            Value::Int4(number) => number.to_string(),
            Value::Int8(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Timestamptz(at) => timestamp_text(*at),
            Value::Interval(length) => interval_text(*length),
        }
    }

    /// The binary format.
    pub fn binary(&self) -> Vec<u8> {
        match self {
            Value::Null | Value::Void => Vec::new(),
            Value::Bool(yes) => vec![u8::from(*yes)],
            Value::Int4(number) => number.to_be_bytes().to_vec(),
            Value::Int8(number) | Value::Timestamptz(number) => number.to_be_bytes().to_vec(),
            Value::Text(text) => text.clone().into_bytes(),
            // Days and months are always zero.
            Value::Interval(length) => [&length.to_be_bytes()[..], &[0; 8]].concat(),
        }
    }
}

/// Formats as `2026-11-22 13:00:00.5+00`, in UTC.
fn timestamp_text(at: i64) -> String {
    let (seconds, micros) = (at.div_euclid(1_000_000) + EPOCH_S, at.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // From days to a date: Howard Hinnant's `civil_from_days`.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let clock = format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {clock}{}+00", fraction(micros))
}

fn interval_text(length: i64) -> String {
    let (sign, length) = (if length < 0 { "-" } else { "" }, length.unsigned_abs());
    let (seconds, micros) = (length / 1_000_000, (length % 1_000_000) as i64);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{sign}{clock}{}", fraction(micros))
}

/// The fraction of a second, without trailing zeros.
fn fraction(micros: i64) -> String {
    if micros == 0 {
        return String::new();
    }
    format!(".{micros:06}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_postgresql_does() {
        assert_eq!(Value::Timestamptz(0).text(), "2000-01-01 00:00:00+00");
        assert_eq!(Value::Timestamptz(timestamp(1_795_352_400_500_000_000)).text(), "2026-11-22 13:00:00.5+00");
        assert_eq!(Value::Timestamptz(-1).text(), "1999-12-31 23:59:59.999999+00");
        assert_eq!(Value::Interval(90_000_001).text(), "00:01:30.000001");
        assert_eq!(wall(timestamp(1_795_352_400_500_000_000)), 1_795_352_400_500_000_000);
    }

    #[test]
    fn text_is_read_or_refused() {
        assert_eq!(Type::Int8.read(" -7 "), Ok(Value::Int8(-7)));
        assert_eq!(Type::Int4.read("2147483648").map_err(|e| e.code), Err("22003"));
        assert_eq!(Type::Int4.read("").map_err(|e| e.code), Err("22P02"));
        assert_eq!(Type::Interval.read("1 millisecond"), Ok(Value::Interval(1_000)));
        assert_eq!(Type::Bool.read("on"), Ok(Value::Bool(true)));
        assert_eq!(Type::Text.read_binary(&[0xff]).map_err(|e| e.code), Err("22021"));
    }
}
