//! Redis: one server, three independent ones, and one whose replica lacks the last write.

use super::{Answer, Grant, Process, Serves, named, typed};
use protocols::{
    payload::{Opaque, Payload},
    service::{
        redis::{Reply, Request},
        redis_servers,
    },
    types::MILLISECOND,
};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Redis {
    /// Each with its value, and when it ends, nanoseconds.
    keys: BTreeMap<String, (String, u64)>,
    counters: BTreeMap<String, u64>,
}

impl Redis {
    fn value(&self, now: u64) -> Option<&str> {
        self.keys.values().find(|(_, ends)| *ends > now).map(|(value, _)| &**value)
    }

    fn has(&self, key: &str, value: &str) -> bool {
        self.keys.get(key).is_some_and(|(held, _)| held == value)
    }

    fn carry_out(&mut self, now: u64, request: Request) -> Reply {
        self.keys.retain(|_, (_, ends)| *ends > now);
        let ends = |ttl_ms: u64| now + ttl_ms * MILLISECOND;
        match request {
            Request::SetNxPx { key, value, ttl_ms } => {
                let free = !self.keys.contains_key(&key);
                if free {
                    self.keys.insert(key, (value, ends(ttl_ms)));
                }
                Reply::Done(free)
            }
            Request::Get { key } => Reply::Value(self.keys.get(&key).map(|(value, _)| value.clone().into_bytes())),
            Request::Del { key } => Reply::Done(self.keys.remove(&key).is_some()),
            Request::Pexpire { key, ttl_ms } => {
                Reply::Done(self.keys.get_mut(&key).map(|(_, until)| *until = ends(ttl_ms)).is_some())
            }
            Request::CompareAndPexpire { key, value, ttl_ms } => {
                let held = self.has(&key, &value);
                if held {
                    self.keys.insert(key, (value, ends(ttl_ms)));
                }
                Reply::Done(held)
            }
            Request::CompareAndDelete { key, value } => {
                let held = self.has(&key, &value);
                if held {
                    self.keys.remove(&key);
                }
                Reply::Done(held)
            }
            Request::AcquireFenced { key, token_key, value, ttl_ms } => {
                if self.keys.contains_key(&key) {
                    return Reply::Token(None);
                }
                self.keys.insert(key, (value, ends(ttl_ms)));
                let token = self.counters.entry(token_key).or_default();
                *token += 1;
                Reply::Token(Some(*token))
            }
            Request::Lock { key, value, ttl_ms } => {
                let granted = !self.keys.contains_key(&key) || self.has(&key, &value);
                if granted {
                    self.keys.insert(key, (value, ends(ttl_ms)));
                }
                Reply::Done(granted)
            }
            Request::HandOver { .. } => unreachable!("nobody here asks for it"),
        }
    }
}

impl Serves for Redis {
    fn grant(&self, now: u64) -> Option<Grant> {
        let token = self.counters.values().next().copied().unwrap_or_default();
        self.value(now).and_then(named).map(|name| (name.to_owned(), token))
    }

    fn take(&mut self, now: u64, _: Process, _: u64, request: &Opaque) -> Answer {
        Ok(self.carry_out(now, typed(request)).erase())
    }

    /// It comes back without its data.
    fn fails(&mut self) {
        *self = Redis::default();
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Replicated {
    primary: Redis,
    /// As the primary was before its last write.
    replica: Redis,
}

impl Serves for Replicated {
    fn grant(&self, now: u64) -> Option<Grant> {
        self.primary.grant(now)
    }

    fn take(&mut self, now: u64, by: Process, number: u64, request: &Opaque) -> Answer {
        let before = self.primary.clone();
        let answer = self.primary.take(now, by, number, request);
        if self.primary != before {
            self.replica = before;
        }
        answer
    }

    fn fails(&mut self) {
        self.primary = self.replica.clone();
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Servers([Redis; Servers::COUNT]);

impl Servers {
    pub const COUNT: usize = 3;
}

impl Serves for Servers {
    /// Who has a majority.
    fn grant(&self, now: u64) -> Option<Grant> {
        let with = |value: &str| self.0.iter().filter(|server| server.value(now) == Some(value)).count();
        let agreed = self.0.iter().filter_map(|server| server.value(now)).find(|value| with(value) > Self::COUNT / 2);
        agreed.and_then(named).map(|name| (name.to_owned(), 0))
    }

    fn take(&mut self, now: u64, _: Process, _: u64, request: &Opaque) -> Answer {
        let redis_servers::Request { member, request } = typed(request);
        Ok(self.0[member].carry_out(now, request).erase())
    }

    fn fails(&mut self) {
        self.0[0].fails();
    }
}
