//! Histories of Jepsen's tests of locks: operations `:acquire` and `:release` of processes.
//!
//! A process holds the lock for certain from the completion of `:acquire` as `:ok` to the invocation of `:release`. An
//! `:acquire` that ends as `:fail` or `:info` holds nothing that its process knows of.
//!
//! **Source.** The histories of jepsen-io/jepsen (jepsen.history), and the tests of locks in jepsen-io/jepsen's etcd and
//! hazelcast folders.

use super::{
    super::{
        rows::{Row, Rows},
        seen::Seen,
    },
    history::{self, Line},
};
use serde_json::{Map, Value};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

pub const CALLED: &str = "a history of Jepsen's";

const TYPES: [&str; 4] = ["invoke", "ok", "fail", "info"];
/// The fields of a value, or of an operation, in which tests put a fencing token.
const TOKENS: [&str; 6] = ["fence", "fencing-token", "fencing_token", "fence-token", "token", "epoch"];

type Fields = Map<String, Value>;
type Wrong = (u64, String);

fn word<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Is it an operation of a client?
pub fn is_operation((_, fields): &Row) -> bool {
    TYPES.contains(&word(fields, "type"))
        && fields.contains_key("f")
        && fields.get("process").is_some_and(Value::is_u64)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Takes,
    GivesBack,
}

fn does(operation: &str) -> Option<Does> {
    match operation {
        "acquire" | "lock" | "try-lock" | "try-acquire" => Some(Does::Takes),
        "release" | "unlock" => Some(Does::GivesBack),
        _ => None,
    }
}

/// The lock, if operations name one, and the token.
fn said(fields: &Fields) -> (String, Option<u64>, bool) {
    let named = ["lock", "key", "name"].into_iter().find_map(|name| fields.get(name)).filter(|value| !value.is_null());
    let mut lock = named.map(plain).unwrap_or_default();
    let mut value = fields.get("value");
    // Tests of several locks have pairs of the lock and the value.
    if let Some(Value::Array(pair)) = value
        && let [of, within] = &pair[..]
    {
        lock = plain(of);
        value = Some(within);
    }
    let named = TOKENS.iter().find_map(|name| {
        let within = value.and_then(|value| value.get(name)).or_else(|| fields.get(&format!("value.{name}")));
        within.or_else(|| fields.get(*name))?.as_u64()
    });
    (lock, named.or_else(|| value?.as_u64()), named.is_some())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub fn rows(rows: Rows, seen: &Rc<RefCell<Seen>>) -> Rows {
    read(rows, seen).map_or_else(history::wrong, history::rows)
}

fn read(rows: Rows, seen: &RefCell<Seen>) -> Result<Vec<Line>, Wrong> {
    let (mut lines, mut held, mut timed, mut first) = (Vec::new(), BTreeMap::<(u64, String), u64>::new(), None, None);
    let (mut others, mut again, mut bare) = (BTreeSet::new(), None, false);
    for (place, row) in (0_u64..).zip(rows) {
        let row = row?;
        let (line, fields) = (row.0, &row.1);
        first.get_or_insert(line);
        // It may be a write. A nemesis, which is no client, has operations, too.
        if !["type", "f", "process"].iter().all(|name| fields.contains_key(*name)) {
            return Err((
                line,
                "is no operation of Jepsen's, as others of this file are; put it into a file of its own".to_owned(),
            ));
        }
        let Some(does) = does(word(fields, "f")).filter(|_| is_operation(&row)) else {
            seen.borrow_mut().others += 1;
            others.extend(is_operation(&row).then(|| word(fields, "f").to_owned()));
            continue;
        };
        let ns = match fields.get("time").filter(|time| !time.is_null()) {
            Some(time) => {
                Some(time.as_u64().ok_or((line, format!("has the time {time}, and must have whole nanoseconds")))?)
            }
            None => None,
        };
        if *timed.get_or_insert(ns.is_some()) != ns.is_some() {
            return Err((line, "has a time where other operations have none, or the other way round".to_owned()));
        }
        // Without times, operations are a microsecond apart.
        let ns = ns.unwrap_or(place * 1_000);
        let process = fields["process"].as_u64().unwrap_or_default();
        let (resource, token, named) = said(fields);
        let key = (process, resource.clone());
        let event = match (does, word(fields, "type")) {
            (Does::Takes, "ok") => {
                let depth = held.entry(key).or_insert(0);
                *depth += 1;
                if *depth > 1 {
                    again.get_or_insert((line, process));
                    continue;
                }
                bare |= token.is_some() && !named;
                "elected"
            }
            (Does::GivesBack, "invoke") => {
                let Some(depth) = held.get_mut(&key).filter(|depth| **depth > 0) else { continue };
                *depth -= 1;
                if *depth > 0 {
                    continue;
                }
                "deposed"
            }
            _ => continue,
        };
        let token = token.filter(|_| event == "elected");
        lines.push(Line { line, ns, event, node: format!("process {process}"), resource, token, until_ns: None });
    }
    if lines.is_empty() && !others.is_empty() {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let what = format!(
            "begins a history of Jepsen's in which no :acquire ends as :ok; its operations are {}, which Jepsen's own checkers judge",
            others.join(", ")
        );
        return Err((first.unwrap_or(1), what));
    }
    leaves_open(&mut seen.borrow_mut(), &mut lines, again, bare);
    Ok(lines)
}

/// Notes what operations leave open: `again` is a process that took a lock twice, and `bare` says that tokens are whole numbers.
fn leaves_open(seen: &mut Seen, lines: &mut [Line], again: Option<(u64, u64)>, bare: bool) {
    if let Some((line, process)) = again {
        seen.doubt(format!(
            "process {process} acquires a lock once more, on line {line}, before it has released it: only a reentrant lock allows that"
        ));
    }
    if bare && let Some(token) = without_tokens(lines) {
        seen.doubt(format!(
            "the :value {token} of :acquire comes back, so it is no fencing token, or one that was given twice; write tokens as \
             {{:fence {token}}} if they are tokens"
        ));
    }
}

/// Takes the tokens away if one was given to two processes: whole numbers in `:value` may be anything.
fn without_tokens(lines: &mut [Line]) -> Option<u64> {
    let mut owners: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    let twice = lines.iter().find_map(|line| {
        let token = line.token?;
        let owner = *owners.entry((&line.resource, token)).or_insert(&line.node);
        (owner != line.node).then_some(token)
    })?;
    lines.iter_mut().for_each(|line| line.token = None);
    Some(twice)
}
