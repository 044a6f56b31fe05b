//! etcd: generated requests of several sessions, on the model and one version at a time. At the end of a sequence,
//! every event of the watches is compared.

use super::{etcd::Etcd, generate, report, script::Arm};
use crate::texts::etcd::Words;
use proptest::{prelude::*, sample::select};
use servers::Version;
use std::time::Duration;

/// The actions in order: lines of a script, but each `watch KEY …` opens its own stream.
type Sequence = Vec<String>;

/// Before a compaction, watches must have caught up with the history that it removes; otherwise their events depend on
/// timing.
const CAUGHT_UP: Duration = Duration::from_millis(300);

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    select(words).prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    word(&["a", "a", "ab", "b", "b", "ba", "c", "\"\""])
}

/// A key or a range.
fn keys() -> impl Strategy<Value = String> {
    let one = word(&["a", "ab", "b", "ba", "c"]);
    (one, word(&["", "", "prefix", "from_key", "to:b", "to:c", "to:a"])).prop_map(|(key, end)| format!("{key} {end}"))
}

fn value() -> impl Strategy<Value = String> {
    word(&["1", "2", "x", "\"\""])
}

fn lease() -> impl Strategy<Value = String> {
    word(&["lease:1", "lease:1", "lease:2", "lease:2", "lease:L1", "lease:77"])
}

fn revision() -> impl Strategy<Value = String> {
    (0i64..30).prop_map(|revision| revision.to_string())
}

fn flags(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::subsequence(words, 0..=words.len()).prop_map(|words| words.join(" "))
}

fn put() -> impl Strategy<Value = String> {
    let leased = prop_oneof![3 => Just(String::new()), 2 => lease()];
    let plain = (key(), value(), leased, flags(&["prev_kv"]));
    let kept = (key(), value(), lease(), flags(&["prev_kv", "ignore_value", "ignore_lease"]));
    prop_oneof![
        5 => plain.prop_map(|(key, value, lease, flags)| format!("put {key} {value} {lease} {flags}")),
        1 => kept.prop_map(|(key, value, lease, flags)| format!("put {key} {value} {lease} {flags}")),
        1 => (key(), flags(&["prev_kv", "ignore_value", "ignore_lease"])).prop_map(|(k, f)| format!("put {k} \"\" {f}")),
    ]
}

fn delete() -> impl Strategy<Value = String> {
    (keys(), flags(&["prev_kv"])).prop_map(|(keys, flags)| format!("del {keys} {flags}"))
}

fn get() -> impl Strategy<Value = String> {
    let option = prop_oneof![
        2 => (1i64..4).prop_map(|limit| format!("limit:{limit}")),
        2 => revision().prop_map(|revision| format!("rev:{revision}")),
        2 => (word(&["key", "version", "create", "mod", "value"]), word(&["none", "ascend", "descend"]))
            .prop_map(|(target, order)| format!("sort:{target} order:{order}")),
        1 => (word(&["min_mod", "max_mod", "min_create", "max_create"]), revision()).prop_map(|(o, r)| format!("{o}:{r}")),
        1 => word(&["keys_only", "count_only", "order:odd", "limit:-1"]),
    ];
    (keys(), prop::collection::vec(option, 0..4))
        .prop_map(|(keys, options)| format!("get {keys} {}", options.join(" ")))
}

fn compare() -> impl Strategy<Value = String> {
    let range = word(&["a", "ab", "b", "c", "zz", "a..c", "a..z", "y..z"]);
    let number = (word(&["version", "create", "mod"]), range.clone(), word(&["=", ">", "<", "!"]), 0i64..6);
    let value = (range.clone(), word(&["=", ">", "<", "!"]), value());
    prop_oneof![
        4 => number.prop_map(|(target, keys, sign, number)| format!("{target}({keys}){sign}{number}")),
        2 => value.prop_map(|(keys, sign, value)| format!("value({keys}){sign}{value}")),
        1 => (range, word(&["=", "!"]), word(&["0", "1", "2"])).prop_map(|(keys, s, id)| format!("lease({keys}){s}{id}")),
    ]
}

