//! etcd: requests and answers as lines. `put k v lease:abc prev_kv`, `get a to:c rev:5`, `txn if [ create(k)=0 ] then [
//! put k v ] else [ get k ]`.

use etcd_client::proto::*;
use std::fmt::Write;

/// The words of one request: `name`, plain words, and `key=value` options or flags.
pub struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Self {
        Words(text.split_whitespace().collect())
    }

    pub fn plain(&self, place: usize) -> &'a str {
        self.0.get(place).copied().unwrap_or_default()
    }

    pub fn option(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))
    }

    pub fn number(&self, name: &str) -> i64 {
        self.option(name).map_or(0, |text| text.parse().expect(name))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// The end of the range: `to:KEY`, `from_key`, `prefix`, or the single key.
    pub fn end(&self, key: &str) -> Vec<u8> {
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

/// Translates a text's numbers, if revisions count from a base, and the names `L1`, `L2` … of leases whose ids the
/// server chose. The default leaves every number as it is.
#[derive(Clone, Default, Debug)]
pub struct Names {
    /// The server's revision minus the text's.
    pub base: i64,
    /// The ids that `L1`, `L2` … stand for.
    pub leases: Vec<i64>,
}

impl Names {
    /// Converts a text's revision to the server's; numbers that are no revision (0 means none) stay.
    pub fn to_server(&self, revision: i64) -> i64 {
        if revision > 0 { revision + self.base } else { revision }
    }

    fn to_text(&self, revision: i64) -> i64 {
        if revision > 0 { revision - self.base } else { revision }
    }

    /// The lease that `lease:` names; 0 if there is none.
    pub fn lease(&self, w: &Words) -> i64 {
        w.option("lease").map_or(0, |text| self.id(text))
    }

    fn id(&self, text: &str) -> i64 {
        match text.strip_prefix('L').and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => self.leases.get(number - 1).copied().unwrap_or(i64::MAX),
            None => i64::from_str_radix(text, 16).expect("hex"),
        }
    }

    /// The name of the lease in a text.
    pub fn show_lease(&self, id: i64) -> String {
        let place = self.leases.iter().position(|lease| *lease == id);
        place.map_or(format!("{id:x}"), |place| format!("L{}", place + 1))
    }
}

/// `""` is the empty word.
pub fn bytes(word: &str) -> Vec<u8> {
    word.trim_matches('"').as_bytes().to_vec()
}

pub fn range(n: &Names, w: &Words) -> PbRangeRequest {
    let place = |options: &[&str], name: &str| {
        w.option(name).map_or(0, |o| options.iter().position(|x| *x == o).map_or(9, |place| place as i32))
    };
    PbRangeRequest {
        key: bytes(w.plain(1)),
        range_end: w.end(w.plain(1)),
        limit: w.number("limit"),
        revision: n.to_server(w.number("rev")),
        sort_order: place(&["none", "ascend", "descend"], "order"),
        sort_target: place(&["key", "version", "create", "mod", "value"], "sort"),
        keys_only: w.flag("keys_only"),
        count_only: w.flag("count_only"),
        min_mod_revision: n.to_server(w.number("min_mod")),
        max_mod_revision: n.to_server(w.number("max_mod")),
        min_create_revision: n.to_server(w.number("min_create")),
        max_create_revision: n.to_server(w.number("max_create")),
        ..PbRangeRequest::default()
    }
}

pub fn put(n: &Names, w: &Words) -> PbPutRequest {
    PbPutRequest {
        key: bytes(w.plain(1)),
        value: bytes(w.plain(2)),
        lease: n.lease(w),
        prev_kv: w.flag("prev_kv"),
        ignore_value: w.flag("ignore_value"),
        ignore_lease: w.flag("ignore_lease"),
    }
}

pub fn delete(w: &Words) -> PbDeleteRequest {
    PbDeleteRequest { key: bytes(w.plain(1)), range_end: w.end(w.plain(1)), prev_kv: w.flag("prev_kv") }
}

/// Parses `if [ create(a)=0 ] then [ put a 1 ; get a ] else [ txn if […] … ]`.
pub fn txn(n: &Names, tokens: &mut impl Iterator<Item = String>) -> PbTxnRequest {
    let mut request = PbTxnRequest::default();
    for part in 0..3 {
        tokens.next().expect("if, then, else");
        assert_eq!(tokens.next().as_deref(), Some("["));
        let mut words = Vec::new();
        loop {
            let token = tokens.next().expect("]");
            if token == "txn" {
                let inner = PbTxnOpRequest::RequestTxn(txn(n, tokens));
                let branch = if part == 1 { &mut request.success } else { &mut request.failure };
                branch.push(PbTxnRequestOp { request: Some(inner) });
                continue;
            }
            if token != ";" && token != "]" {
                words.push(token);
                continue;
            }
            match part {
                0 => request.compare.extend(words.iter().map(|word| compare(n, word))),
                _ if words.is_empty() => {}
                _ => {
                    let operation = PbTxnRequestOp { request: operation(n, &words.join(" ")) };
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

pub fn operation(n: &Names, text: &str) -> Option<PbTxnOpRequest> {
    let w = Words::of(text);
    match w.plain(0) {
        "put" => Some(PbTxnOpRequest::RequestPut(put(n, &w))),
        "get" => Some(PbTxnOpRequest::RequestRange(range(n, &w))),
        "del" => Some(PbTxnOpRequest::RequestDeleteRange(delete(&w))),
        "nothing" => None,
        other => panic!("no such operation: {other}"),
    }
}

/// Parses `target(key)=value`, `target(key..end)>value`.
fn compare(n: &Names, text: &str) -> PbCompare {
    let (target, rest) = text.split_once('(').expect("(");
    let (keys, rest) = rest.split_once(')').expect(")");
    let (key, end) = keys.split_once("..").unwrap_or((keys, ""));
    let (sign, value) = rest.split_at(1);
    let number = || value.parse().expect("a number");
    let (target, union) = match target {
        "version" => (0, PbTargetUnion::Version(number())),
        "create" => (1, PbTargetUnion::CreateRevision(n.to_server(number()))),
        "mod" => (2, PbTargetUnion::ModRevision(n.to_server(number()))),
        "value" => (3, PbTargetUnion::Value(bytes(value))),
        "lease" => (4, PbTargetUnion::Lease(n.id(value))),
        other => panic!("no such target: {other}"),
    };
    let result = "=><!".find(sign).expect("=, >, < or !") as i32;
    PbCompare { result, target, key: key.into(), range_end: end.into(), target_union: Some(union) }
}

fn show_kv(n: &Names, kv: &PbKeyValue) -> String {
    let (key, value) = (kv.key.escape_ascii(), kv.value.escape_ascii());
    let lease = if kv.lease == 0 { String::new() } else { format!(" lease {}", n.show_lease(kv.lease)) };
    let (created, modified) = (n.to_text(kv.create_revision), n.to_text(kv.mod_revision));
    format!("{key}={value} (created {created} modified {modified} version {}{lease})", kv.version)
}

pub fn show_kvs<'a>(n: &Names, kvs: impl IntoIterator<Item = &'a PbKeyValue>) -> String {
    kvs.into_iter().map(|kv| format!(" {}", show_kv(n, kv))).collect()
}

pub fn revision(n: &Names, header: &Option<PbResponseHeader>) -> i64 {
    header.as_ref().map_or(-1, |header| n.to_text(header.revision))
}

pub fn show_range(n: &Names, r: &PbRangeResponse) -> String {
    let more = if r.more { " more" } else { "" };
    format!("revision {} count {}{more}{}", revision(n, &r.header), r.count, show_kvs(n, &r.kvs))
}

pub fn show_put(n: &Names, r: &PbPutResponse) -> String {
    format!("revision {}{}", revision(n, &r.header), show_kvs(n, &r.prev_kv))
}

pub fn show_delete(n: &Names, r: &PbDeleteResponse) -> String {
    format!("revision {} deleted {}{}", revision(n, &r.header), r.deleted, show_kvs(n, &r.prev_kvs))
}

pub fn show_txn(n: &Names, r: &PbTxnResponse) -> String {
    let responses = r.responses.iter().map(|response| match &response.response {
        Some(PbTxnOpResponse::ResponseRange(r)) => format!(" | get {}", show_range(n, r)),
        Some(PbTxnOpResponse::ResponsePut(r)) => format!(" | put {}", show_put(n, r)),
        Some(PbTxnOpResponse::ResponseDeleteRange(r)) => format!(" | del {}", show_delete(n, r)),
        Some(PbTxnOpResponse::ResponseTxn(r)) => format!(" | txn ({})", show_txn(n, r)),
        None => " | nothing".to_string(),
    });
    let branch = if r.succeeded { "then" } else { "else" };
    format!("revision {} {branch}{}", revision(n, &r.header), responses.collect::<String>())
}

pub fn show_watch(n: &Names, r: &PbWatchResponse) -> String {
    let mut text = format!("watch {} revision {}", r.watch_id, revision(n, &r.header));
    for (is, word) in [(r.created, " created"), (r.canceled, " cancelled")] {
        text += if is { word } else { "" };
    }
    if r.compact_revision != 0 {
        write!(text, " compacted at {}", n.to_text(r.compact_revision)).expect("a string");
    }
    if !r.cancel_reason.is_empty() {
        write!(text, " because: {}", r.cancel_reason).expect("a string");
    }
    for event in &r.events {
        let kind = if event.r#type == 0 { "put" } else { "delete" };
        write!(text, " {kind}{}", show_kvs(n, &event.kv)).expect("a string");
        if event.prev_kv.is_some() {
            write!(text, " before{}", show_kvs(n, &event.prev_kv)).expect("a string");
        }
    }
    text
}
