//! Leases and Events of Kubernetes, as `kubectl get -o yaml` and `-o json` print them, with `--watch` one after the other.
//!
//! A Lease that names a holder is a grant until `renewTime` plus `leaseDurationSeconds`; one without a holder ends it.
//! `leaseTransitions` is the token. A deletion ends no grant: the holder does not hear of it.
//!
//! Before there were Leases, client-go kept the same record in an annotation of a ConfigMap or an Endpoints object, with whole seconds.
//!
//! **Source.** client-go's tools/leaderelection, and its resourcelock/interface.go for the annotation; the API reference of
//! coordination.k8s.io/v1.

use super::{
    super::{
        rows::{Row, Rows},
        seen::Seen,
        times::Times,
    },
    history::{self, Line},
};
use serde_json::{Map, Value};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

pub const CALLED: &str = "Leases or Events of Kubernetes";

/// The annotation that holds client-go's record.
const RECORD: &str = "metadata.annotations.control-plane.alpha.kubernetes.io/leader";
/// How far apart two times are that look the same in whole seconds.
const WHOLE_SECOND_NS: u64 = 999_999_999;

type Fields = Map<String, Value>;
type Wrong = (u64, String);

/// The fields of the object, which `--output-watch-events` puts into another.
fn object<'f>(fields: &'f Fields, name: &str) -> Option<&'f Value> {
    let value =
        if fields.contains_key("object.kind") { fields.get(&format!("object.{name}")) } else { fields.get(name) };
    value.filter(|value| !value.is_null())
}

fn text<'f>(fields: &'f Fields, name: &str) -> Option<&'f str> {
    object(fields, name)?.as_str().filter(|text| !text.is_empty())
}

/// Is it a Lease, or an Event about an election?
pub fn is_record((_, fields): &Row) -> bool {
    match text(fields, "kind") {
        Some("Lease") => text(fields, "apiVersion").is_some_and(|api| api.starts_with("coordination.k8s.io/")),
        Some("Event") => text(fields, "reason") == Some("LeaderElection"),
        Some("ConfigMap" | "Endpoints") => text(fields, RECORD).is_some(),
        _ => false,
    }
}

/// Heartbeats, which nobody else may take: of nodes, and of API servers.
fn is_heartbeat(fields: &Fields) -> bool {
    text(fields, "metadata.namespace") == Some("kube-node-lease")
        || object(fields, "metadata.labels.apiserver.kubernetes.io/identity").is_some()
}

/// The Lease that the record of another object would be, and what that is.
fn of_record(line: u64, fields: &Fields) -> Result<Option<(Fields, &str)>, Wrong> {
    let (Some(kind), Some(record)) = (text(fields, "kind").filter(|kind| *kind != "Lease"), text(fields, RECORD))
    else {
        return Ok(None);
    };
    let record: Fields = serde_json::from_str(record).map_err(|_| {
        (line, format!("is of the kind {kind}, and its record of the leader is no JSON; is the file cut off?"))
    })?;
    let mut lease = Fields::new();
    for name in ["metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"] {
        lease.extend(object(fields, name).map(|value| (name.to_owned(), value.clone())));
    }
    for (name, value) in record {
        let name = if name == "leaderTransitions" { "leaseTransitions" } else { &name };
        lease.insert(format!("spec.{name}"), value);
    }
    Ok(Some((lease, kind)))
}

/// A Lease as it was at one version.
struct Lease {
    line: u64,
    /// Whether its times are whole seconds.
    whole_seconds: bool,
    /// `uid`, which another Lease of that name does not have.
    uid: String,
    /// `resourceVersion`, which rises with every change.
    version: Option<u64>,
    holder: Option<String>,
    token: Option<u64>,
    acquired_ns: Option<u64>,
    renewed_ns: Option<u64>,
    lasts_ns: Option<u64>,
}

impl Lease {
    fn read(line: u64, name: &str, fields: &Fields) -> Result<Lease, Wrong> {
        let wrong = |what: String| (line, format!("is Lease {name}, {what}"));
        let prefix = if fields.contains_key("object.kind") { "object.spec" } else { "spec" };
        if !fields.keys().any(|key| key.starts_with(prefix)) {
            return Err(wrong("which has no `spec`; is the file cut off?".to_owned()));
        }
        let number = |field: &str| match object(fields, &format!("spec.{field}")) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number <= i32::MAX as u64) {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(format!("whose {field} is {value}, and must be a whole number"))),
            },
        };
        let time = |field: &str| match object(fields, &format!("spec.{field}")) {
            None => Ok(None),
            Some(value) => match Times::default().ns(value) {
                Ok((ns, _)) => Ok(Some(ns)),
                Err(_) => Err(wrong(format!("whose {field} is {value}, which is no time"))),
            },
        };
        let holder = text(fields, "spec.holderIdentity").map(str::to_owned);
        let renewed_ns = time("renewTime")?;
        if let (Some(holder), None) = (&holder, renewed_ns) {
            return Err(wrong(format!("which {holder} holds, without a renewTime; is the file cut off?")));
        }
        Ok(Lease {
            line,
            whole_seconds: false,
            uid: text(fields, "metadata.uid").unwrap_or_default().to_owned(),
            version: text(fields, "metadata.resourceVersion").and_then(|version| version.parse().ok()),
            holder,
            token: number("leaseTransitions")?,
            acquired_ns: time("acquireTime")?,
            renewed_ns,
            lasts_ns: number("leaseDurationSeconds")?.map(|seconds| seconds * 1_000_000_000),
        })
    }
}

