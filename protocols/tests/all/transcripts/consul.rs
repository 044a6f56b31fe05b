//! What is said to Consul and by it.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::consul::{Item, LOCK_FLAGS, Pair, Reads, Reply, Request, Watch},
};

const LANGUAGE: Language = Language { timers: &["renew", "again"], reply, item, request, stream };

#[test]
fn consul_session() {
    super::check("consul-session", &LANGUAGE, 10);
}

/// `none`, or `n1 of s1, lock 1 at 12`: its value, whose it is, how often it was acquired and when it was changed last.
fn pair(words: &[&str]) -> Option<Option<Pair>> {
    let ["none"] = words else {
        let [value, "of", session, "lock", lock, "at", index, flags @ ..] = words else { return None };
        return Some(Some(Pair {
            value: (*value).into(),
            flags: if *flags == ["unmarked"] { 0 } else { LOCK_FLAGS },
            session: Some((*session).into()).filter(|session| session != "nobody"),
            lock_index: lock.parse().ok()?,
            modify_index: index.parse().ok()?,
        }));
    };
    Some(None)
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let reply = match words {
        ["session", id] => Reply::Session { id: (*id).into() },
        ["renewed", alive] => Reply::Renewed { alive: *alive == "yes" },
        ["done", done] => Reply::Done(*done == "yes"),
        ["key", words @ ..] => Reply::Found(pair(words)?),
        _ => return None,
    };
    Some(reply.erase())
}

fn item(_: &Names, words: &[&str]) -> Option<Opaque> {
    Some(Item(pair(words.strip_prefix(&["key"])?)?).erase())
}

fn request(_: &Names, request: &Opaque) -> String {
    match request.get().expect("a request to Consul") {
        Request::CreateSession { name, ttl_ms, lock_delay_ms } => {
            let delay = lock_delay_ms.map_or(String::new(), |ms| format!(", lock-delay {ms}"));
            format!("create a session {name} of {ttl_ms} ms{delay}")
        }
        Request::RenewSession { session } => format!("renew {session}"),
        Request::DestroySession { session } => format!("destroy {session}"),
        Request::Acquire { key, value, session } => format!("acquire {key} {value} for {session}"),
        Request::Release { key, value, session } => format!("release {key} {value} of {session}"),
        Request::Get { key, reads } => format!("get {key}{}", how(*reads)),
    }
}

fn how(reads: Reads) -> &'static str {
    match reads {
        Reads::Default => "",
        Reads::Consistent => ", consistently",
        Reads::Stale => ", from anybody",
    }
}

fn stream(request: &Opaque) -> String {
    let Watch { key, reads, wait_ms } = request.get().expect("a watch");
    let consistent = how(*reads);
    let wait = wait_ms.map_or(String::new(), |ms| format!(", waiting {ms} ms"));
    format!("watch {key}{consistent}{wait}")
}
