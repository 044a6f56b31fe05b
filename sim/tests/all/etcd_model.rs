//! Plays the transcripts in `testdata/etcd-model.txt` to the etcd model.
//!
//! `@ SECONDS` sets the member's clock, `> request` asks, `< answer` is the answer, `~ stream …` a watch response.
//! `FENCEPOST_UPDATE=1 cargo test -p sim-tests etcd_model::` records the `<` and `~` lines anew.

use crate::{
    texts::etcd::{
        Names, Words, bytes, delete, operation, put, range, revision, show_delete, show_put, show_range, show_txn,
        show_watch, txn,
    },
    transcripts,
};
use etcd_client::proto::*;
use sim::service::etcd::model::{Error, Model, Renewal, WatchCreate};
use std::{fmt::Write, path::Path};

fn watch(model: &mut Model, w: &Words) -> String {
    let stream = || w.plain(2).parse().expect("a stream");
    match w.plain(1) {
        "open" => return format!("stream {}", model.watch_open()),
        "close" => model.watch_close(stream()),
        "cancel" => model.watch_cancel(stream(), w.plain(3).parse().expect("a watch")),
        "progress" => model.watch_progress(stream()),
        "sync" => model.watch_sync(),
        "create" => {
            let wants = WatchCreate {
                key: bytes(w.plain(3)),
                range_end: w.end(w.plain(3)),
                start_revision: w.number("start"),
                no_put: w.flag("no_put"),
                no_delete: w.flag("no_delete"),
                prev_kv: w.flag("prev_kv"),
                watch_id: w.number("id"),
            };
            model.watch_create(stream(), wants);
        }
        other => panic!("no such thing to do with a watch: {other}"),
    }
    String::new()
}

fn ask(model: &mut Model, n: &Names, now: u64, text: &str) -> Result<String, Error> {
    let w = Words::of(text);
    Ok(match w.plain(0) {
        "get" => show_range(n, &model.range(&range(n, &w))?),
        "put" => show_put(n, &model.put(&put(n, &w))?),
        "del" => show_delete(n, &model.delete_range(&delete(&w))?),
        "txn" => {
            let mut tokens = text.split_whitespace().skip(1).map(String::from);
            show_txn(n, &model.txn(&txn(n, &mut tokens))?)
        }
        "txn_of" => {
            // Too long to write out: this many operations.
            let size = w.plain(1).parse().expect("a number");
            let operation = PbTxnRequestOp { request: operation(n, "get a") };
            let request = PbTxnRequest { success: vec![operation; size], ..PbTxnRequest::default() };
            format!("revision {}", revision(n, &model.txn(&request)?.header))
        }
        "compact" => {
            let request = PbCompactionRequest { revision: w.plain(1).parse().expect("a number"), physical: false };
            format!("revision {}", revision(n, &model.compact(&request)?.header))
        }
        "grant" => {
            let request = PbLeaseGrantRequest { ttl: w.plain(1).parse().expect("a number"), id: n.lease(&w) };
            let r = model.lease_grant(now, &request)?;
            format!("revision {} lease {:x} ttl {}", revision(n, &r.header), r.id, r.ttl)
        }
        "revoke" => {
            let r = model.lease_revoke(&PbLeaseRevokeRequest { id: n.lease(&w) })?;
            format!("revision {}", revision(n, &r.header))
        }
        "keepalive" => match model.lease_keep_alive(now, n.lease(&w)) {
            Renewal::Answered(r) => format!("revision {} ttl {}", revision(n, &r.header), r.ttl),
            Renewal::Expired => "waits for the revocation".to_string(),
        },
        "ttl" => {
            let request = PbLeaseTimeToLiveRequest { id: n.lease(&w), keys: w.flag("keys") };
            let r = model.lease_time_to_live(now, &request);
            let keys: String = r.keys.iter().map(|key| format!(" {}", key.escape_ascii())).collect();
            format!("revision {} ttl {} of {}{keys}", revision(n, &r.header), r.ttl, r.granted_ttl)
        }
        "leases" => model.lease_leases().leases.iter().map(|lease| format!("{:x} ", lease.id)).collect(),
        "expire" => {
            model.expire_leases(now);
            String::new()
        }
        "promote" => {
            model.promote(now);
            String::new()
        }
        "watch" => watch(model, &w),
        other => panic!("no such request: {other}"),
    })
}

fn play(script: &str) -> String {
    let (mut model, mut now, mut text) = (Model::new(), 0, String::new());
    let n = &Names::default();
    for line in script.lines().filter(|line| !line.starts_with(['<', '~'])) {
        writeln!(text, "{line}").expect("a string");
        if let Some(seconds) = line.strip_prefix("@ ") {
            now = (seconds.parse::<f64>().expect("seconds") * 1e9) as u64;
        }
        let Some(request) = line.strip_prefix("> ") else { continue };
        match ask(&mut model, n, now, request) {
            Ok(answer) if answer.trim().is_empty() => {}
            Ok(answer) => writeln!(text, "< {}", answer.trim_end()).expect("a string"),
            Err(error) => writeln!(text, "< {:?}: {}", error.words().0, error.words().1).expect("a string"),
        }
        for (stream, response) in model.take_watch_responses() {
            writeln!(text, "~ stream {stream} {}", show_watch(n, &response)).expect("a string");
        }
    }
    text
}

#[test]
fn transcripts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/etcd-model.txt");
    transcripts::check(&file, 3, play);
}
