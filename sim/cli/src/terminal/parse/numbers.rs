//! Numbers on the command line, alone and in ranges.

use super::refused::Refused;
use protocols::group::GROUPS_MAX;
use scenarios::{
    plan::CANDIDATES_MAX,
    units::{Unread, percent_ppm, span_ms},
};
use std::ops::{Range, RangeInclusive};

/// Parses a whole number within these bounds, both included.
pub fn within<T: TryFrom<u64>>(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, Unread> + Clone + Send + Sync + 'static {
    move |text| {
        let (low, high) = (bounds.start(), bounds.end());
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| Unread::of(text, format!("is not a number from {low} to {high}")))
    }
}

pub fn jobs(text: &str) -> Result<u16, Unread> {
    within(1..=1024)(text)
}

pub fn whole(text: &str) -> Result<u64, Unread> {
    text.parse().map_err(|_| Unread::of(text, "is not a whole number"))
}

/// Parses parts per million, with or without their unit.
///
/// # Errors
/// One sentence.
pub fn ppm(text: &str) -> Result<u64, Unread> {
    let number = text.strip_suffix("ppm").unwrap_or(text).trim_end();
    number.parse().map_err(|_| Unread::of(text, "is not a number of parts per million, such as 500"))
}

/// Parses a number of at least 1 and at most a billion: `250`, `10k`, `100M`.
///
/// # Errors
/// One sentence.
pub fn many(text: &str) -> Result<u64, Unread> {
    const MOST: u64 = 1_000_000_000;
    let (digits, times) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number
        .filter(|number| (1..=MOST).contains(number))
        .ok_or_else(|| Unread::of(text, format!("is not a number from 1 to {MOST}, such as 250, 10k or 100M")))
}

pub fn seed(text: &str) -> Result<u64, Unread> {
    text.parse()
        .map_err(|_| Unread::of(text, format!("is not a seed; a seed is a whole number from 0 to {}", u64::MAX)))
}

/// Parses seeds `A..B`, B excluded.
///
/// # Errors
/// One sentence.
pub fn seeds(text: &str) -> Result<Range<u64>, Refused> {
    let wrong = || Unread::of(text, "is not a range of seeds; write it as 0..1000");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let range = seed(from).map_err(|_| wrong())?..seed(to).map_err(|_| wrong())?;
    if range.is_empty() { Err(Refused::NoSeeds(text.to_owned())) } else { Ok(range) }
}

/// Parses part `I/N` of a sweep, I from 1.
///
/// # Errors
/// One sentence.
pub fn shard(text: &str) -> Result<(u64, u64), Unread> {
    let wrong = || Unread::of(text, "is not a shard; write it as 1/4, from 1/4 to 4/4");
    let (part, of) = text.split_once('/').ok_or_else(wrong)?;
    let (part, of): (u64, u64) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if part == 0 || part > of { Err(wrong()) } else { Ok((part, of)) }
}

pub fn candidates(text: &str) -> Result<u16, Unread> {
    let wrong =
        || Unread::of(text, format!("is not a number of candidates; write a whole number from 1 to {CANDIDATES_MAX}"));
    text.parse().ok().filter(|nodes| (1..=CANDIDATES_MAX).contains(&usize::from(*nodes))).ok_or_else(wrong)
}

pub fn groups(text: &str) -> Result<u16, Unread> {
    let wrong = || Unread::of(text, format!("is not a number of groups; write a whole number from 1 to {GROUPS_MAX}"));
    text.parse().ok().filter(|groups| (1..=GROUPS_MAX).contains(groups)).ok_or_else(wrong)
}

/// Parses a number of events and the time they occurred in, such as `3/30d`; the time in milliseconds.
///
/// # Errors
/// One sentence.
pub fn frequency(text: &str) -> Result<(u64, u64), Unread> {
    let wrong = || Unread::of(text, "is not a number per time; write it like 3/30d");
    let (times, span) = text.split_once('/').ok_or_else(wrong)?;
    let times = times.parse().ok().filter(|times| *times <= 1_000_000).ok_or_else(wrong)?;
    Ok((times, span_ms(span)?))
}

/// Parses an availability target, such as `99.95%`, into the parts per million that may be missing.
///
/// # Errors
/// One sentence.
pub fn target(text: &str) -> Result<u32, Unread> {
    // 0.9995 is 99.95 % to some and 0.9995 % to others, and nobody runs a service below 1 %.
    if let Ok(share) = text.trim().parse::<f64>()
        && share > 0.0
        && share <= 1.0
    {
        let percent = format!("{:.6}", share * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        return Err(Unread::of(
            text,
            format!("could be a share or a percentage; write a percentage, such as {percent}%"),
        ));
    }
    match percent_ppm(text)? {
        ppm @ 1..1_000_000 => Ok(1_000_000 - ppm),
        _ => Err(Unread::of(text, "is not a target; write one below 100%, such as 99.95%")),
    }
}

/// Parses a number of a service's members; validation of the plan knows the service's maximum.
///
/// # Errors
/// One sentence.
pub fn members(text: &str) -> Result<u16, Unread> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| Unread::of(text, "is not a number of members; give 1 or more"))
}
