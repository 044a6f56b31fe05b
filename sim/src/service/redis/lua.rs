//! The scripts, implemented in Rust instead of Lua.
//!
//! Reference: redis/redis 7.0, `src/eval.c: evalGenericCommand, scriptCommand`, `src/script_lua.c:
//! luaRedisGenericCommand, luaReplyToRedisReply, luaError`. Within a script, time stands still; an error in
//! `redis.call` ends the script and keeps its earlier effects.

use super::{call::Call, resp::Resp, script::Known};

impl Known {
    /// Executes the script.
    pub(super) fn run(self, call: &mut Call, keys: &[Vec<u8>], argv: &[Vec<u8>]) -> Result<Resp, String> {
        let (key, value, ttl) = (keys.first(), argv.first(), argv.get(1));
        let mut lua = Lua { script: self, call };
        match self {
            Known::CompareAndPexpire | Known::CompareAndDelete => {
                let held = lua.call(1, &[Some(b"get"), word(key)])?;
                if Some(held) != value.map(Resp::bulk) {
                    Ok(Resp::Integer(0))
                } else if self == Known::CompareAndPexpire {
                    lua.call(2, &[Some(b"pexpire"), word(key), word(ttl)])
                } else {
                    lua.call(2, &[Some(b"del"), word(key)])
                }
            }
            Known::AcquireFenced => {
                let set = [Some(b"set".as_slice()), word(key), word(value), Some(b"NX"), Some(b"PX"), word(ttl)];
                match lua.call(1, &set)? {
                    Resp::Nil => Ok(Resp::Nil),
                    _ => lua.call(2, &[Some(b"incr"), word(keys.get(1))]),
                }
            }
            Known::Lock => match lua.call(1, &[Some(b"get"), word(key)])? {
                held if held == Resp::Nil || Some(&held) == value.map(Resp::bulk).as_ref() => {
                    lua.call(3, &[Some(b"set"), word(key), word(value), Some(b"PX"), word(ttl)])
                }
                _ => Ok(Resp::Nil),
            },
            Known::HandOver => {
                if Some(lua.call(1, &[Some(b"get"), word(key)])?) != value.map(Resp::bulk) {
                    return Ok(Resp::Nil);
                }
                let token = lua.call(2, &[Some(b"incr"), word(keys.get(1))])?;
                let number = if let Resp::Integer(token) = token { token } else { 0 };
                let mut to = argv.get(1).cloned().unwrap_or_default();
                to.extend_from_slice(number.to_string().as_bytes());
                lua.call(3, &[Some(b"set"), word(key), Some(&to), Some(b"PX"), word(argv.get(2))])?;
                Ok(token)
            }
        }
    }
}

/// An element of `KEYS` or `ARGV`; nil if it does not exist.
fn word(word: Option<&Vec<u8>>) -> Option<&[u8]> {
    word.map(Vec::as_slice)
}

/// A running script.
struct Lua<'a, 'b> {
    script: Known,
    call: &'a mut Call<'b>,
}

impl Lua<'_, '_> {
    /// `redis.call(…)` on this line of the script.
    fn call(&mut self, line: u32, words: &[Option<&[u8]>]) -> Result<Resp, String> {
        let reply = if words.contains(&None) {
            Resp::Error("ERR Lua redis lib command arguments must be strings or integers".into())
        } else {
            let args: Vec<Vec<u8>> = words.iter().map(|word| word.unwrap_or_default().to_vec()).collect();
            (self.call.execute)(self.call.model, self.call.session, self.call.now_ms, &args)
        };
        match reply {
            Resp::Error(error) => Err(format!("{error} script: {}, on @user_script:{line}.", self.script.digest())),
            Resp::Integer(value) => Ok(Resp::Integer(through_lua(value))),
            reply => Ok(reply),
        }
    }
}

/// An integer that passes through a script. Lua's numbers are doubles: beyond 2^53, integers change, fencing tokens
/// included (`src/script_lua.c: redisProtocolToLuaType_Int, luaReplyToRedisReply`).
fn through_lua(value: i64) -> i64 {
    let double = value as f64;
    // 2^63 does not fit into an i64. C leaves the result undefined; x86-64 gives the lowest value.
    if double >= -(i64::MIN as f64) { i64::MIN } else { double as i64 }
}
