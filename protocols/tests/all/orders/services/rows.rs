//! Records that candidates compare and replace: Kubernetes' leases, objects with tags, rows that expire.

use super::{Answer, Grant, Process, Serves, named, typed};
use protocols::{
    payload::{Opaque, Payload},
    service::{kubernetes, object_store, postgres},
    types::MILLISECOND,
};
use std::collections::BTreeMap;

/// Each with its version.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kubernetes(BTreeMap<String, (kubernetes::Record, u64)>);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Objects(BTreeMap<String, (object_store::Lease, u64)>);

/// A row for each lock: its holder, when it ends, its token.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rows(BTreeMap<String, (String, u64, u64)>);

fn granted(holder: &str, token: u64) -> Option<Grant> {
    named(holder).map(|name| (name.to_owned(), token))
}

impl Serves for Kubernetes {
    fn grant(&self, _: u64) -> Option<Grant> {
        self.0.values().next().and_then(|(record, _)| granted(&record.holder, 0))
    }

    fn take(&mut self, _: u64, _: Process, _: u64, request: &Opaque) -> Answer {
        Ok(by_kubernetes(&mut self.0, typed(request)).erase())
    }
}

impl Serves for Objects {
    fn grant(&self, _: u64) -> Option<Grant> {
        self.0.values().next().and_then(|(lease, _)| granted(&lease.holder, 0))
    }

    fn take(&mut self, _: u64, _: Process, _: u64, request: &Opaque) -> Answer {
        Ok(by_objects(&mut self.0, typed(request)).erase())
    }
}

impl Serves for Rows {
    fn grant(&self, now: u64) -> Option<Grant> {
        let held = self.0.values().find(|(_, ends, _)| *ends > now);
        held.and_then(|(holder, _, token)| granted(holder, *token))
    }

    fn take(&mut self, now: u64, _: Process, _: u64, request: &Opaque) -> Answer {
        Ok(by_postgres(&mut self.0, now, typed(request)).erase())
    }
}

fn by_kubernetes(
    leases: &mut BTreeMap<String, (kubernetes::Record, u64)>,
    request: kubernetes::Request,
) -> kubernetes::Reply {
    use kubernetes::{Reply, Request};
    let (name, record, version) = match request {
        Request::Get { name } => {
            return match leases.get(&name) {
                Some((record, version)) => Reply::Lease { record: record.clone(), version: version.to_string() },
                None => Reply::NotFound,
            };
        }
        Request::Create { name, .. } if leases.contains_key(&name) => return Reply::Conflict,
        Request::Create { name, record } => (name, record, 0),
        Request::Update { name, version, record } => match leases.get(&name) {
            None => return Reply::NotFound,
            Some((_, last)) if last.to_string() != version => return Reply::Conflict,
            Some((_, last)) => (name, record, *last),
        },
    };
    leases.insert(name, (record.clone(), version + 1));
    Reply::Lease { record, version: (version + 1).to_string() }
}

fn by_objects(
    objects: &mut BTreeMap<String, (object_store::Lease, u64)>,
    request: object_store::Request,
) -> object_store::Reply {
    use object_store::{Condition, Reply, Request};
    let (key, lease, condition) = match request {
        Request::Get { key } => {
            return match objects.get(&key) {
                Some((lease, tag)) => Reply::Object(lease.clone(), tag.to_string()),
                None => Reply::Missing,
            };
        }
        Request::Put { key, lease, condition } => (key, lease, condition),
    };
    let last = objects.get(&key).map(|(_, tag)| *tag);
    let holds = match condition {
        Condition::Absent => last.is_none(),
        Condition::Tag(tag) => last.is_some_and(|last| last.to_string() == tag),
    };
    if !holds {
        return Reply::Refused;
    }
    let tag = last.unwrap_or_default() + 1;
    objects.insert(key, (lease, tag));
    Reply::Stored(tag.to_string())
}

fn by_postgres(
    rows: &mut BTreeMap<String, (String, u64, u64)>,
    now: u64,
    request: postgres::Request,
) -> postgres::Reply {
    use postgres::{Reply, Request};
    match request {
        Request::Take { name, holder, ttl_ms } => {
            let (_, ends, token) = rows.entry(name.clone()).or_default();
            if *ends > now {
                return Reply::Token(None);
            }
            let token = *token + 1;
            rows.insert(name, (holder, now + ttl_ms * MILLISECOND, token));
            Reply::Token(Some(token))
        }
        Request::Extend { name, holder, ttl_ms } => {
            let row = rows.get_mut(&name).filter(|(held, ends, _)| *held == holder && *ends > now);
            Reply::Done(row.map(|(_, ends, _)| *ends = now + ttl_ms * MILLISECOND).is_some())
        }
        Request::Release { name, holder } => {
            let row = rows.get_mut(&name).filter(|(held, ..)| *held == holder);
            Reply::Done(row.map(|(_, ends, _)| *ends = now).is_some())
        }
        Request::Look { name } => {
            let row = rows.get(&name).filter(|(_, ends, _)| *ends > now);
            Reply::Holder(row.map(|(holder, ..)| holder.clone()))
        }
        _ => unreachable!("nobody here asks for it"),
    }
}
