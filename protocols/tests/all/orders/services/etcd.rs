//! etcd: keys on leases, in the order of their creation.

use super::{Answer, End, Grant, Process, Serves, Told, refused, typed};
use protocols::{
    elector::ServiceInput,
    payload::{Opaque, Payload},
    service::etcd::{Item, KeyState, Reply, Request, StreamRequest},
    types::SECOND,
};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lease {
    of: Process,
    ttl_s: i64,
    ends: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Etcd {
    /// How many changes there have been; the store's own count begins at 1.
    changes: i64,
    granted: i64,
    leases: BTreeMap<i64, Lease>,
    keys: BTreeMap<String, KeyState>,
    /// When each key was last deleted.
    deleted: BTreeMap<String, i64>,
    watches: Vec<(Process, u64, StreamRequest)>,
    /// The leases of the streams of keepalives.
    kept: BTreeMap<(Process, u64), i64>,
    told: Vec<Told>,
}

impl Etcd {
    fn revision(&self) -> i64 {
        1 + self.changes
    }

    fn change(&mut self) -> i64 {
        self.changes += 1;
        self.revision()
    }

    fn tell(&mut self, to: Process, number: u64, item: Item) {
        self.told.push(Told { to, input: ServiceInput::Item { number, item: item.erase() } });
    }

    fn notify(&mut self, item: &Item, hears: impl Fn(&StreamRequest) -> bool) {
        let heard: Vec<_> = self.watches.extract_if(.., |(_, _, watch)| hears(watch)).collect();
        heard.into_iter().for_each(|(to, number, _)| self.tell(to, number, item.clone()));
    }

    /// In one revision. Returns whether there was any.
    fn delete(&mut self, goes: impl Fn(&KeyState) -> bool) -> bool {
        let gone: Vec<String> = self.keys.iter().filter(|(_, key)| goes(key)).map(|(name, _)| name.clone()).collect();
        if gone.is_empty() {
            return false;
        }
        let revision = self.change();
        for name in gone {
            self.notify(&Item::Deleted, |watch| match watch {
                StreamRequest::WatchDelete { key, start_revision } => {
                    *key == name.as_bytes() && *start_revision <= revision
                }
                _ => false,
            });
            self.keys.remove(&name);
            self.deleted.insert(name, revision);
        }
        true
    }

    fn create(&mut self, key: String, value: String, lease: i64) -> Answer {
        let created = !self.keys.contains_key(&key);
        if created {
            if !self.leases.contains_key(&lease) {
                return refused("requested lease not found");
            }
            let create_revision = self.change();
            let state = KeyState { key: key.clone().into_bytes(), value, create_revision, lease };
            self.notify(&Item::Changed { key: state.clone() }, |watch| match watch {
                StreamRequest::WatchPrefix { prefix, .. } => key.starts_with(prefix),
                _ => false,
            });
            self.keys.insert(key.clone(), state);
        }
        let KeyState { value, create_revision, lease, .. } = self.keys[&key].clone();
        Ok(Reply::Created { created, create_revision, value, lease, revision: self.revision() }.erase())
    }

    /// The first of the queue.
    fn first(&self) -> Option<&KeyState> {
        self.keys.values().min_by_key(|key| key.create_revision)
    }

    fn found(&self, key: Option<&KeyState>) -> Answer {
        Ok(Reply::Found { key: key.cloned(), revision: self.revision() }.erase())
    }

    fn keep_alive(&mut self, now: u64, to: Process, number: u64, lease: i64) {
        let lease = self.leases.get_mut(&lease).filter(|lease| lease.ends > now);
        let ttl_s = lease.map_or(0, |lease| {
            lease.ends = now + lease.ttl_s.unsigned_abs() * SECOND;
            lease.ttl_s
        });
        self.tell(to, number, Item::KeptAlive { ttl_s });
    }
}

impl Serves for Etcd {
    fn grant(&self, _: u64) -> Option<Grant> {
        self.first().map(|key| (key.value.clone(), key.create_revision.unsigned_abs()))
    }

    fn take(&mut self, now: u64, of: Process, _: u64, request: &Opaque) -> Answer {
        match typed(request) {
            Request::Grant { ttl_s } => {
                self.granted += 1;
                let ends = now + ttl_s.unsigned_abs() * SECOND;
                self.leases.insert(self.granted, Lease { of, ttl_s, ends });
                Ok(Reply::Granted { lease: self.granted, ttl_s }.erase())
            }
            Request::Revoke { lease } if self.leases.remove(&lease).is_none() => refused("requested lease not found"),
            Request::Revoke { lease } => {
                self.delete(|key| key.lease == lease);
                Ok(Reply::Revoked.erase())
            }
            Request::CreateKey { key, value, lease } => self.create(key, value, lease),
            Request::DeleteKey { key, create_revision } => {
                let done = self.delete(|state| state.key == key.as_bytes() && state.create_revision == create_revision);
                Ok(Reply::Deleted { done }.erase())
            }
            Request::DeleteAnyKey { key } => {
                let done = self.delete(|state| state.key == key.as_bytes());
                Ok(Reply::Deleted { done }.erase())
            }
            Request::Predecessor { max_create_revision, .. } => {
                let before = self.keys.values().filter(|key| key.create_revision <= max_create_revision);
                self.found(before.max_by_key(|key| key.create_revision))
            }
            Request::First { .. } => self.found(self.first()),
            Request::GetKey { key } => self.found(self.keys.get(&key)),
            Request::Proclaim { .. } | Request::Queue { .. } | Request::HandOver { .. } => {
                unreachable!("nobody here asks for it")
            }
        }
    }

    /// A watch begins at a revision, whenever the service hears of it.
    fn opens_at_once(&self, request: &Opaque) -> bool {
        !matches!(request.get(), Some(StreamRequest::Keepalive { .. }))
    }

    fn open(&mut self, now: u64, by: Process, number: u64, request: &Opaque) {
        match typed(request) {
            StreamRequest::Keepalive { lease, .. } => {
                self.kept.insert((by, number), lease);
                self.keep_alive(now, by, number, lease);
            }
            StreamRequest::WatchDelete { key, start_revision }
                if self.deleted.get(&*String::from_utf8_lossy(&key)).is_some_and(|at| *at >= start_revision) =>
            {
                self.tell(by, number, Item::Deleted);
            }
            StreamRequest::WatchPrefix { start_revision, .. }
                if self.keys.values().any(|key| key.create_revision >= start_revision) =>
            {
                let key = self.keys.values().find(|key| key.create_revision >= start_revision).cloned();
                key.into_iter().for_each(|key| self.tell(by, number, Item::Changed { key }));
            }
            watch => self.watches.push((by, number, watch)),
        }
    }

    fn push(&mut self, now: u64, by: Process, number: u64) {
        if let Some(lease) = self.kept.get(&(by, number)) {
            self.keep_alive(now, by, number, *lease);
        }
    }

    fn close(&mut self, by: Process, number: u64) {
        self.watches.retain(|(of, watch, _)| (*of, *watch) != (by, number));
    }

    fn ends(&self) -> Vec<End> {
        let end = |(which, lease): (&i64, &Lease)| End { at: lease.ends, of: lease.of, which: which.unsigned_abs() };
        self.leases.iter().map(end).collect()
    }

    fn end(&mut self, _: u64, which: u64) {
        let lease = which.cast_signed();
        self.leases.remove(&lease);
        self.delete(|key| key.lease == lease);
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    fn fails(&mut self) {
        let first = self.first().map(|key| key.create_revision);
        self.delete(|key| Some(key.create_revision) == first);
    }
}
