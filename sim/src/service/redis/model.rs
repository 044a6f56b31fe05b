//! What a Redis server knows and answers, without I/O and without a clock.
//!
//! **Expiry** is by the server's *wall* clock in whole milliseconds, and a key is gone once the clock shows *more* than its
//! time (redis/redis 7.0, `src/db.c: keyIsExpired`: `now > when`): a key with a ttl of t lives at least t after it was set,
//! by that clock, and a clock that steps makes leases longer or shorter. Keys are dropped when they are looked at and by a
//! cycle in the background (`src/expire.c: activeExpireCycle`), which here runs with every command; nobody can see the
//! difference unless the clock steps back.

use super::{resp::Protocol, script::Known};
use crate::service::grants::Holder;
use protocols::{
    election::redis_common::{KEY, key_of, token_key_of},
    types::MILLISECOND,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

/// The keys, the script cache, and a count of the connections there were.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By database.
    pub(super) keys: BTreeMap<u8, Database>,
    pub(super) scripts: BTreeSet<Known>,
    /// It keeps nothing on disk.
    pub(crate) forgets: bool,
    /// Are its writes kept for replicas?
    pub(crate) replicates: bool,
    /// What writes are answered instead of being done: those of a replica's clients.
    pub(crate) refuses_writes: Option<&'static str>,
    /// The writes since they were last taken, as replicas are told them, each with its database.
    pub(super) written: Vec<(u8, Vec<Vec<u8>>)>,
    sessions: i64,
    /// By group: what the leader's key held last, and what the counter showed when it came to hold that.
    granted: BTreeMap<u16, (Vec<u8>, u64)>,
}

/// A database's keys.
pub(super) type Database = BTreeMap<Vec<u8>, Entry>;

/// A key's value and when it is gone.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Vec<u8>,
    /// Milliseconds since the Unix epoch.
    pub(super) expires_at_ms: Option<i64>,
}

/// What the server remembers of one connection.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) id: i64,
    pub(super) database: u8,
    pub(super) name: Vec<u8>,
    pub(super) protocol: Protocol,
    /// The candidate at the other end, once it has named itself in a value.
    pub(super) peer: Option<String>,
}

impl Session {
    /// The protocol that the next reply goes out in.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The candidate at the other end of the connection, once it has sent `args`: whoever has ever named itself.
    pub fn peer_after<'a>(&'a self, args: &'a [Vec<u8>]) -> Option<&'a str> {
        args.iter().find_map(|word| name_in(word)).or(self.peer.as_deref())
    }
}

impl Model {
    /// An empty server.
    pub fn new() -> Self {
        Model::default()
    }

    /// A server configured as this one, on a disk that was never used.
    pub(crate) fn anew(&self) -> Self {
        Model { forgets: self.forgets, replicates: self.replicates, ..Model::default() }
    }

    /// A new connection.
    pub fn open(&mut self) -> Session {
        self.sessions += 1;
        Session { id: self.sessions, database: 0, name: Vec::new(), protocol: Protocol::Resp2, peer: None }
    }

    /// Who holds the key of a group's leader when the server's wall clock shows `now_wall_ms`; its value is `<name>/…`. The token is
    /// what the counter showed when the key was taken: it is drawn together with the key.
    pub fn holder(&self, group: u16, now_wall_ms: u64) -> Option<Holder> {
        let held = self.held(group, now_wall_ms)?;
        let name = name_in(&held.value)?.to_owned();
        let granted = self.granted.get(&group).filter(|(value, _)| *value == held.value);
        let token = granted.map_or(0, |(_, token)| *token);
        // Gone once the clock shows more whole milliseconds than its time.
        let until =
            held.expires_at_ms.map(|at| u64::try_from(at.saturating_add(1)).unwrap_or(0).saturating_mul(MILLISECOND));
        Some(Holder { name, token, until })
    }

    /// The name of who does.
    pub fn holder_name(&self, group: u16, now_wall_ms: u64) -> Option<&str> {
        name_in(&self.held(group, now_wall_ms)?.value)
    }

    fn held(&self, group: u16, now_wall_ms: u64) -> Option<&Entry> {
        let now_ms = i64::try_from(now_wall_ms).unwrap_or(i64::MAX);
        let held = self.keys.get(&0)?.get(key_of(group).as_bytes());
        held.filter(|held| held.expires_at_ms.is_none_or(|at| now_ms <= at))
    }

    /// The process started again. Every acknowledged write is there still; the script cache is empty, and connections are
    /// counted anew.
    pub fn restart(&mut self) {
        protocols::mark!(RedisServerRestarts);
        self.scripts.clear();
        self.sessions = 0;
        if self.forgets {
            self.clear();
        }
    }

    /// If a leader's key has come to hold something else: the counter was drawn from with it, or never is.
    pub(super) fn note_grants(&mut self) {
        let Model { keys, granted, .. } = self;
        let Some(keys) = keys.get(&0) else { return granted.clear() };
        let held = |group: u16| keys.get(key_of(group).as_bytes());
        granted.retain(|group, (value, _)| held(*group).is_some_and(|held| held.value == *value));
        let from_leaders = (Bound::Included(KEY.as_bytes()), Bound::Unbounded);
        let leaders = keys.range::<[u8], _>(from_leaders).take_while(|(key, _)| key.starts_with(KEY.as_bytes()));
        for (group, held) in leaders.filter_map(|(key, held)| Some((group_of(0, key)?, held))) {
            granted.entry(group).or_insert_with(|| {
                let counter = keys.get(token_key_of(group).as_bytes());
                let token = counter.and_then(|entry| std::str::from_utf8(&entry.value).ok()?.parse().ok());
                (held.value.clone(), token.unwrap_or(0))
            });
        }
    }

