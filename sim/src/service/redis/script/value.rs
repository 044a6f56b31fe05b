//! Values of scripts, and their way to replies and back.

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
