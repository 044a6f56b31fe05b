//! What words on the command line mean: durations, ranges, lists of names.

use super::suggest::unknown;
use protocols::{election::Protocol, fence::checks::Fencing, registry::OURS};
use scenarios::{
    Scenario,
    params::{PROFILES, Profile},
    plan::CANDIDATES_MAX,
    scenario,
};
use std::{collections::BTreeSet, ops::Range};

/// Milliseconds of `500ms`, `3s`, `1.5s`, `10m` or `1h`.
///
/// # Errors
/// One sentence.
pub fn duration_ms(text: &str) -> Result<u64, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    duration(text, &units, "500ms, 3s, 10m or 1h", "a millisecond")
}

/// Microseconds of `0.2ms`, `200us` or `3s`.
///
/// # Errors
/// One sentence.
pub fn duration_us(text: &str) -> Result<u64, String> {
    let units = [("us", 1), ("µs", 1), ("ms", 1_000), ("s", 1_000_000)];
    duration(text, &units, "200us, 0.5ms or 1s", "a microsecond")
}

fn duration(text: &str, units: &[(&str, u64)], examples: &str, finest: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no duration; write it as {examples}");
    let too_long = || format!("`{text}` is longer than any run can be");
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative, and a duration cannot be"));
    }
    let unit = unit(text);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
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
    let parts = parts.checked_mul(*factor).ok_or_else(too_long)?;
    if parts % scale != 0 {
        return Err(format!("`{text}` is finer than {finest}"));
    }
    whole.checked_mul(*factor).and_then(|all| all.checked_add(parts / scale)).ok_or_else(too_long)
}

/// What follows the digits.
fn unit(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// A duration as [`duration_ms`] reads it.
pub fn duration_text(ms: u64) -> String {
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    // Minutes and hours only where they are not much longer to read than seconds.
    let whole =
        units.into_iter().find(|(name, factor)| ms > 0 && ms % factor == 0 && (*name == "s" || ms >= 10 * factor));
    whole.map_or_else(|| format!("{ms}ms"), |(name, factor)| format!("{}{name}", ms / factor))
}

/// A duration as [`duration_us`] reads it.
pub fn duration_us_text(us: u64) -> String {
    format!("{}ms", us as f64 / 1e3)
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
    let (from_ms, to_ms) = ends(from, to, duration_ms)?;
    if from_ms >= to_ms {
        return Err(format!("`{text}` is no range: its lower end must be below its upper end"));
    }
    Ok((from_ms, to_ms))
}

/// Microseconds `A..B` of one way, such as `20ms..40ms` or `0.2..0.5ms`; a single duration is always the same.
///
/// # Errors
/// One sentence.
pub fn latency_us(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from_us, to_us) = ends(from, to, duration_us)?;
    if from_us > to_us {
        return Err(format!("`{text}` is no range: its lower end must not be above its upper end"));
    }
    if to_us > 60_000_000 {
        return Err(format!("`{text}` is longer than a minute, and nothing waits that long"));
    }
    Ok((from_us, to_us))
}

/// Both ends of a range; the lower one may leave its unit to the upper one.
fn ends(from: &str, to: &str, parse: fn(&str) -> Result<u64, String>) -> Result<(u64, u64), String> {
    let upper = parse(to)?;
    match from.ends_with(|c: char| c.is_ascii_digit()) {
        true => Ok((parse(&format!("{from}{}", unit(to)))?, upper)),
        false => Ok((parse(from)?, upper)),
    }
}

/// Parts per million of a share in percent: `1%`, `0.5%` or `0.5`.
///
/// # Errors
/// One sentence.
pub fn percent_ppm(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no share; write it as 1% or 0.5%, with at most four decimals");
    let number = text.strip_suffix('%').unwrap_or(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 4 {
        return Err(wrong());
    }
    let parts: u32 = format!("{fraction:0<4}").parse().map_err(|_| wrong())?;
    let ppm = whole.parse::<u32>().ok().and_then(|whole| whole.checked_mul(10_000)?.checked_add(parts));
    ppm.filter(|ppm| *ppm <= 1_000_000).ok_or_else(|| format!("`{text}` is more than everything; 100% is the most"))
}

/// A share as [`percent_ppm`] reads it.
pub fn percent_text(ppm: u32) -> String {
    let fraction = format!("{:04}", ppm % 10_000);
    match fraction.trim_end_matches('0') {
        "" => format!("{}%", ppm / 10_000),
        fraction => format!("{}.{fraction}%", ppm / 10_000),
    }
}

/// A whole number.
///
/// # Errors
/// One sentence.
pub fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no whole number of at least 0"))
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
    let wrong = || format!("`{text}` is no number of candidates; write a whole one, from 1 to {CANDIDATES_MAX}");
    text.parse().ok().filter(|nodes| (1..=CANDIDATES_MAX).contains(&usize::from(*nodes))).ok_or_else(wrong)
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

/// What the store checks.
///
/// # Errors
/// One sentence with the nearest word.
pub fn fencing(text: &str) -> Result<Fencing, String> {
    let words: Vec<&str> = Fencing::ALL.iter().map(|fencing| fencing.word()).collect();
    Fencing::find(text).ok_or_else(|| unknown("choice", text, &words))
}

/// A protocol.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocol(name: &str) -> Result<&'static Protocol, String> {
    let known: Vec<&str> = OURS.protocols().iter().map(|p| p.name).collect();
    OURS.find(name).ok_or_else(|| unknown("protocol", name, &known))
}

/// Protocols `a,b` or `all`.
///
/// # Errors
/// One sentence with the nearest name.
pub fn protocols(names: &str) -> Result<Vec<&'static Protocol>, String> {
    match names {
        "all" => Ok(OURS.protocols().to_vec()),
        names => Ok(once(names.split(',').map(protocol).collect::<Result<_, _>>()?, |p| p.name)),
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
    Ok(once(names.iter().map(|name| scenario(name)).collect::<Result<_, _>>()?, |s| s.name))
}

/// Each of these once, where it came first.
fn once<T>(mut all: Vec<T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(name(one)));
    all
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
        assert_eq!(
            [latency_us("20ms..40ms"), latency_us("0.2..0.5ms"), latency_us("200us")].map(Result::ok),
            [Some((20_000, 40_000)), Some((200, 500)), Some((200, 200))]
        );
        for text in ["40ms..20ms", "20..40", "2m", "-1ms", "0.0001ms"] {
            assert!(latency_us(text).is_err(), "{text}");
        }
        for text in ["", "%", "101%", "-1", "0.00001%", "1e3", "99999999999"] {
            assert!(percent_ppm(text).is_err(), "{text}");
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
        assert_eq!(protocols("all").map(|p| p.len()), Ok(OURS.protocols().len()));
        assert!(protocols("etcd-election,redis-leas").is_err_and(|e| e.contains("did you mean `redis-lease`?")));
        assert!(scenario("gc-paus").is_err_and(|e| e.contains("did you mean `gc-pause`?")));
        assert_eq!(protocols("raft,kraft,raft").map(|p| p.len()), Ok(2));
        assert_eq!(scenarios(&["steady", "steady"].map(str::to_owned)).map(|s| s.len()), Ok(1));
        assert!(fencing("tokne").is_err_and(|e| e.contains("did you mean `token`?")));
        assert!(protocol("etcd").is_err_and(|e| e.contains("did you mean `etcd-election`?")));
        assert_eq!(scenarios(&["all".to_owned()]).map(|s| s.len()), Ok(scenario::ALL.len()));
        assert!(network("lam").is_err_and(|e| e.contains("did you mean `lan`?")));
    }
}
