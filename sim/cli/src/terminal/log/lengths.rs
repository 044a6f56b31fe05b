//! Lengths of time in words: `1m30s`, as Go writes them, `PT1M30S`, as ISO 8601 does, and `0:01:30`.

use super::times::{Decimal, Unit};

/// Seconds of what Go and ISO 8601 call so. A month has no length.
const LONG: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
/// What is shorter than a second.
const SHORT: [(&str, Unit); 4] = [("ms", Unit::Ms), ("us", Unit::Us), ("µs", Unit::Us), ("ns", Unit::Ns)];

/// The length in microseconds, if it is written in one of these ways.
pub fn us(text: &str) -> Option<u64> {
    let small = text.trim().to_lowercase();
    let ns = match small.strip_prefix('p') {
        Some(iso) => parts(&iso.replacen('t', "", 1)),
        None if small.contains(':') => clock(&small),
        None => parts(&small),
    };
    ns.map(|ns| ns / 1_000)
}

/// Numbers, each with its unit.
fn parts(text: &str) -> Option<u64> {
    let (mut rest, mut ns) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number = Decimal::read(number)?;
        let long = LONG.iter().find(|(name, _)| *name == unit);
        let one = match long {
            Some((_, seconds)) => number.ns(Unit::S)?.checked_mul(*seconds)?,
            None => number.ns(SHORT.iter().find(|(name, _)| *name == unit)?.1)?,
        };
        (ns, rest) = (ns.checked_add(one)?, after);
    }
    (!text.is_empty()).then_some(ns)
}

/// Hours, minutes and seconds, or minutes and seconds.
fn clock(text: &str) -> Option<u64> {
    let all: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&all.len()) {
        return None;
    }
    all.iter().try_fold(0_u64, |ns, part| ns.checked_mul(60)?.checked_add(Decimal::read(part)?.ns(Unit::S)?))
}

#[cfg(test)]
mod tests {
    use super::us;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for (text, length) in [
            ("1m30s", Some(90_000_000)),
            ("1h0m0.5s", Some(3_600_500_000)),
            ("250ms", Some(250_000)),
            ("PT30S", Some(30_000_000)),
            ("P1DT2H", Some(93_600_000_000)),
            ("pt0.25s", Some(250_000)),
            ("00:00:30", Some(30_000_000)),
            ("1:30", Some(90_000_000)),
            ("0:00:00.125", Some(125_000)),
            ("P1M1Y", None),
            ("soon", None),
            ("1:2:3:4", None),
            ("-5s", None),
            ("", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(us(text), length, "{text}");
        }
    }
}
