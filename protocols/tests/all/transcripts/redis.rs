//! What is said to Redis and by it. It has no streams.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::{
        redis::{Reply, Request},
        redis_servers,
    },
};

const LANGUAGE: Language = Language {
    timers: &["poll", "renew", "expire"],
    reply,
    item: |_, _| None,
    request,
    stream: |request| format!("{request:?}"),
};

/// The same of several servers.
const SERVERS: Language = Language {
    timers: &["poll", "renew", "expire", "retry"],
    request: |names, request| {
        let redis_servers::Request { member, request } = request.get().expect("a request for one of several Redis");
        format!("of {member}: {}", self::request(names, &request.clone().erase()))
    },
    ..LANGUAGE
};

#[test]
fn redlock() {
    super::check("redlock", &SERVERS, 5);
}

#[test]
fn redis_naive() {
    super::check("redis-naive", &LANGUAGE, 7);
}

#[test]
fn redis_lease() {
    super::check("redis-lease", &LANGUAGE, 12);
}

#[test]
fn redis_fenced() {
    super::check("redis-fenced", &LANGUAGE, 15);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let reply = match words {
        ["done", done] => Reply::Done(done.parse().ok()?),
        ["value", "none"] => Reply::Value(None),
        ["value", value] => Reply::Value(Some(value.as_bytes().to_vec())),
        ["token", "none"] => Reply::Token(None),
        ["token", token] => Reply::Token(Some(token.parse().ok()?)),
        _ => return None,
    };
    Some(reply.erase())
}

fn request(_: &Names, request: &Opaque) -> String {
    match request.get().expect("a request for Redis") {
        Request::SetNxPx { key, value, ttl_ms } => format!("set {key} {value} nx px {ttl_ms}"),
        Request::Get { key } => format!("get {key}"),
        Request::Del { key } => format!("del {key}"),
        Request::Pexpire { key, ttl_ms } => format!("pexpire {key} {ttl_ms}"),
        Request::CompareAndPexpire { key, value, ttl_ms } => format!("compare-and-pexpire {key} {value} {ttl_ms}"),
        Request::CompareAndDelete { key, value } => format!("compare-and-delete {key} {value}"),
        Request::AcquireFenced { key, token_key, value, ttl_ms } => {
            format!("acquire-fenced {key} {token_key} {value} {ttl_ms}")
        }
        Request::Lock { key, value, ttl_ms } => format!("lock {key} {value} {ttl_ms}"),
        Request::HandOver { key, token_key, value, to, ttl_ms } => {
            format!("hand-over {key} {token_key} {value} {to} {ttl_ms}")
        }
    }
}
