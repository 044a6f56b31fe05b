//! What is said to Kubernetes' API server and by it. Its times are in milliseconds here. It has no streams.

use super::{Language, Names};
use protocols::{
    payload::{Opaque, Payload},
    service::kubernetes::{Record, Reply, Request},
    types::{MICROSECOND, MILLISECOND},
};

const LANGUAGE: Language = Language {
    timers: &["call", "deadline"],
    reply,
    item: |_, _| None,
    request,
    stream: |request| format!("{request:?}"),
};

#[test]
fn k8s_lease() {
    super::check("k8s-lease", &LANGUAGE, 8);
}

/// Microseconds in one of the transcripts' milliseconds.
const US: u64 = MILLISECOND / MICROSECOND;

/// `n1_x 15 s acquired 1 renewed 2 transitions 0 version 7`, as it is shown in requests.
fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let number = |text: &str| text.parse::<u64>().ok();
    let reply = match words {
        [
            holder,
            seconds,
            "s",
            "acquired",
            acquired,
            "renewed",
            renewed,
            "transitions",
            transitions,
            "version",
            version,
        ] => {
            let record = Record {
                holder: if *holder == "nobody" { String::new() } else { (*holder).into() },
                duration_s: seconds.parse().ok()?,
                acquired_us: number(acquired)? * US,
                renewed_us: number(renewed)? * US,
                transitions: transitions.parse().ok()?,
            };
            Reply::Lease { record, version: (*version).into() }
        }
        ["not-found"] => Reply::NotFound,
        ["conflict"] => Reply::Conflict,
        _ => return None,
    };
    Some(reply.erase())
}

fn shown(record: &Record) -> String {
    let Record { holder, duration_s, acquired_us, renewed_us, transitions } = record;
    let holder = if holder.is_empty() { "nobody" } else { holder };
    let [acquired, renewed] = [acquired_us, renewed_us].map(|us| us / US);
    format!("{holder} {duration_s} s acquired {acquired} renewed {renewed} transitions {transitions}")
}

fn request(_: &Names, request: &Opaque) -> String {
    match request.get().expect("a request to Kubernetes") {
        Request::Get { name } => format!("get {name}"),
        Request::Create { name, record } => format!("create {name}: {}", shown(record)),
        Request::Update { name, version, record } => format!("update {name} version {version}: {}", shown(record)),
    }
}
