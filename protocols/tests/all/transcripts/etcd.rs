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
    super::check("etcd-election", &LANGUAGE, 15);
}

#[test]
fn etcd_key() {
    super::check("etcd-key", &LANGUAGE, 4);
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let number = |text: &str| text.parse::<i64>().ok();
    let reply = match words {
        ["granted", lease, "ttl", ttl_s] => {
            Reply::Granted { lease: i64::from_str_radix(lease, 16).ok()?, ttl_s: number(ttl_s)? }
        }
        ["revoked"] => Reply::Revoked,
        // The own lease is the one that was granted as `a1`.
        [done @ ("created" | "existed"), revision, value] => {
            created(*done == "created", revision, value, 0xa1, revision)?
        }
        ["existed", revision, value, "on", lease, "at", now] => {
            created(false, revision, value, i64::from_str_radix(lease, 16).ok()?, now)?
        }
        ["handed-over", done] => Reply::HandedOver { done: *done == "yes" },
        ["queue", keys @ ..] => {
            let key = |text: &&str| {
                let (name, rest) = text.split_once('=')?;
                let (value, created) = rest.split_once('@')?;
                Some(key(name, value, number(created)?))
            };
            Reply::Queue { keys: keys.iter().map(key).collect::<Option<_>>()? }
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

fn created(created: bool, revision: &str, value: &str, lease: i64, now: &str) -> Option<Reply> {
    let create_revision = revision.parse().ok()?;
    Some(Reply::Created { created, create_revision, value: value.into(), lease, revision: now.parse().ok()? })
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
    match request {
        Request::HandOver { key, create_revision, heir, passed_over } => {
            let guarded = |(key, revision): &(Vec<u8>, i64)| format!("{}@{revision}", key.escape_ascii());
            let over: Vec<String> = passed_over.iter().map(guarded).collect();
            format!("HandOver {key}@{create_revision} to {} over [{}]", guarded(heir), over.join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn stream(request: &Opaque) -> String {
    match request.get().expect("a stream of etcd's") {
        StreamRequest::WatchDelete { key, start_revision } => {
            format!("WatchDelete {} from {start_revision}", key.escape_ascii())
        }
        other => format!("{other:?}"),
    }
}