    pub(super) fn get(&self, session: &Session, now_ms: i64, key: &[u8]) -> Option<&Entry> {
        let entry = self.keys.get(&session.database)?.get(key);
        entry.filter(|entry| entry.expires_at_ms.is_none_or(|at| now_ms <= at))
    }

    pub(super) fn put(&mut self, session: &Session, key: &[u8], entry: Entry) {
        self.keys.entry(session.database).or_default().insert(key.to_vec(), entry);
    }

    /// Was the key there?
    pub(super) fn remove(&mut self, session: &Session, now_ms: i64, key: &[u8]) -> bool {
        let visible = self.get(session, now_ms, key).is_some();
        if visible {
            protocols::mark!(RedisKeyGone);
        }
        if let Some(keys) = self.keys.get_mut(&session.database) {
            keys.remove(key);
        }
        visible
    }

    /// Drops every key of a group whose value names a candidate, `<name>/…`: somebody else deleted it, or memory was short.
    /// A key that is of no group counts as one of the first.
    pub fn drop_key_of(&mut self, candidate: &str, group: u16) {
        let is_its = |value: &[u8]| value.strip_prefix(candidate.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        for (database, keys) in &mut self.keys {
            keys.retain(|key, entry| group_of(*database, key).unwrap_or(0) != group || !is_its(&entry.value));
        }
    }

    /// Drops the counter that a group's tokens are drawn from, with the next one to be 1: a lost disk, a replica promoted too early.
    pub fn drop_counter(&mut self, group: u16) {
        if let Some(keys) = self.keys.get_mut(&0) {
            keys.remove(token_key_of(group).as_bytes());
        }
    }

    /// The writes since this was last asked, as replicas are told them, each with its database.
    pub(crate) fn take_written(&mut self) -> Vec<(u8, Vec<Vec<u8>>)> {
        std::mem::take(&mut self.written)
    }

    /// A write, as replicas are told it: with absolute times, whatever it was asked with.
    pub(super) fn wrote<W: AsRef<[u8]>>(&mut self, session: &Session, words: &[W]) {
        if self.replicates {
            self.written.push((session.database, words.iter().map(|word| word.as_ref().to_vec()).collect()));
        }
    }

    /// Every key with its database, its value and its end, milliseconds since the Unix epoch.
    pub(crate) fn everything(&self) -> impl Iterator<Item = (u8, &[u8], &[u8], Option<i64>)> {
        let all = self.keys.iter().flat_map(|(of, keys)| keys.iter().map(|(key, entry)| (*of, key, entry)));
        all.map(|(of, key, entry)| (of, key.as_slice(), entry.value.as_slice(), entry.expires_at_ms))
    }

    /// Forgets every key.
    pub(crate) fn clear_everything(&mut self) {
        self.clear();
    }

    /// A key as it was elsewhere.
    pub(crate) fn restore(&mut self, database: u8, key: Vec<u8>, value: Vec<u8>, expires_at_ms: Option<i64>) {
        self.keys.entry(database).or_default().insert(key, Entry { value, expires_at_ms });
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }
}

/// The group whose leader holds that key; `None` for any other key.
fn group_of(database: u8, key: &[u8]) -> Option<u16> {
    let rest = key.strip_prefix(KEY.as_bytes()).filter(|_| database == 0)?;
    let group = match rest {
        [] => return Some(0),
        rest => std::str::from_utf8(rest.strip_prefix(b"-")?).ok()?.parse().ok()?,
    };
    (key_of(group).as_bytes() == key).then_some(group)
}

/// The candidate that a value of the leader's key names.
pub(super) fn name_in(value: &[u8]) -> Option<&str> {
    let end = value.iter().position(|byte| *byte == b'/')?;
    std::str::from_utf8(&value[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{election::redis_common::TOKEN_KEY, service::redis::ACQUIRE_FENCED};

    #[test]
    fn a_grant_keeps_its_token_when_the_counter_is_lost_and_the_next_is_given_it_again() {
        let mut model = Model::new();
        let mut session = model.open();
        let mut acquire = |model: &mut Model, now_ms: u64, value: &str| {
            let words = ["EVAL", ACQUIRE_FENCED, "2", KEY, TOKEN_KEY, value, "1000"];
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            model.apply(&mut session, now_ms, &words);
            model.holder(0, now_ms).map(|holder| (holder.name, holder.token))
        };
        assert_eq!(acquire(&mut model, 0, "n1/a/1"), Some(("n1".to_owned(), 1)));
        model.drop_counter(0);
        assert_eq!(acquire(&mut model, 500, "n2/b/1"), Some(("n1".to_owned(), 1)));
        assert_eq!(acquire(&mut model, 2_000, "n2/b/2"), Some(("n2".to_owned(), 1)));
    }
}
