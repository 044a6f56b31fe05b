//! Plays the transcripts in `testdata/etcd-model` to the model of etcd.
//!
//! `@ SECONDS` sets the member's clock, `> request` asks, `< answer` is what it said, `~ stream …` what its watches said.
//! `<` and `~` lines are written by `FENCEPOST_UPDATE=1 cargo test -p sim --test etcd_model`.

#![cfg(madsim)]

use etcd_client::proto::*;
use sim::service::etcd::model::{Error, Model, Renewal, WatchCreate};
use std::{fmt::Write, fs, path::Path};

/// The words of one request: `name`, plain words, and `key=value` options or flags.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        Words(text.split_whitespace().collect())
    }

    fn plain(&self, place: usize) -> &'a str {
        self.0.get(place).copied().unwrap_or_default()
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))
    }

    fn number(&self, name: &str) -> i64 {
        self.option(name).map_or(0, |text| text.parse().expect(name))
    }

    fn lease(&self) -> i64 {
        self.option("lease").map_or(0, hex)
    }

    fn flag(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// `to:KEY`, `from_key`, `prefix`, or the one key.
    fn end(&self, key: &str) -> Vec<u8> {
        match self.option("to") {
            Some(end) => end.into(),
            None if self.flag("from_key") => vec![0],
            None if self.flag("prefix") => {
                let mut end = key.as_bytes().to_vec();
                *end.last_mut().expect("a key") += 1;
                end
            }
            None => Vec::new(),
        }
    }
}

fn hex(text: &str) -> i64 {
    i64::from_str_radix(text, 16).expect("hex")
}

/// `""` is the empty word.
fn bytes(word: &str) -> Vec<u8> {
    word.trim_matches('"').as_bytes().to_vec()
}

fn range(w: &Words) -> PbRangeRequest {
    let place = |options: &[&str], name: &str| {
        w.option(name).map_or(0, |o| options.iter().position(|x| *x == o).map_or(9, |place| place as i32))
    };
    PbRangeRequest {
        key: bytes(w.plain(1)),
        range_end: w.end(w.plain(1)),
        limit: w.number("limit"),
        revision: w.number("rev"),
        sort_order: place(&["none", "ascend", "descend"], "order"),
        sort_target: place(&["key", "version", "create", "mod", "value"], "sort"),
        keys_only: w.flag("keys_only"),
        count_only: w.flag("count_only"),
        min_mod_revision: w.number("min_mod"),
        max_mod_revision: w.number("max_mod"),
        min_create_revision: w.number("min_create"),
        max_create_revision: w.number("max_create"),
        ..PbRangeRequest::default()
    }
}

fn put(w: &Words) -> PbPutRequest {
    PbPutRequest {
        key: bytes(w.plain(1)),
        value: bytes(w.plain(2)),
        lease: w.lease(),
        prev_kv: w.flag("prev_kv"),
        ignore_value: w.flag("ignore_value"),
        ignore_lease: w.flag("ignore_lease"),
    }
}

fn delete(w: &Words) -> PbDeleteRequest {
    PbDeleteRequest { key: bytes(w.plain(1)), range_end: w.end(w.plain(1)), prev_kv: w.flag("prev_kv") }
}

/// `if [ create(a)=0 ] then [ put a 1 ; get a ] else [ txn if […] … ]`.
fn txn(tokens: &mut impl Iterator<Item = String>) -> PbTxnRequest {
    let mut request = PbTxnRequest::default();
    for part in 0..3 {
        tokens.next().expect("if, then, else");
        assert_eq!(tokens.next().as_deref(), Some("["));
        let mut words = Vec::new();
        loop {
            let token = tokens.next().expect("]");
            if token == "txn" {
                let inner = PbTxnOpRequest::RequestTxn(txn(tokens));
                let branch = if part == 1 { &mut request.success } else { &mut request.failure };
                branch.push(PbTxnRequestOp { request: Some(inner) });
                continue;
            }
            if token != ";" && token != "]" {
                words.push(token);
                continue;
            }
            match part {
                0 => request.compare.extend(words.iter().map(|word| compare(word))),
                _ if words.is_empty() => {}
                _ => {
                    let operation = PbTxnRequestOp { request: operation(&words.join(" ")) };
                    if part == 1 { request.success.push(operation) } else { request.failure.push(operation) }
                }
            }
            words.clear();
            if token == "]" {
                break;
            }
        }
    }
    request
}

