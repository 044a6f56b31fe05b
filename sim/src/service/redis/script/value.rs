//! x

use crate::service::redis::resp::Resp;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::service::redis) enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Vec<u8>),
    List(Vec<Value>),
    /// A status reply, which is a table without elements.
    Status(Resp),
}

impl Value {
    pub(in crate::service::redis) fn is_true(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// What `type` would say.
    pub(in crate::service::redis) fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::List(_) | Value::Status(_) => "table",
        }
    }

    /// Whether it is equal to another; each table is equal to itself only.
    pub(in crate::service::redis) fn is(&self, other: &Value) -> bool {
        !matches!(self, Value::List(_) | Value::Status(_)) && self == other
    }

    /// Where strings are joined; `None` for anything but strings and numbers.
    pub(in crate::service::redis) fn text(&self) -> Option<Vec<u8>> {
        self.shown(14)
    }

    /// As an argument of a command.
    pub(in crate::service::redis) fn word(&self) -> Option<Vec<u8>> {
        self.shown(17)
    }

    fn shown(&self, digits: u8) -> Option<Vec<u8>> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(shown(*number, digits).into_bytes()),
            _ => None,
        }
    }

    /// As a number; strings that show one count.
    pub(in crate::service::redis) fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(text) => {
                let text = std::str::from_utf8(text).ok()?.trim();
                // Rust also reads `inf` and `nan`.
                text.parse().ok().filter(|_| text.bytes().any(|byte| byte.is_ascii_digit()))
            }
            _ => None,
        }
    }

    /// What a command within a script answers (`src/script_lua.c: redisProtocolToLuaType*`).
    pub(in crate::service::redis) fn of(reply: Resp) -> Value {
        match reply {
            Resp::Integer(value) => Value::Number(value as f64),
            Resp::Bulk(bytes) => Value::Text(bytes),
            Resp::Nil | Resp::NilArray => Value::Bool(false),
            Resp::Array(items) => Value::List(items.into_iter().map(Value::of).collect()),
            Resp::Map(pairs) => {
                Value::List(pairs.into_iter().flat_map(|(key, value)| [Value::of(key), Value::of(value)]).collect())
            }
            status => Value::Status(status),
        }
    }

    /// What a script's value is as a reply (`src/script_lua.c: luaReplyToRedisReply`).
    pub(in crate::service::redis) fn reply(self) -> Resp {
        match self {
            Value::Nil | Value::Bool(false) => Resp::Nil,
            Value::Bool(true) => Resp::Integer(1),
            Value::Number(number) => Resp::Integer(whole(number)),
            Value::Text(text) => Resp::Bulk(text),
            // A list ends before its first nil.
            Value::List(items) => Resp::Array(
                items.into_iter().take_while(|item| !matches!(item, Value::Nil)).map(Value::reply).collect(),
            ),
            Value::Status(status) => status,
        }
    }
}

/// A number as an integer. Lua's numbers are doubles: beyond 2^53, integers change, fencing tokens included.
fn whole(double: f64) -> i64 {
    // 2^63 does not fit into an i64. C leaves the result undefined; x86-64 gives the lowest value.
    if double >= -(i64::MIN as f64) { i64::MIN } else { double as i64 }
}

/// A number as C's `%.14g` shows it, with so many digits.
fn shown(number: f64, digits: u8) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let places = usize::from(digits) - 1;
    let scientific = format!("{number:.places$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..i32::from(digits)).contains(&exponent) {
        let places = usize::try_from(i32::from(digits) - 1 - exponent).unwrap_or(0);
        return trimmed(&format!("{number:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

// The words of a script.

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word {
    /// A name or a keyword.
    Name(String),
    Number(f64),
    Text(Vec<u8>),
    Sign(&'static str),
}

/// A word and its line, counted from 1.
pub(super) type Placed = (Word, u32);

/// Why a script is refused.
pub(super) fn refused(line: u32, word: &str) -> String {
    crate::service::grants::tell_refused("Redis", &format!("the script's line {line} has {word:?}"));
    format!("ERR this simulated Redis understands a part of Lua only, and not '{word}' on line {line} of this script")
}

/// Longer ones first.
const SIGNS: [&str; 24] = [
    "==", "~=", "<=", ">=", "..", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ";", ".", "+", "-", "*", "/", "%",
    "#", ":",
];

/// # Errors
/// A sign that is not known, a string that does not end, or a number that is none.
pub(super) fn words(text: &[u8]) -> Result<Vec<Placed>, String> {
    let (mut rest, mut line, mut words) = (text, 1, Vec::new());
    while let [first, after @ ..] = rest {
        match first {
            b'\n' => {
                line += 1;
                rest = after;
            }
            b' ' | b'\t' | b'\r' => rest = after,
            b'-' if after.first() == Some(&b'-') => rest = comment(rest, line)?,
            b'"' | b'\'' => {
                let (string, after) = string(*first, after, line)?;
                words.push((Word::Text(string), line));
                rest = after;
            }
            b'0'..=b'9' => {
                let (number, after) = taken(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'.');
                let value = number.parse().map_err(|_| refused(line, &number))?;
                words.push((Word::Number(value), line));
                rest = after;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let (name, after) = taken(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                words.push((Word::Name(name), line));
                rest = after;
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign.as_bytes()));
                let sign = sign.ok_or_else(|| refused(line, &char::from(*first).to_string()))?;
                words.push((Word::Sign(sign), line));
                rest = &rest[sign.len()..];
            }
        }
    }
    Ok(words)
}

fn taken(rest: &[u8], is: impl Fn(&u8) -> bool) -> (String, &[u8]) {
    let end = rest.iter().position(|byte| !is(byte)).unwrap_or(rest.len());
    (String::from_utf8_lossy(&rest[..end]).into_owned(), &rest[end..])
}

/// What follows a comment of one line.
fn comment(rest: &[u8], line: u32) -> Result<&[u8], String> {
    if rest.starts_with(b"--[[") {
        return Err(refused(line, "--[["));
    }
    Ok(&rest[rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())..])
}

/// A string after its opening quote, and what follows it.
fn string(quote: u8, mut rest: &[u8], line: u32) -> Result<(Vec<u8>, &[u8]), String> {
    let mut string = Vec::new();
    loop {
        rest = match rest {
            [end, after @ ..] if *end == quote => return Ok((string, after)),
            [b'\\', escaped, after @ ..] => {
                string.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'\\' | b'"' | b'\'' => *escaped,
                    _ => return Err(refused(line, "\\")),
                });
                after
            }
            [] | [b'\n', ..] => return Err(refused(line, &char::from(quote).to_string())),
            [byte, after @ ..] => {
                string.push(*byte);
                after
            }
        };
    }
}
