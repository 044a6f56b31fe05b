//! A Redis server's state and answers, without I/O and without a clock.
//!
//! **Expiry** uses the server's *wall* clock in whole milliseconds, and a key is gone once the clock shows *more* than
//! its time (redis/redis 7.0, `src/db.c: keyIsExpired`: `now > when`): by that clock, a key with a ttl of t lives at
//! least t, and a clock step makes leases longer or shorter. Keys are dropped when accessed and by a background cycle
//! (`src/expire.c: activeExpireCycle`), which here runs with every command; the difference is visible only if the clock
//! steps back.

use super::{resp::Protocol, script::Script};
use crate::service::grants::Holder;
use protocols::{
    election::redis_common::{KEY, key_of, token_key_of},
    types::MILLISECOND,
};
use std::{collections::BTreeMap, ops::Bound};

/// The keys, the script cache, and the number of connections so far.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By database.
    pub(super) keys: BTreeMap<u8, Database>,
    /// By digest.
    pub(super) scripts: BTreeMap<String, Script>,
    /// Whether it keeps nothing on disk.
    pub(crate) forgets: bool,
    /// Whether its writes are recorded for replicas.
    pub(crate) replicates: bool,
    /// The error that answers writes, if they are refused, as from a replica's clients.
    pub(crate) refuses_writes: Option<&'static str>,
    /// The writes since they were last taken, in the form for replicas, each with its database.
    pub(super) written: Vec<(u8, Vec<Vec<u8>>)>,
    sessions: i64,
    /// By group: the last value of the leader's key, and the counter when the key took that value.
    granted: BTreeMap<u16, (Vec<u8>, u64)>,
}

pub(super) type Database = BTreeMap<Vec<u8>, Entry>;

/// A key's value and expiry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Vec<u8>,
    /// In milliseconds since the Unix epoch.
    pub(super) expires_at_ms: Option<i64>,
}

impl Entry {
    fn is_there(&self, now_wall_ms: u64) -> bool {
        let now_ms = i64::try_from(now_wall_ms).unwrap_or(i64::MAX);
        self.expires_at_ms.is_none_or(|at| now_ms <= at)
    }

    /// When it goes, in nanoseconds: once the clock shows more whole milliseconds than its expiry.
    fn until(&self) -> Option<u64> {
        self.expires_at_ms.map(|at| u64::try_from(at.saturating_add(1)).unwrap_or(0).saturating_mul(MILLISECOND))
    }
}

/// The state of one connection.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) id: i64,
    pub(super) database: u8,
    pub(super) name: Vec<u8>,
    pub(super) protocol: Protocol,
    /// The candidate at the other end, once a value has named it.
    pub(super) peer: Option<String>,
}

impl Session {
    /// The protocol of the next reply.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The candidate at the other end of the connection after it has sent `args`, if a value has ever named it.
    pub fn peer_after<'a>(&'a self, args: &'a [Vec<u8>]) -> Option<&'a str> {
        args.iter().find_map(|word| name_in(word)).or(self.peer.as_deref())
    }
}

impl Model {
    pub fn new() -> Self {
        Model::default()
    }

    /// A server configured like this one, with an empty disk.
    pub(crate) fn anew(&self) -> Self {
        Model { forgets: self.forgets, replicates: self.replicates, ..Model::default() }
    }

    pub fn open(&mut self) -> Session {
        self.sessions += 1;
        Session { id: self.sessions, database: 0, name: Vec::new(), protocol: Protocol::Resp2, peer: None }
    }

    /// The holder of a group's leader key at wall time `now_wall_ms`; the key's value is `<name>/…`. The token is the
    /// counter when the key was taken, since both happen in one script.
    pub fn holder(&self, group: u16, now_wall_ms: u64) -> Option<Holder> {
        let held = self.held(group, now_wall_ms)?;
        let name = name_in(&held.value)?.to_owned();
        let granted = self.granted.get(&group).filter(|(value, _)| *value == held.value);
        let token = granted.map_or(0, |(_, token)| *token);
        Some(Holder { name, token, until: held.until() })
    }

