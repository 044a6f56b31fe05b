//! Parses durations: Go's `1m30s`, ISO 8601's `PT1M30S`, and `0:01:30`.

use std::fmt;

/// Units of Go and ISO 8601, in seconds. A month has no fixed length.
const LONG: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
/// Units shorter than a second.
const SHORT: [(&str, Unit); 4] = [("ms", Unit::Ms), ("us", Unit::Us), ("µs", Unit::Us), ("ns", Unit::Ns)];

/// The duration in microseconds, if it is written in one of these ways.
pub fn us(text: &str) -> Option<u64> {
    let small = text.trim().to_lowercase();
    let ns = match small.strip_prefix('p') {
        Some(iso) => parts(&iso.replacen('t', "", 1)),
        None if small.contains(':') => clock(&small),
        None => parts(&small),
    };
    ns.map(|ns| ns / 1_000)
}

/// The duration of numbers with a unit each, nanoseconds.
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

/// The duration of `h:m:s` or `m:s`, nanoseconds.
fn clock(text: &str) -> Option<u64> {
    let all: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&all.len()) {
        return None;
    }
    all.iter().try_fold(0_u64, |ns, part| ns.checked_mul(60)?.checked_add(Decimal::read(part)?.ns(Unit::S)?))
}

/// The unit of a numeric time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// How many nanoseconds the unit has.
    pub(super) const fn ns(self) -> u128 {
        match self {
            Unit::S => 1_000_000_000,
            Unit::Ms => 1_000_000,
            Unit::Us => 1_000,
            Unit::Ns => 1,
        }
    }

    /// The unit in which the number is a time of this century. Units differ by a factor of 1,000, so at most one fits.
    pub(super) fn of_an_epoch(whole: u128) -> Option<Unit> {
        [Unit::S, Unit::Ms, Unit::Us, Unit::Ns].into_iter().find(|unit| {
            let seconds = whole * unit.ns() / Unit::S.ns();
            // From 2001 to 2100.
            (1_000_000_000..4_102_444_800).contains(&seconds)
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Unit::S => "seconds",
            Unit::Ms => "milliseconds",
            Unit::Us => "microseconds",
            Unit::Ns => "nanoseconds",
        })
    }
}

/// A non-negative decimal number, kept exactly: a double would lose nanoseconds.
pub(super) struct Decimal {
    pub(super) whole: u128,
    /// The fraction, in units of 10^-18.
    parts: u128,
}

impl Decimal {
    pub(super) fn read(text: &str) -> Option<Decimal> {
        let (whole, parts) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 20 || !digits(whole) || !digits(parts) {
            // With an exponent, only as exact as a double.
            let number = text.parse::<f64>().ok().filter(|number| (0.0..1e20).contains(number))?;
            return Some(Decimal { whole: number as u128, parts: (number.fract() * 1e18) as u128 });
        }
        let parts: String = format!("{parts:0<18}").chars().take(18).collect();
        Some(Decimal { whole: whole.parse().ok()?, parts: parts.parse().ok()? })
    }

    pub(super) fn ns(&self, unit: Unit) -> Option<u64> {
        let whole = self.whole.checked_mul(unit.ns())?;
        u64::try_from(whole + self.parts * unit.ns() / 10_u128.pow(18)).ok()
    }
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
