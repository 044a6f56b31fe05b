//! Redis: the elections' requests, and the scripts that it runs for them.
//!
//! Whatever must be atomic is a server-side script: Redis runs one command or script at a time (redis/redis,
//! `src/script.c: scriptPrepareForRun`), so nothing can happen between a script's comparison and its action.
//!
//! No election needs a stream from Redis; opening one is refused.

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

/// The types of Redis's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = Nothing;
    type Item = Nothing;
}

/// Renews `KEYS[1]` to `ARGV[2]` milliseconds if it still holds `ARGV[1]`; returns 1 if so, else 0.
pub const COMPARE_AND_PEXPIRE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end
";

/// Deletes `KEYS[1]` if it still holds `ARGV[1]`; returns 1 if so, else 0.
pub const COMPARE_AND_DELETE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end
";

/// Takes `KEYS[1]` with value `ARGV[1]` for `ARGV[2]` milliseconds if it is free, and only then draws the next fencing
/// token from the counter `KEYS[2]`; returns the token, or nil. Acquisition and token are one step (fencing rule 6),
/// and a failed attempt uses up no token.
pub const ACQUIRE_FENCED: &str = "\
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('incr', KEYS[2])
else
  return nil
end
";

/// Takes `KEYS[1]` with value `ARGV[1]` for `ARGV[2]` milliseconds if it is free, or extends it if it holds that value;
/// returns nil if it holds another. Redlock's request to each server, to lock and to extend (leandromoreira/redlock-rb
/// 0.1.7, `lib/redlock/client.rb: RedisInstance#lock`).
pub const LOCK: &str = "\
local held = redis.call('get', KEYS[1])
if held == false or held == ARGV[1] then
  return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
else
  return nil
end
";

/// Hands `KEYS[1]` over if it still holds `ARGV[1]`: draws the next token from the counter `KEYS[2]`, and sets the key
/// to `ARGV[2]` followed by that token, for `ARGV[3]` milliseconds; returns the token, or nil. The old holder, the new
/// one and its token change in one step.
pub const HAND_OVER: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  local token = redis.call('incr', KEYS[2])
  redis.call('set', KEYS[1], ARGV[2] .. string.format('%.0f', token), 'PX', ARGV[3])
  return token
else
  return nil
end
";

/// A request to Redis. TTLs are milliseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// `SET key value NX PX ttl`: take the key if it is free. Answered by [`Reply::Done`].
    SetNxPx { key: String, value: String, ttl_ms: u64 },
    /// `GET key`. Answered by [`Reply::Value`].
    Get { key: String },
    /// `DEL key`, whoever owns it. Answered by [`Reply::Done`]: whether it existed.
    Del { key: String },
    /// `PEXPIRE key ttl`, whoever owns it. Answered by [`Reply::Done`]: whether it existed.
    Pexpire {
        key: String,
        /// TTL from now.
        ttl_ms: u64,
    },
    /// [`COMPARE_AND_PEXPIRE`]. Answered by [`Reply::Done`].
    CompareAndPexpire {
        key: String,
        /// The required value.
        value: String,
        /// TTL from now.
        ttl_ms: u64,
    },
    /// [`COMPARE_AND_DELETE`]. Answered by [`Reply::Done`].
    CompareAndDelete {
        key: String,
        /// The required value.
        value: String,
    },
    /// [`ACQUIRE_FENCED`]. Answered by [`Reply::Token`].
    AcquireFenced {
        key: String,
        /// The counter for the token.
        token_key: String,
        value: String,
        ttl_ms: u64,
    },
    /// [`LOCK`]. Answered by [`Reply::Done`].
    Lock {
        key: String,
        value: String,
        /// TTL from now.
        ttl_ms: u64,
    },
    /// [`HAND_OVER`]. Answered by [`Reply::Token`].
    HandOver {
        key: String,
        /// The counter for the token.
        token_key: String,
        /// The required value.
        value: String,
        /// The new value, before the token.
        to: String,
        /// TTL from now.
        ttl_ms: u64,
    },
}

/// The answer to a [`Request`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// Whether it was done; `false` if the condition did not hold.
    Done(bool),
    /// The key's value; `None` if it does not exist.
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