fn transaction() -> impl Strategy<Value = String> {
    let txn = |operations: BoxedStrategy<String>| {
        let branch = prop::collection::vec(operations, 0..4).prop_map(|operations| operations.join(" ; "));
        (prop::collection::vec(compare(), 0..3), branch.clone(), branch).prop_map(|(compares, then, otherwise)| {
            format!("txn if [ {} ] then [ {then} ] else [ {otherwise} ]", compares.join(" "))
        })
    };
    let plain = || prop_oneof![4 => put(), 2 => delete(), 3 => get()].boxed();
    let inner = || prop_oneof![6 => plain(), 1 => txn(plain())].boxed();
    txn(prop_oneof![8 => plain(), 1 => txn(inner())].boxed()).prop_map(harmless)
}

/// Avoids transactions that delete with `from_key` what they put with `ignore_…`, which crash both versions: see
/// `not-modelled` in the scripts.
fn harmless(txn: String) -> String {
    let deadly = txn.contains("del ") && txn.contains("from_key");
    if deadly { txn.replace("ignore_value", "").replace("ignore_lease", "") } else { txn }
}

fn of_leases() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (word(&["60", "61", "90"]), lease()).prop_map(|(ttl, lease)| format!("grant {ttl} {lease}")),
        1 => word(&["grant 60", "grant 9000000001", "grant 80 lease:-5"]),
        3 => lease().prop_map(|lease| format!("revoke {lease}")),
        1 => lease().prop_map(|lease| format!("keepalive {lease}")),
        2 => lease().prop_map(|lease| format!("ttl {lease} keys")),
        1 => Just("leases".to_owned()),
    ]
}

fn watch() -> impl Strategy<Value = String> {
    let start = prop_oneof![Just(String::new()), (2i64..25).prop_map(|revision| format!("start:{revision}"))];
    let filter = word(&["", "", "no_put", "no_delete"]);
    (keys(), start, filter, flags(&["prev_kv"])).prop_map(|(keys, s, f, flags)| format!("watch {keys} {s} {f} {flags}"))
}

fn line() -> impl Strategy<Value = String> {
    let request = prop_oneof![
        30 => put(),
        9 => delete(),
        20 => get(),
        24 => transaction(),
        17 => of_leases(),
        2 => watch(),
        1 => (1i64..25).prop_map(|revision| format!("compact {revision}")),
    ];
    (word(&["a", "b", "c"]), request).prop_map(|(session, request)| format!("{session}> {request}"))
}

/// Whether the answers agree; the remaining time of a lease may differ.
fn agree(request: &str, model: &[String], real: &[String]) -> bool {
    if !request.starts_with("ttl ") || model.len() != 1 || real.len() != 1 {
        return model == real;
    }
    let seconds = |words: &[&str]| words.get(3).and_then(|word| word.parse::<i64>().ok());
    let (mut m, mut r): (Vec<_>, Vec<_>) = (model[0].split(' ').collect(), real[0].split(' ').collect());
    let near = seconds(&m).zip(seconds(&r)).is_some_and(|(m, r)| (m - r).abs() <= 1);
    if near {
        (m[3], r[3]) = ("", "");
    }
    m == r
}

/// A watch that was opened.
struct Opened {
    stream: i64,
    session: String,
    request: String,
}

/// One sequence on both arms.
struct Play<'a> {
    model: &'a mut Etcd,
    real: &'a mut Etcd,
    told: String,
    count: usize,
    opened: Vec<Opened>,
    catching_up: bool,
    compacted: i64,
}

