//! Durations and ids as Go, and therefore Consul, reads and writes them (golang/go, `src/time/format.go:
//! ParseDuration`, `src/time/time.go: Duration.String`).

use protocols::types::{MICROSECOND, MILLISECOND, SECOND};

/// A key.
pub(super) type Text = Vec<u8>;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", MICROSECOND),
    ("µs", MICROSECOND),
    ("μs", MICROSECOND),
    ("ms", MILLISECOND),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

/// Parses a duration such as `1h2.5s` into nanoseconds.
///
/// # Errors
/// The error in Go's words.
pub(super) fn duration(text: &str) -> Result<i128, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, after) = rest.split_at(digits(rest));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit = &after[..after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len())];
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let Some((_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part: f64 = format!("0.{fraction}").parse().unwrap_or(0.0);
        total = whole
            .checked_mul(i128::from(*size))
            .and_then(|whole| total.checked_add(whole + (part * *size as f64) as i128))
            .filter(|total| *total <= i128::from(i64::MAX))
            .ok_or_else(invalid)?;
        rest = &after[unit.len()..];
    }
    Ok(if negative { -total } else { total })
}

/// Whole seconds in Go's format: `10s`, `1m0s`, `24h0m0s`.
pub(super) fn duration_text(nanoseconds: u64) -> String {
    let seconds = nanoseconds / SECOND;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s}s"),
        (h, m, s) => format!("{h}h{m}m{s}s"),
    }
}

/// A session's id from random numbers (hashicorp/go-uuid, `uuid.go: FormatUUID`).
pub(super) fn uuid([high, low]: [u64; 2]) -> String {
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_as_go_does() {
        for (text, nanoseconds) in [
            ("10s", 10 * SECOND),
            ("1.5s", 1_500 * MILLISECOND),
            ("1h2m3ms", 3_720 * SECOND + 3 * MILLISECOND),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(i128::from(nanoseconds)), "{text}");
        }
        assert_eq!(duration("-1us"), Ok(-1_000));
        for (text, why) in [
            ("foo", "time: invalid duration \"foo\""),
            ("", "time: invalid duration \"\""),
            ("10", "time: missing unit in duration \"10\""),
            ("1x", "time: unknown unit \"x\" in duration \"1x\""),
            (".s", "time: invalid duration \".s\""),
        ] {
            assert_eq!(duration(text), Err(why.to_owned()));
        }
        assert_eq!([10, 60, 86_400].map(|s| duration_text(s * SECOND)), ["10s", "1m0s", "24h0m0s"]);
    }
}