fn operation(text: &str) -> Option<PbTxnOpRequest> {
    let w = Words::of(text);
    match w.plain(0) {
        "put" => Some(PbTxnOpRequest::RequestPut(put(&w))),
        "get" => Some(PbTxnOpRequest::RequestRange(range(&w))),
        "del" => Some(PbTxnOpRequest::RequestDeleteRange(delete(&w))),
        "nothing" => None,
        other => panic!("no such operation: {other}"),
    }
}

/// `target(key)=value`, `target(key..end)>value`.
fn compare(text: &str) -> PbCompare {
    let (target, rest) = text.split_once('(').expect("(");
    let (keys, rest) = rest.split_once(')').expect(")");
    let (key, end) = keys.split_once("..").unwrap_or((keys, ""));
    let (sign, value) = rest.split_at(1);
    let number = || value.parse().expect("a number");
    let (target, union) = match target {
        "version" => (0, PbTargetUnion::Version(number())),
        "create" => (1, PbTargetUnion::CreateRevision(number())),
        "mod" => (2, PbTargetUnion::ModRevision(number())),
        "value" => (3, PbTargetUnion::Value(bytes(value))),
        "lease" => (4, PbTargetUnion::Lease(hex(value))),
        other => panic!("no such target: {other}"),
    };
    let result = "=><!".find(sign).expect("=, >, < or !") as i32;
    PbCompare { result, target, key: key.into(), range_end: end.into(), target_union: Some(union) }
}

fn show_kv(kv: &PbKeyValue) -> String {
    let (key, value) = (kv.key.escape_ascii(), kv.value.escape_ascii());
    let lease = if kv.lease == 0 { String::new() } else { format!(" lease {:x}", kv.lease) };
    format!("{key}={value} (created {} modified {} version {}{lease})", kv.create_revision, kv.mod_revision, kv.version)
}

fn show_kvs<'a>(kvs: impl IntoIterator<Item = &'a PbKeyValue>) -> String {
    kvs.into_iter().map(|kv| format!(" {}", show_kv(kv))).collect()
}

fn revision(header: &Option<PbResponseHeader>) -> i64 {
    header.as_ref().map_or(-1, |header| header.revision)
}

fn show_range(r: &PbRangeResponse) -> String {
    let more = if r.more { " more" } else { "" };
    format!("revision {} count {}{more}{}", revision(&r.header), r.count, show_kvs(&r.kvs))
}

fn show_put(r: &PbPutResponse) -> String {
    format!("revision {}{}", revision(&r.header), show_kvs(&r.prev_kv))
}

fn show_delete(r: &PbDeleteResponse) -> String {
    format!("revision {} deleted {}{}", revision(&r.header), r.deleted, show_kvs(&r.prev_kvs))
}

fn show_txn(r: &PbTxnResponse) -> String {
    let responses = r.responses.iter().map(|response| match &response.response {
        Some(PbTxnOpResponse::ResponseRange(r)) => format!(" | get {}", show_range(r)),
        Some(PbTxnOpResponse::ResponsePut(r)) => format!(" | put {}", show_put(r)),
        Some(PbTxnOpResponse::ResponseDeleteRange(r)) => format!(" | del {}", show_delete(r)),
        Some(PbTxnOpResponse::ResponseTxn(r)) => format!(" | txn ({})", show_txn(r)),
        None => " | nothing".to_string(),
    });
    let branch = if r.succeeded { "then" } else { "else" };
    format!("revision {} {branch}{}", revision(&r.header), responses.collect::<String>())
}

