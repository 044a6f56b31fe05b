//! Scripts: the part of Lua that locks and elections are written in, understood rather than recognised. What lies beyond
//! it is refused when the script is loaded, with the line and the word.
//!
//! Known are `local`, assignment, `if`, `return`, `redis.call`, `KEYS`, `ARGV`, `tonumber`, `tostring`,
//! `string.format` with `%.0f` or `%d`, lists, and all operators but `^`. Not known are loops, functions, other fields
//! and libraries, and `redis.pcall`.
//!
//! Reference: redis/redis 7.0, `src/eval.c: evalGenericCommand, scriptCommand`, `src/script_lua.c:
//! luaRedisGenericCommand, luaReplyToRedisReply, luaError`; the Lua 5.1 manual. Within a script, time stands still; an
//! error in `redis.call` ends the script and keeps its earlier effects.

pub(super) mod parse;
pub(super) mod value;

use parse::Block;
use std::sync::Arc;

/// A loaded script.
#[derive(Clone, Debug)]
pub(super) struct Script {
    digest: Arc<str>,
    pub(super) block: Arc<Block>,
}

impl Script {
    /// # Errors
    /// The script goes beyond what this server understands.
    pub(super) fn load(text: &[u8]) -> Result<Script, String> {
        let block = parse::script(text)?;
        Ok(Script { digest: sha1_smol::Sha1::from(text).digest().to_string().into(), block: Arc::new(block) })
    }

    /// The SHA-1 digest of its text, which is its name in Redis.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}