pub fn rows(rows: Rows, skew_ns: u64, seen: &Rc<RefCell<Seen>>) -> Rows {
    read(rows, skew_ns, seen).map_or_else(history::wrong, history::rows)
}

fn read(rows: Rows, skew_ns: u64, seen: &RefCell<Seen>) -> Result<Vec<Line>, Wrong> {
    let (mut leases, mut events): (BTreeMap<String, Vec<Lease>>, Vec<Line>) = (BTreeMap::new(), Vec::new());
    for row in rows {
        let row = row?;
        let (line, fields) = (row.0, &row.1);
        // It may be a write.
        if object(fields, "kind").is_none() && fields.get("type").is_none_or(|kind| kind != "BOOKMARK") {
            return Err((
                line,
                "is no object of Kubernetes, as others of this file are; put it into a file of its own".to_owned(),
            ));
        }
        if !is_record(&row) || is_heartbeat(fields) || fields.get("type").is_some_and(|kind| kind == "DELETED") {
            seen.borrow_mut().others += 1;
            continue;
        }
        if text(fields, "kind") == Some("Event") {
            events.extend(event(line, fields)?);
            continue;
        }
        let record = of_record(line, fields)?;
        let fields = record.as_ref().map_or(fields, |(lease, _)| lease);
        let name = text(fields, "metadata.name")
            .ok_or((line, "is a Lease without a name; is the file cut off?".to_owned()))?;
        let name = named(text(fields, "metadata.namespace"), name);
        let name = record.as_ref().map_or(name.clone(), |(_, kind)| format!("{name} ({kind})"));
        let lease = Lease { whole_seconds: record.is_some(), ..Lease::read(line, &name, fields)? };
        leases.entry(name).or_default().push(lease);
    }
    if leases.is_empty() {
        return Ok(events);
    }
    // Events tell the same.
    let mut seen = seen.borrow_mut();
    seen.others += events.len() as u64;
    let mut lines = Vec::new();
    for (name, mut all) in leases {
        let uids: BTreeSet<String> = all.iter().map(|lease| lease.uid.clone()).filter(|uid| !uid.is_empty()).collect();
        let known = seen.leases.entry(name.clone()).or_default();
        if !known.is_empty() && !uids.is_empty() && known.is_disjoint(&uids) {
            let what = format!("is Lease {name}, which is another one in another file; judge each cluster on its own");
            return Err((all[0].line, what));
        }
        known.extend(uids);
        if all.iter().all(|lease| lease.version.is_some()) {
            all.sort_by_key(|lease| lease.version);
            all.dedup_by_key(|lease| lease.version);
        }
        if let Some((one, other)) = same_token(&all) {
            seen.doubt(format!(
                "leaseTransitions of {name} is the same for {one} and for {other}, which held it one after the other: it is no token, and a \
                 resource that takes it for one cannot tell the two apart"
            ));
            all.iter_mut().for_each(|lease| lease.token = None);
        }
        if let Some(why) = gaps(&all) {
            seen.doubt(format!("{why} of {name}; record all of them, with `kubectl get lease -o yaml --watch`"));
        }
        let apart_ns = if all.iter().any(|lease| lease.whole_seconds) { WHOLE_SECOND_NS } else { 0 };
        grants(&name, &all, skew_ns.max(apart_ns), &mut seen, &mut lines);
    }
    Ok(lines)
}

/// What shows that states of a Lease are missing: a lease that was still renewed may seem to be over then.
fn gaps(all: &[Lease]) -> Option<&'static str> {
    let (mut near, mut far, mut changes) = (0, 0, 0);
    for (one, next) in all.iter().zip(all.iter().skip(1)) {
        if one.token.zip(next.token).is_some_and(|(one, next)| next > one + 1) {
            return Some("the log lacks holders");
        }
        changes += usize::from(one.holder != next.holder);
        if let (true, Some(from), Some(to)) = (one.holder == next.holder, one.renewed_ns, next.renewed_ns) {
            let over = one.lasts_ns.is_some_and(|lasts| to > from.saturating_add(lasts));
            (near, far) = (near + usize::from(!over), far + usize::from(over));
        }
    }
    (changes > 0 && far >= near).then_some("the log seems to lack renewals")
}

