//! A command under way, and what all commands need to read their arguments.

use super::{
    model::{Model, Session},
    resp::Resp,
};

pub(super) const SYNTAX: &str = "ERR syntax error";
pub(super) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";

/// A command under way. Errors are the words of the reply.
pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) session: &'a mut Session,
    pub(super) now_ms: i64,
    /// The name that error replies use.
    pub(super) name: &'static str,
    /// Carries out another command: a script has some.
    pub(super) execute: Execute,
    /// Everything that was sent, the name first; as many as the command's arity asks for.
    pub(super) args: &'a [Vec<u8>],
}

/// Finds and runs a command; the time is the server's wall clock, milliseconds since the Unix epoch.
pub(super) type Execute = fn(&mut Model, &mut Session, i64, &[Vec<u8>]) -> Resp;

pub(super) type Outcome = Result<Resp, String>;

/// A command: its name, how many arguments it takes with its own name (negative: at least so many), what it does.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) arity: i32,
    pub(super) run: fn(&mut Call) -> Outcome,
}

pub(super) fn wrong_arity(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// For quoting in an error reply: it goes through C's `printf`, for which a string ends at a NUL byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// An integer the way Redis reads it: no sign but a minus, no leading zero, no blank (`src/util.c: string2ll`).
pub(super) fn integer(bytes: &[u8]) -> Result<i64, String> {
    let (negative, digits) = bytes.strip_prefix(b"-").map_or((false, bytes), |digits| (true, digits));
    let plain = bytes == b"0" || matches!(digits.first(), Some(b'1'..=b'9')) && digits.iter().all(u8::is_ascii_digit);
    // Downwards, where there is one more.
    let add = |value: i64, digit: &u8| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'));
    let value = if plain { digits.iter().try_fold(0, add) } else { None };
    let value = if negative { value } else { value.and_then(i64::checked_neg) };
    value.ok_or_else(|| NOT_AN_INTEGER.into())
}
