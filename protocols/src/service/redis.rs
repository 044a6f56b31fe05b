//! Redis: what the elections ask of it, and the scripts that it runs for them.
//!
//! Whatever must be atomic is a server-side script: Redis runs one command or script at a time
//! (redis/redis, `src/script.c: scriptPrepareForRun`), so nobody can come between a script's compare and its act.
//!
//! Redis has no streams that an election here needs; opening one is refused.

use super::Service;
use crate::{
    news::{Holder, News, Purpose},
    payload::{Nothing, Payload},
};

/// One Redis server.
pub const SERVICE: Service = Service {
    name: "redis",
    process: Some("redis"),
    port: 6379,
    elects: true,
    keeps_data: true,
    has_keys: true,
    counts_tokens: true,
    expires_by_wall_clock: true,
    is_asked: true,
    has_groups: true,
    ..Service::NONE
};

/// What is said to Redis and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// Renews `KEYS[1]` to `ARGV[2]` milliseconds if it still holds `ARGV[1]`; 1 if so, else 0.
pub const COMPARE_AND_PEXPIRE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end
";

/// Deletes `KEYS[1]` if it still holds `ARGV[1]`; 1 if so, else 0.
pub const COMPARE_AND_DELETE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end
";

/// Takes `KEYS[1]` with value `ARGV[1]` for `ARGV[2]` milliseconds if nobody has it, and only then draws the next fencing
/// token from the counter `KEYS[2]`; the token, or nil. Acquisition and token are one step (fencing rule 6), and an
/// attempt that fails burns nothing.
pub const ACQUIRE_FENCED: &str = "\
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('incr', KEYS[2])
else
  return nil
end
";

/// Takes `KEYS[1]` with value `ARGV[1]` for `ARGV[2]` milliseconds if nobody has it, or extends it if that value holds it;
/// nil when another holds it. What Redlock asks of each server, to lock and to extend (leandromoreira/redlock-rb 0.1.7,
/// `lib/redlock/client.rb: RedisInstance#lock`).
pub const LOCK: &str = "\
local held = redis.call('get', KEYS[1])
if held == false or held == ARGV[1] then
  return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
else
  return nil
end
";

/// Hands `KEYS[1]` over if it still holds `ARGV[1]`: draws the next token from the counter `KEYS[2]`, and gives the key the
/// value `ARGV[2]` and that token for `ARGV[3]` milliseconds; the token, or nil. Nobody can come between the old holder, the
/// new one, and its token.
pub const HAND_OVER: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  local token = redis.call('incr', KEYS[2])
  redis.call('set', KEYS[1], ARGV[2] .. string.format('%.0f', token), 'PX', ARGV[3])
  return token
else
  return nil
end
";

/// A request to Redis. Times to live are milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `SET key value NX PX ttl`: take the key if nobody has it. Answered by [`Reply::Done`].
    SetNxPx {
        /// The key.
        key: String,
        /// Who takes it.
        value: String,
        /// Time to live, milliseconds.
        ttl_ms: u64,
    },
    /// `GET key`. Answered by [`Reply::Value`].
    Get {
        /// The key.
        key: String,
    },
    /// `DEL key`, whoever's it is. Answered by [`Reply::Done`]: was there one?
    Del {
        /// The key.
        key: String,
    },
    /// `PEXPIRE key ttl`, whoever's it is. Answered by [`Reply::Done`]: was there one?
    Pexpire {
        /// The key.
        key: String,
        /// Time to live from now, milliseconds.
        ttl_ms: u64,
    },
    /// [`COMPARE_AND_PEXPIRE`]. Answered by [`Reply::Done`].
    CompareAndPexpire {
        /// The key.
        key: String,
        /// What it must hold.
        value: String,
        /// Time to live from now, milliseconds.
        ttl_ms: u64,
    },
    /// [`COMPARE_AND_DELETE`]. Answered by [`Reply::Done`].
    CompareAndDelete {
        /// The key.
        key: String,
        /// What it must hold.
        value: String,
    },
    /// [`ACQUIRE_FENCED`]. Answered by [`Reply::Token`].
    AcquireFenced {
        /// The key.
        key: String,
        /// The counter that tokens are drawn from.
        token_key: String,
        /// Who takes the key.
        value: String,
        /// Time to live, milliseconds.
        ttl_ms: u64,
    },
    /// [`LOCK`]. Answered by [`Reply::Done`].
    Lock {
        /// The key.
        key: String,
        /// Who takes it, or extends it.
        value: String,
        /// Time to live from now, milliseconds.
        ttl_ms: u64,
    },
    /// [`HAND_OVER`]. Answered by [`Reply::Token`].
    HandOver {
        /// The key.
        key: String,
        /// The counter that tokens are drawn from.
        token_key: String,
        /// What it must hold.
        value: String,
        /// What it is to hold, before the token.
        to: String,
        /// Time to live from now, milliseconds.
        ttl_ms: u64,
    },
}

/// The answer to a [`Request`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// Was it done? `false` when the condition did not hold.
    Done(bool),
    /// What the key holds; `None` when there is no such key.
    Value(Option<Vec<u8>>),
    /// The fencing token, at least 1, if the key was taken.
    Token(Option<u64>),
}

impl Payload for Request {
    fn purpose(&self) -> Purpose {
        match self {
            Request::SetNxPx { .. } | Request::AcquireFenced { .. } | Request::Lock { .. } => Purpose::Candidacy,
            Request::Pexpire { .. } | Request::CompareAndPexpire { .. } => Purpose::Renewal,
            Request::Get { .. } => Purpose::Holder,
            Request::Del { .. } | Request::CompareAndDelete { .. } | Request::HandOver { .. } => Purpose::Other,
        }
    }
}

impl Payload for Reply {
    fn news(&self) -> News {
        let holder = |value: &Vec<u8>| Holder {
            place: "the leaders' key".to_owned(),
            value: String::from_utf8_lossy(value).into_owned(),
        };
        match self {
            Reply::Value(value) => News { held: value.is_some(), holder: Some(value.as_ref().map(holder)) },
            Reply::Done(done) => News { held: !done, holder: None },
            Reply::Token(token) => News { held: token.is_none(), holder: None },
        }
    }
}
