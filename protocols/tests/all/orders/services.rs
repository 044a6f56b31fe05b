//! Coordination services, each as little as its requests need: all of it happens at once, and nothing is lost.

use protocols::{
    payload::{Opaque, Payload},
    service::{Service, kubernetes, object_store, postgres, redis},
    types::MILLISECOND,
};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Little {
    Redis {
        /// Each with its value, and when it ends, nanoseconds.
        keys: BTreeMap<String, (String, u64)>,
        counters: BTreeMap<String, u64>,
    },
    /// Each with its version.
    Kubernetes(BTreeMap<String, (kubernetes::Record, u64)>),
    Objects(BTreeMap<String, (object_store::Lease, u64)>),
    /// A row for each lock: its holder, when it ends, its token.
    Postgres(BTreeMap<String, (String, u64, u64)>),
}

impl Little {
    /// `None` for one that is not here.
    pub fn of(service: &Service) -> Option<Little> {
        match service.name {
            "redis" => Some(Little::Redis { keys: BTreeMap::new(), counters: BTreeMap::new() }),
            "kubernetes" => Some(Little::Kubernetes(BTreeMap::new())),
            "object-store" => Some(Little::Objects(BTreeMap::new())),
            "postgres" => Some(Little::Postgres(BTreeMap::new())),
            _ => None,
        }
    }

    /// Who has the leaders' key, if anybody has, as the candidates call it.
    pub fn holder(&self, now: u64) -> Option<&str> {
        let held = match self {
            Little::Redis { keys, .. } => keys.values().find(|(_, ends)| *ends > now).map(|(value, _)| value),
            Little::Kubernetes(leases) => leases.values().next().map(|(record, _)| &record.holder),
            Little::Objects(leases) => leases.values().next().map(|(lease, _)| &lease.holder),
            Little::Postgres(rows) => rows.values().find(|(_, ends, _)| *ends > now).map(|(holder, ..)| holder),
        };
        held.and_then(|value| value.split(['/', '_']).next()).filter(|name| !name.is_empty())
    }

    /// Carries out a request.
    pub fn take(&mut self, now: u64, request: &Opaque) -> Opaque {
        match self {
            Little::Redis { keys, counters } => {
                keys.retain(|_, (_, ends)| *ends > now);
                by_redis(keys, counters, now, typed(request)).erase()
            }
            Little::Kubernetes(leases) => by_kubernetes(leases, typed(request)).erase(),
            Little::Objects(objects) => by_objects(objects, typed(request)).erase(),
            Little::Postgres(rows) => by_postgres(rows, now, typed(request)).erase(),
        }
    }
}

fn typed<P: Payload>(request: &Opaque) -> P {
    P::restore(request.clone()).expect("a request to this service")
}

fn by_redis(
    keys: &mut BTreeMap<String, (String, u64)>,
    counters: &mut BTreeMap<String, u64>,
    now: u64,
    request: redis::Request,
) -> redis::Reply {
    use redis::{Reply, Request};
    let ends = |ttl_ms: u64| now + ttl_ms * MILLISECOND;
    let has = |keys: &BTreeMap<String, (String, u64)>, key: &str, value: &str| {
        keys.get(key).is_some_and(|(held, _)| held == value)
    };
    match request {
        Request::SetNxPx { key, value, ttl_ms } => {
            let free = !keys.contains_key(&key);
            if free {
                keys.insert(key, (value, ends(ttl_ms)));
            }
            Reply::Done(free)
        }
        Request::Get { key } => Reply::Value(keys.get(&key).map(|(value, _)| value.clone().into_bytes())),
        Request::Del { key } => Reply::Done(keys.remove(&key).is_some()),
        Request::Pexpire { key, ttl_ms } => {
            Reply::Done(keys.get_mut(&key).map(|(_, until)| *until = ends(ttl_ms)).is_some())
        }
        Request::CompareAndPexpire { key, value, ttl_ms } => {
            let held = has(keys, &key, &value);
            if held {
                keys.insert(key, (value, ends(ttl_ms)));
            }
            Reply::Done(held)
        }
        Request::CompareAndDelete { key, value } => {
            let held = has(keys, &key, &value);
            if held {
                keys.remove(&key);
            }
            Reply::Done(held)
        }
        Request::AcquireFenced { key, token_key, value, ttl_ms } => {
            if keys.contains_key(&key) {
                return Reply::Token(None);
            }
            keys.insert(key, (value, ends(ttl_ms)));
            let token = counters.entry(token_key).or_default();
            *token += 1;
            Reply::Token(Some(*token))
        }
        Request::Lock { .. } | Request::HandOver { .. } => unreachable!("nobody here asks for it"),
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