/// Two holders, one after the other, with the same token.
fn same_token(all: &[Lease]) -> Option<(String, String)> {
    let mut held = all.iter().filter_map(|lease| Some((lease.holder.as_ref()?, lease.token?)));
    let mut last = held.next()?;
    held.find_map(|next| {
        let before = std::mem::replace(&mut last, next);
        (before.0 != next.0 && before.1 == next.1).then(|| (before.0.clone(), next.0.clone()))
    })
}

fn named(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The grants of one Lease, in the order of its versions.
fn grants(name: &str, all: &[Lease], skew_ns: u64, seen: &mut Seen, lines: &mut Vec<Line>) {
    // The place of the holder's last grant among the lines.
    let (mut held, mut last_ns): (Option<usize>, u64) = (None, 0);
    for lease in all {
        let line = |ns: u64, event: &'static str, node: &str, token: Option<u64>, until_ns: Option<u64>| Line {
            line: lease.line,
            ns,
            event,
            node: node.to_owned(),
            resource: name.to_owned(),
            token,
            until_ns,
        };
        let Some(holder) = &lease.holder else {
            let Some(place) = held.take() else { continue };
            let ns = lease.renewed_ns.or(lease.acquired_ns).unwrap_or(last_ns).max(last_ns);
            let (node, token) = (lines[place].node.clone(), lines[place].token);
            lines.push(line(ns, "grant-end", &node, token, None));
            last_ns = ns;
            continue;
        };
        let renewed_ns = lease.renewed_ns.unwrap_or(last_ns);
        let former = held.map(|place| lines[place].clone());
        let goes_on = former.as_ref().is_some_and(|former| former.node == *holder && former.token == lease.token);
        let begins_ns = if goes_on { renewed_ns } else { lease.acquired_ns.unwrap_or(renewed_ns).min(renewed_ns) };
        // Versions are in order, whatever the clocks of holders say.
        let ns = begins_ns.max(last_ns);
        let until_ns = lease.lasts_ns.map(|lasts| (renewed_ns.saturating_add(lasts)).max(ns));
        if let (Some(place), Some(former)) = (held, former) {
            if goes_on {
                // Nobody took a lease that was renewed late.
                lines[place].until_ns = former.until_ns.map(|until| until.max(ns.saturating_add(1_000)));
            } else if let Some(until) = former.until_ns.filter(|_| former.node != *holder) {
                let apart = until.abs_diff(begins_ns);
                let said = |ns: u64| format!("{}ms", ns.div_ceil(1_000_000));
                if apart <= skew_ns {
                    lines.push(line(ns, "grant-end", &former.node, former.token, None));
                    seen.doubt(format!(
                        "{holder} took {name} within {} of the end of the lease of {}, by their own clocks, which may differ by that much; \
                         a log of the writes, judged by the token, is better",
                        said(apart), former.node
                    ));
                } else if until > begins_ns {
                    seen.remarks.push(format!(
                        "Holders date a Lease by their own clocks: {holder} took {name} {} before the lease of {} ended. Pass --skew {} if \
                         their clocks may differ by that much: it then proves nothing.",
                        said(apart), former.node, said(apart)
                    ));
                }
            }
        }
        held = Some(lines.len());
        lines.push(line(ns, "grant", holder, lease.token, until_ns));
        last_ns = ns;
    }
}

/// What an Event says: who became leader, or stopped. One that was repeated says it of its first and its last time.
fn event(line: u64, fields: &Fields) -> Result<Vec<Line>, Wrong> {
    let said = text(fields, "message").or(text(fields, "note")).unwrap_or_default();
    let (node, event) = match (said.strip_suffix(" became leader"), said.strip_suffix(" stopped leading")) {
        (Some(node), _) => (node, "elected"),
        (_, Some(node)) => (node, "deposed"),
        _ => {
            return Err((
                line,
                format!("is an Event about an election that says neither who became leader nor who stopped: {said:?}"),
            ));
        }
    };
    let of = ["involvedObject", "regarding"].into_iter().find_map(|of| {
        let name = text(fields, &format!("{of}.name"))?;
        Some(named(text(fields, &format!("{of}.namespace")).or(text(fields, "metadata.namespace")), name))
    });
    let time = |names: &[&str]| names.iter().find_map(|name| object(fields, name));
    let first = time(&["eventTime", "firstTimestamp", "deprecatedFirstTimestamp", "metadata.creationTimestamp"]);
    let last = time(&["series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp"]).or(first);
    let [Some(first), Some(last)] = [first, last] else {
        return Err((line, "is an Event without a time; is the file cut off?".to_owned()));
    };
    let read = |time: &Value| match Times::default().ns(time) {
        Ok((ns, _)) => Ok(ns),
        Err(_) => Err((line, format!("is an Event at {time}, which is no time"))),
    };
    let mut times = vec![read(first)?, read(last)?];
    times.dedup();
    let resource = of.unwrap_or_default();
    let one =
        |ns| Line { line, ns, event, node: node.to_owned(), resource: resource.clone(), token: None, until_ns: None };
    Ok(times.into_iter().map(one).collect())
}
