//! What is said to etcd and by it.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
};

const LANGUAGE: Language =
    Language { timers: &["keepalive", "deadline", "again", "reopen", "observe"], reply, item, request, stream };

#[test]
fn etcd_election() {
    super::check("etcd-election", &LANGUAGE, 12);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let number = |text: &str| text.parse::<i64>().ok();
    let reply = match words {
        ["granted", lease, "ttl", ttl_s] => {
            Reply::Granted { lease: i64::from_str_radix(lease, 16).ok()?, ttl_s: number(ttl_s)? }
        }
        ["revoked"] => Reply::Revoked,
        [done @ ("created" | "existed"), revision, value] => {
            Reply::Created { created: *done == "created", create_revision: number(revision)?, value: (*value).into() }
        }
        ["proclaimed", done] => Reply::Proclaimed { done: *done == "yes" },
        ["deleted", done] => Reply::Deleted { done: *done == "yes" },
        ["found", "none", "at", revision] => Reply::Found { key: None, revision: number(revision)? },
        ["found", name, value, created, "at", revision] => {
            Reply::Found { key: Some(key(name, value, number(created)?)), revision: number(revision)? }
        }
        _ => return None,
    };
    Some(reply.erase())
}

fn key(name: &str, value: &str, create_revision: i64) -> KeyState {
    KeyState { key: name.as_bytes().to_vec(), value: value.into(), create_revision, lease: 1 }
}

fn item(_: &Names, words: &[&str]) -> Option<Opaque> {
    let item = match words {
        ["kept", ttl_s] => Item::KeptAlive { ttl_s: ttl_s.parse().ok()? },
        ["deleted"] => Item::Deleted,
        ["changed", name, value] => Item::Changed { key: key(name, value, 1) },
        _ => return None,
    };
    Some(item.erase())
}

fn request(_: &Names, request: &Opaque) -> String {
    let request: &Request = request.get().expect("a request to etcd");
    format!("{request:?}")
}

fn stream(request: &Opaque) -> String {
    match request.get().expect("a stream of etcd's") {
        StreamRequest::WatchDelete { key, start_revision } => {
            format!("WatchDelete {} from {start_revision}", key.escape_ascii())
        }
        other => format!("{other:?}"),
    }
}
