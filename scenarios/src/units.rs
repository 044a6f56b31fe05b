//! Durations and shares as people write them, in options and in printed commands.

use crate::plan::BANDWIDTH_MAX_MBPS;

/// A value that cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` {why}")]
pub struct Unread {
    pub text: String,
    /// Completes the message: what is wrong with the text, and what would be valid.
    pub why: String,
}

impl Unread {
    pub fn of(text: &str, why: impl Into<String>) -> Unread {
        Unread { text: text.to_owned(), why: why.into() }
    }
}

/// Parses `500ms`, `3s`, `1.5s`, `10m` or `1h` into milliseconds.
///
/// # Errors
/// One sentence.
pub fn duration_ms(text: &str) -> Result<u64, Unread> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    duration(text, &units, "500ms, 3s, 10m or 1h", "a millisecond")
}

/// Parses an observation period into milliseconds: a duration as for [`duration_ms`], or days, as `30d`.
///
/// # Errors
/// One sentence.
pub fn span_ms(text: &str) -> Result<u64, Unread> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let ms = duration(text, &units, "12h or 30d", "a millisecond")?;
    if ms == 0 { Err(Unread::of(text, "is no time at all")) } else { Ok(ms) }
}

/// Parses `0.2ms`, `200us` or `3s` into microseconds.
///
/// # Errors
/// One sentence.
pub fn duration_us(text: &str) -> Result<u64, Unread> {
    let units = [("us", 1), ("µs", 1), ("ms", 1_000), ("s", 1_000_000)];
    duration(text, &units, "200us, 0.5ms or 1s", "a microsecond")
}

fn duration(text: &str, units: &[(&str, u64)], examples: &str, finest: &str) -> Result<u64, Unread> {
    let wrong = || Unread::of(text, format!("is not a duration; write it as {examples}"));
    let too_long = || Unread::of(text, "is longer than any run can be");
    if text.starts_with('-') {
        return Err(Unread::of(text, "is negative, and a duration cannot be"));
    }
    let unit = unit(text);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number = &text[..text.len() - unit.len()];
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(wrong());
    }
    // Integers throughout: 16.1 s is 16100 ms, and not a little less.
    let whole: u64 = whole.parse().map_err(|_| too_long())?;
    let fraction = fraction.trim_end_matches('0');
    let scale = 10u64.checked_pow(fraction.len() as u32).ok_or_else(too_long)?;
    let parts = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().map_err(|_| too_long())? };
    let parts = parts.checked_mul(*factor).ok_or_else(too_long)?;
    if parts % scale != 0 {
        return Err(Unread::of(text, format!("is finer than {finest}")));
    }
    whole.checked_mul(*factor).and_then(|all| all.checked_add(parts / scale)).ok_or_else(too_long)
}

/// What follows the digits.
pub fn unit(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// A duration that [`duration_ms`] parses.
pub fn duration_text(ms: u64) -> String {
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    // Minutes and hours only if they are not much longer to read than seconds.
    let whole =
        units.into_iter().find(|(name, factor)| ms > 0 && ms % factor == 0 && (*name == "s" || ms >= 10 * factor));
    whole.map_or_else(|| format!("{ms}ms"), |(name, factor)| format!("{}{name}", ms / factor))
}

/// A duration that [`duration_us`] parses.
pub fn duration_us_text(us: u64) -> String {
    format!("{}ms", us as f64 / 1e3)
}

/// Parses `10mbps` or `1gbps` into millions of bits per second.
///
/// # Errors
/// One sentence.
pub fn bandwidth_mbps(text: &str) -> Result<u64, Unread> {
    let factor = match unit(text) {
        "mbps" => 1,
        "gbps" => 1_000,
        _ => return Err(Unread::of(text, "is not a bandwidth; write it as 10mbps or 1gbps")),
    };
    let number: Option<u64> = text[..text.len() - 4].parse().ok();
    let mbps =
        number.and_then(|number| number.checked_mul(factor)).filter(|mbps| (1..=BANDWIDTH_MAX_MBPS).contains(mbps));
    mbps.ok_or_else(|| Unread::of(text, "is not a bandwidth; write a whole number from 1mbps to 1000gbps"))
}

/// A bandwidth that [`bandwidth_mbps`] parses.
pub fn bandwidth_text(mbps: u64) -> String {
    format!("{mbps}mbps")
}

/// Parses a percentage, `1%`, `0.5%` or `0.5`, into parts per million.
///
/// # Errors
/// One sentence.
pub fn percent_ppm(text: &str) -> Result<u32, Unread> {
    let wrong = || Unread::of(text, "is not a percentage; write it as 1% or 0.5%, with at most four decimals");
    let number = text.strip_suffix('%').unwrap_or(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 4 {
        return Err(wrong());
    }
    let parts: u32 = format!("{fraction:0<4}").parse().map_err(|_| wrong())?;
    let ppm = whole.parse::<u32>().ok().and_then(|whole| whole.checked_mul(10_000)?.checked_add(parts));
    ppm.filter(|ppm| *ppm <= 1_000_000).ok_or_else(|| Unread::of(text, "is too much; at most 100%"))
}

/// A percentage that [`percent_ppm`] parses.
pub fn percent_text(ppm: u32) -> String {
    let fraction = format!("{:04}", ppm % 10_000);
    match fraction.trim_end_matches('0') {
        "" => format!("{}%", ppm / 10_000),
        fraction => format!("{}.{fraction}%", ppm / 10_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in [
            ("500ms", 500),
            ("3s", 3_000),
            ("10m", 600_000),
            ("1.5s", 1_500),
            ("0ms", 0),
            ("16.1s", 16_100),
            ("0.5m", 30_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in
            ["", "3", "s", "-3s", "3d", "1.2.3s", "0.5ms", "99999999999999999999s", "3 s", "NaNs", "infs", ".5s", "5.s"]
        {
            assert!(duration_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans() {
        assert_eq!(span_ms("30d"), Ok(2_592_000_000));
        assert_eq!(span_ms("12h"), Ok(43_200_000));
        assert_eq!(span_ms("0d"), Err(Unread::of("0d", "is no time at all")));
        assert_eq!(span_ms("30"), Err(Unread::of("30", "is not a duration; write it as 12h or 30d")));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for ms in [0, 1, 999, 1_000, 1_500, 60_000, 90_000, 600_000, 3_600_000, 36_000_000, 86_400_000] {
            assert_eq!(duration_ms(&duration_text(ms)), Ok(ms), "{}", duration_text(ms));
        }
        for us in [0, 1, 200, 1_000, 20_500, 60_000_000] {
            assert_eq!(duration_us(&duration_us_text(us)), Ok(us), "{}", duration_us_text(us));
        }
        for ppm in [0, 1, 5_000, 10_000, 123_456, 1_000_000] {
            assert_eq!(percent_ppm(&percent_text(ppm)), Ok(ppm), "{}", percent_text(ppm));
        }
        for text in ["", "%", "101%", "-1", "0.00001%", "1e3", "99999999999"] {
            assert!(percent_ppm(text).is_err(), "{text}");
        }
    }
}
