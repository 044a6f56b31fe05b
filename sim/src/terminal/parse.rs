//! What words on the command line mean: durations, ranges, lists of names.

use super::suggest::unknown;
use protocols::election::{self, Protocol};
use scenarios::{
    Scenario,
    params::{PROFILES, Profile},
    scenario,
};
use std::ops::Range;

/// Milliseconds of `500ms`, `3s`, `1.5s` or `10m`.
///
/// # Errors
/// One sentence.
pub fn duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no duration; write it as 500ms, 3s or 10m");
    let too_long = || format!("`{text}` is longer than any run can be");
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative, and a duration cannot be"));
    }
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(wrong()),
    };
    let number = &text[..text.len() - unit.len()];
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(wrong());
    }
    // Whole numbers throughout: 16.1 s is 16100 ms, and not a little less.
    let whole: u64 = whole.parse().map_err(|_| too_long())?;
    let fraction = fraction.trim_end_matches('0');
    let scale = 10u64.checked_pow(fraction.len() as u32).ok_or_else(too_long)?;
    let parts = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().map_err(|_| too_long())? };
    let parts = parts.checked_mul(factor).ok_or_else(too_long)?;
    if parts % scale != 0 {
        return Err(format!("`{text}` is finer than a millisecond"));
    }
    whole.checked_mul(factor).and_then(|ms| ms.checked_add(parts / scale)).ok_or_else(too_long)
}

/// Milliseconds `A..B`, such as `150..300ms` or `1s..2s`; a single duration D is D to 2 D.
///
/// # Errors
/// One sentence.
pub fn duration_range_ms(text: &str) -> Result<(u64, u64), String> {
    let Some((from, to)) = text.split_once("..") else {
        let ms = duration_ms(text)?;
        return Ok((ms, ms.saturating_mul(2)));
    };
    let to_ms = duration_ms(to)?;
    let unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let from_ms = if from.ends_with(|c: char| c.is_ascii_digit()) {
        duration_ms(&format!("{from}{unit}"))?
    } else {
        duration_ms(from)?
    };
    if from_ms >= to_ms {
        return Err(format!("`{text}` is no range: its lower end must be below its upper end"));
    }
    Ok((from_ms, to_ms))
}

/// A seed.
///
/// # Errors
/// One sentence.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no seed; a seed is a whole number from 0 to {}", u64::MAX))
}

/// Seeds `A..B`, B excluded.
///
/// # Errors
/// One sentence.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is no range of seeds; write it as 0..1000");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let range = seed(from).map_err(|_| wrong())?..seed(to).map_err(|_| wrong())?;
    if range.is_empty() { Err(format!("the range of seeds `{text}` is empty")) } else { Ok(range) }
}

/// Part `I/N` of a sweep, I from 1.
///
/// # Errors
/// One sentence.
pub fn shard(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is no shard; write it as 1/4, from 1/4 to 4/4");
    let (part, of) = text.split_once('/').ok_or_else(wrong)?;
    let (part, of): (u64, u64) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if part == 0 || part > of { Err(wrong()) } else { Ok((part, of)) }
}

/// A number of candidates.
///
/// # Errors
/// One sentence.
pub fn candidates(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("`{text}` is no number of candidates; write several as 3,5,9"))
}

/// `on` or `off`.
///
/// # Errors
/// One sentence.
pub fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither `on` nor `off`")),
    }
}

/// A protocol.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocol(name: &str) -> Result<&'static Protocol, String> {
    let known: Vec<&str> = election::ALL.iter().map(|p| p.name).collect();
    election::find(name).ok_or_else(|| unknown("protocol", name, &known))
}

/// Protocols `a,b` or `all`.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocols(names: &str) -> Result<Vec<&'static Protocol>, String> {
    match names {
        "all" => Ok(election::ALL.to_vec()),
        names => names.split(',').map(protocol).collect(),
    }
}

/// A scenario.
///
/// # Errors
/// One sentence with the nearest name.
pub fn scenario(name: &str) -> Result<&'static Scenario, String> {
    let known: Vec<&str> = scenario::ALL.iter().map(|s| s.name).collect();
    scenario::find(name).ok_or_else(|| unknown("scenario", name, &known))
}

/// Scenarios by name; `all`, or none named, is all of them.
///
/// # Errors
/// One sentence with the nearest name.
pub fn scenarios(names: &[String]) -> Result<Vec<&'static Scenario>, String> {
    if names.is_empty() || names == ["all"] {
        return Ok(scenario::ALL.to_vec());
    }
    names.iter().map(|name| scenario(name)).collect()
}

/// A network profile.
///
/// # Errors
/// One sentence with the nearest name.
pub fn network(name: &str) -> Result<&'static Profile, String> {
    let known: Vec<&str> = PROFILES.iter().map(|p| p.name).collect();
    Profile::find(name).ok_or_else(|| unknown("network profile", name, &known))
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
        ] {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for text in
            ["", "3", "s", "-3s", "3h", "1.2.3s", "0.5ms", "99999999999999999999s", "3 s", "NaNs", "infs", ".5s", "5.s"]
        {
            assert!(duration_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_and_shards() {
        assert_eq!(seeds("0..1000"), Ok(0..1000));
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for text in ["", "5", "5..5", "9..3", "a..b", "-1..3", "0..99999999999999999999"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        for text in ["", "0/4", "5/4", "1", "a/b"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(protocols("all").map(|p| p.len()), Ok(election::ALL.len()));
        assert!(protocols("etcd-election,redis-leas").is_err_and(|e| e.contains("did you mean `redis-lease`?")));
        assert!(scenario("gc-paus").is_err_and(|e| e.contains("did you mean `gc-pause`?")));
        assert_eq!(scenarios(&["all".to_owned()]).map(|s| s.len()), Ok(scenario::ALL.len()));
        assert!(network("lam").is_err_and(|e| e.contains("did you mean `lan`?")));
    }
}
