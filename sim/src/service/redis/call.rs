//! A command in execution, and helpers to read its arguments.

use super::{
    model::{Model, Session},
    resp::Resp,
};

pub(super) const SYNTAX: &str = "ERR syntax error";
pub(super) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";

/// A command in execution. Errors are error replies.
pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) session: &'a mut Session,
    pub(super) now_ms: i64,
    /// The name used in error replies.
    pub(super) name: &'static str,
    /// Executes another command; scripts do so.
    pub(super) execute: Execute,
    /// All arguments, beginning with the command's name; their number matches its arity.
    pub(super) args: &'a [Vec<u8>],
}

/// Executes a command; the time is the server's wall clock, in milliseconds since the Unix epoch.
pub(super) type Execute = fn(&mut Model, &mut Session, i64, &[Vec<u8>]) -> Resp;

pub(super) type Outcome = Result<Resp, String>;

/// A command: its name, its arity including the name (negative: the minimum), and its function.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) arity: i32,
    pub(super) run: fn(&mut Call) -> Outcome,
}

pub(super) fn wrong_arity(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// Quotes bytes for an error reply: C's `printf` ends a string at a NUL byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses an integer like Redis: no sign except a minus, no leading zeros, no blanks (`src/util.c: string2ll`).
pub(super) fn integer(bytes: &[u8]) -> Result<i64, String> {
    let (negative, digits) = bytes.strip_prefix(b"-").map_or((false, bytes), |digits| (true, digits));
    let plain = bytes == b"0" || matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit);
    // Negative numbers have one more value.
    let add = |value: i64, digit: &u8| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'));
    let value = if plain { digits.iter().try_fold(0, add) } else { None };
    let value = if negative { value } else { value.and_then(i64::checked_neg) };
    value.ok_or_else(|| NOT_AN_INTEGER.into())
}
