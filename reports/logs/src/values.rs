//! Converts values to the type of their field: logs have numbers as text, names as numbers, and tokens in other bases.

use protocols::history::json::{Fields, Type};
use serde_json::Value;

/// Fields whose numbers may be negative.
const SIGNED: [&str; 2] = ["wall_offset_us", "rate_ppm"];
/// The client's name for requests that are not named `client:number`.
pub const REQUEST: &str = "request";

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
            _ if ["token", "epoch"].contains(&ours) => Err(wants(
                "a whole number; if tokens are in no order, --opaque-tokens compares them for equality",
                &value,
            )),
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