impl Play<'_> {
    async fn both(&mut self, session: &str, request: &str) -> Result<Vec<String>, String> {
        self.told += &format!("  {session}> {request}\n");
        let (model, real) = tokio::join!(self.model.ask(session, request), self.real.ask(session, request));
        self.count += 1;
        if agree(request, &model, &real) {
            real.iter().for_each(|line| self.told += &format!("  < {line}\n"));
            return Ok(real);
        }
        Err(self.differ(&model, &real))
    }

    fn differ(&self, model: &[String], real: &[String]) -> String {
        let list = |lines: &[String]| lines.iter().map(|line| format!("\n    {line}")).collect::<String>();
        format!("{}  {} said{}\n  the model said{}", self.told, self.real.name(), list(real), list(model))
    }

    async fn line(&mut self, line: &str) -> Result<(), String> {
        let (session, request) = line.split_once("> ").expect("a line has a session");
        if let Some(watch) = request.strip_prefix("watch ") {
            // A deletion at exactly the compacted revision: see `not-modelled` in the scripts.
            if Words::of(watch).number("start") == self.compacted {
                return Ok(());
            }
            let stream = self.opened.len() as i64 + 1;
            self.both(session, "watch open").await?;
            self.both(session, &format!("watch create {stream} {watch}")).await?;
            self.both(session, &format!("watch read {stream} 1")).await?;
            self.catching_up |= watch.contains("start:");
            self.opened.push(Opened { stream, session: session.into(), request: request.into() });
            return Ok(());
        }
        let Some(revision) = request.strip_prefix("compact ") else {
            return self.both(session, request).await.map(drop);
        };
        if std::mem::take(&mut self.catching_up) {
            tokio::time::sleep(CAUGHT_UP).await;
        }
        if self.both(session, request).await?[0].starts_with("revision ") {
            self.compacted = revision.parse().expect("a revision");
        }
        Ok(())
    }

    /// Compares what the watches received, up to a change that each of them must receive.
    async fn watches(&mut self) -> Result<(), String> {
        for Opened { stream, session, request } in std::mem::take(&mut self.opened) {
            let w = Words::of(&request);
            // A reversed range is empty.
            let end = w.end(w.plain(1));
            let empty = !end.is_empty() && end != [0] && end.as_slice() <= w.plain(1).as_bytes();
            let put = self.both(&session, &format!("put {} end", w.plain(1))).await?;
            let del = self.both(&session, &format!("del {}", w.plain(1))).await?;
            let last = if w.flag("no_delete") { &put } else { &del };
            let last: i64 = last[0].split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a revision");
            let until = (!empty && w.number("start") <= last).then_some(last);
            let model = self.model.read_watch_until(stream, until).await;
            let real = self.real.read_watch_until(stream, until).await;
            self.told += &format!("  what the watch on stream {stream} brought\n");
            if model != real {
                return Err(self.differ(&model, &real));
            }
        }
        Ok(())
    }
}

async fn play(sequence: &Sequence, model: &mut Etcd, real: &mut Etcd) -> Result<usize, String> {
    tokio::join!(model.reset(), real.reset());
    let mut play =
        Play { model, real, told: String::new(), count: 0, opened: vec![], catching_up: false, compacted: 1 };
    for line in sequence {
        play.line(line).await?;
    }
    play.watches().await?;
    Ok(play.count)
}

fn compare_with(version: Version) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _context = runtime.enter();
    let Some(mut real) = Etcd::real(version) else { return };
    let mut model = runtime.block_on(Etcd::model());
    let mut compared = 0;
    generate(prop::collection::vec(line(), 1..60), 400, |sequence| {
        compared += runtime.block_on(play(sequence, &mut model, &mut real))?;
        Ok(())
    });
    report(&real.name(), compared, "generated");
}

/// The model and etcd 3.5 agree on any requests in any order.
#[test]
fn etcd_3_5_generated() {
    compare_with(Version::Etcd35);
}

/// The same for 3.4.
#[test]
fn etcd_3_4_generated() {
    compare_with(Version::Etcd34);
}
