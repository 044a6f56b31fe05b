//! What is said to an object store and by it. It has no streams.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::object_store::{Condition, Lease, Reply, Request},
};

const LANGUAGE: Language = Language {
    timers: &["turn", "expire"],
    reply,
    item: |_, _| None,
    request,
    stream: |request| format!("{request:?}"),
};

#[test]
fn object_lease() {
    super::check("object-lease", &LANGUAGE, 8);
}

#[test]
fn dynamodb_lock() {
    super::check("dynamodb-lock", &LANGUAGE, 10);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let reply = match words {
        ["object", holder, "token", token, "ttl", ttl, "beat", beat, "tag", tag] => {
            let lease = Lease {
                holder: if *holder == "nobody" { String::new() } else { (*holder).into() },
                token: token.parse().ok()?,
                ttl_ms: ttl.parse().ok()?,
                beat: beat.parse().ok()?,
            };
            Reply::Object(lease, (*tag).into())
        }
        ["missing"] => Reply::Missing,
        ["stored", tag] => Reply::Stored((*tag).into()),
        ["refused"] => Reply::Refused,
        _ => return None,
    };
    Some(reply.erase())
}

fn request(_: &Names, request: &Opaque) -> String {
    match request.get().expect("a request to an object store") {
        Request::Get { key } => format!("get {key}"),
        Request::Put { key, lease, condition } => {
            let Lease { holder, token, ttl_ms, beat } = lease;
            let holder = if holder.is_empty() { "nobody" } else { holder };
            let condition = match condition {
                Condition::Absent => "if there is none".to_owned(),
                Condition::Tag(tag) => format!("if it is {tag}"),
            };
            format!("put {key} {condition}: {holder} token {token} ttl {ttl_ms} beat {beat}")
        }
    }
}
