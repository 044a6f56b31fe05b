//! Converts values to the type of their field: logs have numbers as text, names as numbers, tokens in other bases, and
//! durations in words.

use protocols::history::json::{Fields, Type};
use serde_json::Value;
use std::fmt;

/// Fields whose numbers may be negative.
const SIGNED: [&str; 2] = ["wall_offset_us", "rate_ppm"];
/// The client's name for requests that are not named `client:number`.
pub const REQUEST: &str = "request";

/// Up to this, a double tells whole numbers apart.
const DOUBLES_APART: f64 = 9_007_199_254_740_992.0;

/// Is the value empty? Databases write out missing values.
pub fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| ["", "NULL", "\\N"].contains(&text))
}

/// Is it a time that means never: PostgreSQL's `infinity`, the maximum of other databases, Go's zero time?
pub fn is_for_ever(value: &Value) -> bool {
    let text = plain(value).to_lowercase();
    text == "infinity" || text.starts_with("9999-") || text.starts_with("0001-01-01")
}

/// A value without quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Is it a number, or the text of one?
pub fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok())
}

/// Quotes a word for a command line.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,.:/@{}".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Converts the value of our field `ours`, called `theirs` in the log.
///
/// # Errors
/// The value does not fit the field.
pub(crate) fn retype(ours: &str, theirs: &str, value: Value) -> Result<Value, String> {
    let called = || if ours == theirs { ours.to_owned() } else { format!("{theirs} ({ours})") };
    let wants = |what: &str, value: &Value| format!("{} is {value}, and must be {what}", called());
    match Fields::type_of(ours) {
        Some(Type::Number) => match number(&value) {
            Some(number) if number.is_u64() || SIGNED.contains(&ours) => Ok(number),
            _ if ["token", "epoch"].contains(&ours) => {
                let word = plain(&value);
                let none = quoted(&format!("{ours}:{word}="));
                let none = format!("a whole number; if it means that there is no token, pass --word {none}");
                let is_word = value.is_string() && !word.contains(|c: char| c.is_ascii_digit());
                let opaque = "a whole number; if tokens are in no order, --opaque-tokens compares them for equality";
                Err(wants(if is_word { &none } else { opaque }, &value))
            }
            _ => Err(wants("a whole number", &value)),
        },
        Some(Type::Truth) => match plain(&value).to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "f" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(wants("true or false", &value)),
        },
        Some(Type::Text) if value.is_array() || value.is_object() => Err(wants("a word", &value)),
        Some(Type::Text) => Ok(Value::String(harmless(&plain(&value)))),
        Some(Type::Other) => Ok(match &value {
            // Tables hold lists as text.
            Value::String(text) => serde_json::from_str(text).unwrap_or(value),
            _ => value,
        }),
        _ => Ok(value),
    }
}

/// Parses a whole number in decimal, as `0x1f`, as PostgreSQL's `16/B3748`, or with only zeros after the point.
fn number(value: &Value) -> Option<Value> {
    if value.is_u64() || value.is_i64() {
        return Some(value.clone());
    }
    // Neighbours of a double this large are equal to it.
    if value.as_f64().is_some_and(|number| number >= DOUBLES_APART) && value.is_f64() {
        return None;
    }
    let text = plain(value);
    let text = text.trim();
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let whole = text.split_once('.').filter(|(_, parts)| parts.bytes().all(|byte| byte == b'0'));
    let text = whole.map_or(text, |(whole, _)| whole);
    if let Some((high, low)) = text.split_once('/') {
        let (high, low) = (hexadecimal(high)?, hexadecimal(low)?);
        return (high <= u32::MAX.into() && low <= u32::MAX.into()).then(|| (high << 32 | low).into());
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hexadecimal(digits).map(Value::from);
    }
    text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from)).ok()
}

/// Is a request named as in a history: `client:number`?
pub fn is_request(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(client, number)| {
        !client.is_empty() && number.parse::<u64>().is_ok_and(|n| n.to_string() == number)
    })
}

/// Escapes what would move a cursor or reverse text: names are shown in terminals and pages.
fn harmless(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(harmful) {
        return text.to_owned();
    }
    text.chars().map(|c| if harmful(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

// Parses durations: Go's `1m30s`, ISO 8601's `PT1M30S`, and `0:01:30`.

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
    use super::{us, *};
    use serde_json::json;

    #[test]
    fn tokens_are_read_as_services_write_them() {
        let token = |value: Value| retype("token", "fence", value);
        for (written, is) in [
            (json!("7"), 7_u64),
            (json!(7), 7),
            (json!("0x1f"), 31),
            (json!("0/16B3748"), 0x016b_3748),
            (json!("2/0"), 0x2_0000_0000_u64),
            (json!("41.0"), 41),
            (json!(41.0), 41),
            (json!("00000041"), 41),
        ] {
            assert_eq!(token(written.clone()), Ok(json!(is)), "{written}");
        }
        for wrong in [json!("12,041"), json!("41.5"), json!("seven"), json!("a/b/c"), json!("1ffffffff/0"), json!([1])]
        {
            let why = token(wrong.clone()).expect_err("no number");
            assert!(why.starts_with(&format!("fence (token) is {wrong}, and must be a whole number")), "{why}");
        }
    }

    #[test]
    fn requests_have_any_name_and_no_name_moves_the_cursor() {
        let is = |ours: &str, text: &str| retype(ours, ours, json!(text)).expect("text");
        assert!(
            is_request("10.0.0.1:5432:17") && !is_request("9b2e4c1e-6f0f") && !is_request(":1") && !is_request("a:01")
        );
        assert_eq!(is("node", "\u{1b}[31mred\nn2\u{202e}"), "\\u{1b}[31mred\\nn2\\u{202e}");
    }

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
