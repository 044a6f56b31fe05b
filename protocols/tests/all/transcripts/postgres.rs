//! What is said to PostgreSQL and by it. It has no streams.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::postgres::{CheckIn, Reply, Request},
};

const LANGUAGE: Language = Language {
    timers: &["poll", "renew", "expire"],
    reply,
    item: |_, _| None,
    request,
    stream: |request| format!("{request:?}"),
};

#[test]
fn db_row() {
    super::check("db-row", &LANGUAGE, 5);
}

#[test]
fn db_row_node_clock() {
    super::check("db-row-node-clock", &LANGUAGE, 5);
}

#[test]
fn pg_advisory() {
    super::check("pg-advisory", &LANGUAGE, 4);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let reply = match words {
        ["done", done] => Reply::Done(done.parse().ok()?),
        ["holder", "none"] => Reply::Holder(None),
        ["holder", holder] => Reply::Holder(Some((*holder).to_owned())),
        ["token", "none"] => Reply::Token(None),
        ["token", token] => Reply::Token(Some(token.parse().ok()?)),
        ["session", "none"] => Reply::Session(None),
        ["session", session] => Reply::Session(Some(session.parse().ok()?)),
        ["row", "none"] => Reply::CheckIn(None),
        ["row", holder, last, interval, token] => Reply::CheckIn(Some(CheckIn {
            holder: if *holder == "nobody" { String::new() } else { (*holder).to_owned() },
            last_ms: last.parse().ok()?,
            interval_ms: interval.parse().ok()?,
            token: token.parse().ok()?,
        })),
        _ => return None,
    };
    Some(reply.erase())
}

fn request(_: &Names, request: &Opaque) -> String {
    match request.get().expect("a request for PostgreSQL") {
        Request::Take { name, holder, ttl_ms } => format!("take {name} {holder} {ttl_ms}"),
        Request::Extend { name, holder, ttl_ms } => format!("extend {name} {holder} {ttl_ms}"),
        Request::Release { name, holder } => format!("release {name} {holder}"),
        Request::Look { name } => format!("look {name}"),
        Request::Begin { name, who, .. } => format!("begin {name} {who}"),
        Request::End { put: None } => "rollback".to_owned(),
        Request::End { put: Some((name, row)) } => {
            let CheckIn { holder, last_ms, interval_ms, token } = row;
            format!("put {name} {holder:?} {last_ms} {interval_ms} {token}")
        }
        Request::TryLock { key, who } => format!("try-lock {key} {who}"),
        Request::Ping { session } => format!("ping {session}"),
        Request::Unlock { key, session } => format!("unlock {key} {session}"),
    }
}