    /// The holder of a key at wall time `now_wall_ms`, called by the key's value.
    pub fn holder_of(&self, key: &str, now_wall_ms: u64) -> Option<Holder> {
        let held = self.keys.values().find_map(|keys| keys.get(key.as_bytes()))?;
        let held = Some(held).filter(|held| held.is_there(now_wall_ms))?;
        Some(Holder { name: String::from_utf8_lossy(&held.value).into_owned(), token: 0, until: held.until() })
    }

    /// The holder's name.
    pub fn holder_name(&self, group: u16, now_wall_ms: u64) -> Option<&str> {
        name_in(&self.held(group, now_wall_ms)?.value)
    }

    fn held(&self, group: u16, now_wall_ms: u64) -> Option<&Entry> {
        let held = self.keys.get(&0)?.get(key_of(group).as_bytes());
        held.filter(|held| held.is_there(now_wall_ms))
    }

    /// The process has restarted. Acknowledged writes are kept; the script cache is empty, and connections are counted
    /// anew.
    pub fn restart(&mut self) {
        protocols::mark!("redis server: starts again with what it had on disk");
        self.scripts.clear();
        self.sessions = 0;
        if self.forgets {
            self.clear();
        }
    }

    /// Notes the counter when a leader's key takes a new value: it is incremented in the same script, or not at all.
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

    /// Removes a key; returns whether it existed.
    pub(super) fn remove(&mut self, session: &Session, now_ms: i64, key: &[u8]) -> bool {
        let visible = self.get(session, now_ms, key).is_some();
        if visible {
            protocols::mark!("redis server: a key is deleted");
        }
        if let Some(keys) = self.keys.get_mut(&session.database) {
            keys.remove(key);
        }
        visible
    }

    /// Deletes a group's keys whose value names the candidate, `<name>/…`, as an operator or an eviction might. A key
    /// of no group counts as the first group's.
    pub fn drop_key_of(&mut self, candidate: &str, group: u16) {
        let is_its = |value: &[u8]| value.strip_prefix(candidate.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        for (database, keys) in &mut self.keys {
            keys.retain(|key, entry| group_of(*database, key).unwrap_or(0) != group || !is_its(&entry.value));
        }
    }

    /// Deletes a group's token counter, so that the next token is 1: as after a lost disk, or the promotion of a
    /// replica that lags.
    pub fn drop_counter(&mut self, group: u16) {
        if let Some(keys) = self.keys.get_mut(&0) {
            keys.remove(token_key_of(group).as_bytes());
        }
    }

    /// The writes since the last call, in the form for replicas, each with its database.
    pub(crate) fn take_written(&mut self) -> Vec<(u8, Vec<Vec<u8>>)> {
        std::mem::take(&mut self.written)
    }

    /// Records a write in the form for replicas: with absolute times.
    pub(super) fn wrote<W: AsRef<[u8]>>(&mut self, session: &Session, words: &[W]) {
        if self.replicates {
            self.written.push((session.database, words.iter().map(|word| word.as_ref().to_vec()).collect()));
        }
    }

    /// Every key with its database, value and expiry, in milliseconds since the Unix epoch.
    pub(crate) fn everything(&self) -> impl Iterator<Item = (u8, &[u8], &[u8], Option<i64>)> {
        let all = self.keys.iter().flat_map(|(of, keys)| keys.iter().map(|(key, entry)| (*of, key, entry)));
        all.map(|(of, key, entry)| (of, key.as_slice(), entry.value.as_slice(), entry.expires_at_ms))
    }

    /// Deletes every key.
    pub(crate) fn clear_everything(&mut self) {
        self.clear();
    }

    /// Copies a key from another server.
    pub(crate) fn restore(&mut self, database: u8, key: Vec<u8>, value: Vec<u8>, expires_at_ms: Option<i64>) {
        self.keys.entry(database).or_default().insert(key, Entry { value, expires_at_ms });
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }
}

/// The group whose leader holds the key; `None` for other keys.
fn group_of(database: u8, key: &[u8]) -> Option<u16> {
    let rest = key.strip_prefix(KEY.as_bytes()).filter(|_| database == 0)?;
    let group = match rest {
        [] => return Some(0),
        rest => std::str::from_utf8(rest.strip_prefix(b"-")?).ok()?.parse().ok()?,
    };
    (key_of(group).as_bytes() == key).then_some(group)
}

/// The candidate named in the value of a leader's key.
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