fn show_watch(r: &PbWatchResponse) -> String {
    let mut text = format!("watch {} revision {}", r.watch_id, revision(&r.header));
    for (is, word) in [(r.created, " created"), (r.canceled, " cancelled")] {
        text += if is { word } else { "" };
    }
    if r.compact_revision != 0 {
        write!(text, " compacted at {}", r.compact_revision).expect("a string");
    }
    if !r.cancel_reason.is_empty() {
        write!(text, " because: {}", r.cancel_reason).expect("a string");
    }
    for event in &r.events {
        let kind = if event.r#type == 0 { "put" } else { "delete" };
        write!(text, " {kind}{}", show_kvs(&event.kv)).expect("a string");
        if event.prev_kv.is_some() {
            write!(text, " before{}", show_kvs(&event.prev_kv)).expect("a string");
        }
    }
    text
}

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

fn ask(model: &mut Model, now: u64, text: &str) -> Result<String, Error> {
    let w = Words::of(text);
    Ok(match w.plain(0) {
        "get" => show_range(&model.range(&range(&w))?),
        "put" => show_put(&model.put(&put(&w))?),
        "del" => show_delete(&model.delete_range(&delete(&w))?),
        "txn" => {
            let mut tokens = text.split_whitespace().skip(1).map(String::from);
            show_txn(&model.txn(&txn(&mut tokens))?)
        }
        "txn_of" => {
            // Too long to write down: so many operations.
            let size = w.plain(1).parse().expect("a number");
            let operation = PbTxnRequestOp { request: operation("get a") };
            let request = PbTxnRequest { success: vec![operation; size], ..PbTxnRequest::default() };
            format!("revision {}", revision(&model.txn(&request)?.header))
        }
        "compact" => {
            let request = PbCompactionRequest { revision: w.plain(1).parse().expect("a number"), physical: false };
            format!("revision {}", revision(&model.compact(&request)?.header))
        }
        "grant" => {
            let request = PbLeaseGrantRequest { ttl: w.plain(1).parse().expect("a number"), id: w.lease() };
            let r = model.lease_grant(now, &request)?;
            format!("revision {} lease {:x} ttl {}", revision(&r.header), r.id, r.ttl)
        }
        "revoke" => {
            let r = model.lease_revoke(&PbLeaseRevokeRequest { id: w.lease() })?;
            format!("revision {}", revision(&r.header))
        }
        "keepalive" => match model.lease_keep_alive(now, w.lease()) {
            Renewal::Answered(r) => format!("revision {} ttl {}", revision(&r.header), r.ttl),
            Renewal::Expired => "waits for the revocation".to_string(),
        },
        "ttl" => {
            let request = PbLeaseTimeToLiveRequest { id: w.lease(), keys: w.flag("keys") };
            let r = model.lease_time_to_live(now, &request);
            let keys: String = r.keys.iter().map(|key| format!(" {}", key.escape_ascii())).collect();
            format!("revision {} ttl {} of {}{keys}", revision(&r.header), r.ttl, r.granted_ttl)
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
    for line in script.lines().filter(|line| !line.starts_with(['<', '~'])) {
        writeln!(text, "{line}").expect("a string");
        if let Some(seconds) = line.strip_prefix("@ ") {
            now = (seconds.parse::<f64>().expect("seconds") * 1e9) as u64;
        }
        let Some(request) = line.strip_prefix("> ") else { continue };
        match ask(&mut model, now, request) {
            Ok(answer) if answer.trim().is_empty() => {}
            Ok(answer) => writeln!(text, "< {}", answer.trim_end()).expect("a string"),
            Err(error) => writeln!(text, "< {:?}: {}", error.words().0, error.words().1).expect("a string"),
        }
        for (stream, response) in model.take_watch_responses() {
            writeln!(text, "~ stream {stream} {}", show_watch(&response)).expect("a string");
        }
    }
    text
}

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/etcd-model");
    let mut paths: Vec<_> = fs::read_dir(&folder).expect("testdata").map(|f| f.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 4, "transcripts are missing");
    for path in paths {
        let script = fs::read_to_string(&path).expect("a transcript");
        let played = play(&script);
        if std::env::var_os("FENCEPOST_UPDATE").is_some() {
            fs::write(&path, &played).expect("writable");
        } else {
            assert_eq!(played, script, "{}: regenerate with FENCEPOST_UPDATE=1 and read the diff", path.display());
        }
    }
}
