//! A Consul server's state and answers, without I/O and without a clock.
//!
//! Reference: hashicorp/consul 1.8.7, `agent/consul/state/kvs.go: kvsSetTxn, KVSSetCAS, KVSDeleteCAS, kvsLockTxn,
//! kvsUnlockTxn, KVSGet`, `agent/consul/state/session.go: SessionCreate, deleteSessionTxn`,
//! `agent/consul/state/delay.go`, `agent/consul/session_ttl.go: createSessionTimer, invalidateSession`,
//! `agent/consul/session_endpoint.go: Apply, Renew`, `agent/consul/kvs_endpoint.go: kvsPreApply`,
//! `agent/structs/structs.go: SessionTTLMax, SessionTTLMultiplier, MaxLockDelay`.
//!
//! **Sessions** end *twice* their time to live after their creation or last renewal, by the leader's monotonic clock. A
//! **lock-delay** follows whenever a session that holds a key ends, even if its own client destroys it; a release
//! causes none. It is set by applying the log, which a server repeats when it starts: then all lock-delays restart,
//! even those that ended long ago (snapshots, which would shorten that, are not modelled). **Indexes**: every write
//! that reaches Raft takes one, even if the store then refuses it; a key that is written with its present content keeps
//! its own. **LockIndex** counts a key's acquisitions, but a plain or compare-and-set write resets it to 0, even under
//! a lock.

mod member;

use super::pieces::{Text, duration_text};
use crate::service::grants::Holder;
use crate::world::model::Dropped;
use protocols::{election::consul::key_of, types::SECOND};
use std::collections::BTreeMap;

/// A session's shortest time to live, in nanoseconds (`session_ttl_min`).
pub const TTL_MIN: u64 = 10 * SECOND;
/// A session's longest time to live, in nanoseconds.
pub const TTL_MAX: u64 = 24 * 3_600 * SECOND;
/// A session lasts this many times its time to live.
pub const TTL_MULTIPLIER: u64 = 2;
/// The longest lock-delay, in nanoseconds.
pub const LOCK_DELAY_MAX: u64 = 60 * SECOND;
/// The lock-delay of a session that names none, in nanoseconds.
pub const LOCK_DELAY: u64 = 15 * SECOND;
/// The server's node name.
pub const NODE: &str = "consul";
/// The length of a session's id.
const ID_LENGTH: usize = 36;

/// A refusal in the server's words.
pub type Refusal = String;

/// What happens to a session's keys when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behavior {
    /// They are released.
    Release,
    /// They are deleted.
    Delete,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Its name for people.
    pub name: String,
    /// The node that it belongs to.
    pub node: String,
    /// In nanoseconds.
    pub lock_delay: u64,
    pub behavior: Behavior,
    /// As requested, which is how it is shown.
    pub ttl: String,
    /// The names of the checks that end it.
    pub checks: Vec<String>,
    /// The index of its creation.
    pub create_index: u64,
    /// When it ends, in nanoseconds of the server's monotonic clock; `None` if it has no time to live.
    pub ends_at: Option<u64>,
}

impl Session {
    /// Restarts its time to live.
    fn renew(&mut self, now: u64) {
        let ttl =
            super::pieces::duration(&self.ttl).ok().and_then(|ttl| u64::try_from(ttl).ok()).filter(|ttl| *ttl > 0);
        self.ends_at = ttl.map(|ttl| now.saturating_add(ttl.saturating_mul(TTL_MULTIPLIER)));
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pair {
    pub value: Vec<u8>,
    /// Any value that the client chooses.
    pub flags: u64,
    /// The session that holds it.
    pub session: Option<String>,
    /// The number of acquisitions since its creation.
    pub lock_index: u64,
    /// The index of its creation.
    pub create_index: u64,
    /// The index of its last change.
    pub modify_index: u64,
    /// The index of its last acquisition; clients see it only until the key is written again.
    pub acquire_index: u64,
}

#[derive(Clone, Debug)]
pub struct Model {
    /// The index of the last write.
    index: u64,
    /// The index of the last write that changed a key; 0 if there was none.
    keys_index: u64,
    /// The index of the last write that changed a session.
    sessions_index: u64,
    keys: BTreeMap<Text, Pair>,
    sessions: BTreeMap<String, Session>,
    /// Until when each key cannot be acquired.
    delays: BTreeMap<Text, u64>,
    /// The length of each key's last lock-delay. Set by applying the log, which is repeated when a server starts.
    lengths: BTreeMap<Text, u64>,
    /// Lock-delays that begin now, in nanoseconds; see [`Model::settle`].
    beginning: BTreeMap<Text, u64>,
}

impl Default for Model {
    fn default() -> Self {
        // A new server has already written about itself.
        let (keys, sessions, delays, lengths, beginning) = Default::default();
        Model { index: 7, keys_index: 0, sessions_index: 0, keys, sessions, delays, lengths, beginning }
    }
}

impl Model {
    /// The process has started and leads.
    pub fn promote(&mut self, now: u64) {
        protocols::mark!("consul server: it starts, with all sessions' time anew");
        self.beginning = self.lengths.clone();
        self.settle(now);
        self.sessions.values_mut().for_each(|session| session.renew(now));
    }

    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Creates a session with this id.
    ///
    /// # Errors
    /// The time to live is out of bounds, or the node or check does not exist.
    pub fn create_session(&mut self, now: u64, id: &str, mut session: Session) -> Result<(), Refusal> {
        let ttl = match session.ttl.as_str() {
            "" => 0,
            ttl => super::pieces::duration(ttl).map_err(|why| format!("Session TTL '{ttl}' invalid: {why}"))?,
        };
        let bounds = TTL_MIN as i128..=TTL_MAX as i128;
        if ttl != 0 && !bounds.contains(&ttl) {
            let [min, max] = [TTL_MIN, TTL_MAX].map(duration_text);
            return Err(format!("Invalid Session TTL '{ttl}', must be between [{min}={max}]"));
        }
        let index = self.next();
        if !session.node.eq_ignore_ascii_case(NODE) {
            return Err("Missing node registration".to_owned());
        }
        if let Some(check) = session.checks.iter().find(|check| *check != "serfHealth") {
            return Err(format!("Missing check '{check}' registration"));
        }
        session.create_index = index;
        session.renew(now);
        self.sessions.insert(id.to_owned(), session);
        self.sessions_index = index;
        Ok(())
    }

    /// Ends a session, if it exists, whoever asks.
    ///
    /// # Errors
    /// The id is malformed.
    pub fn destroy_session(&mut self, id: &str) -> Result<(), Refusal> {
        let index = self.next();
        is_id(id)?;
        let Some(session) = self.sessions.remove(id) else { return Ok(()) };
        self.sessions_index = index;
        let held: Vec<Text> =
            self.keys.iter().filter(|(_, pair)| pair.is_held_by(id)).map(|(key, _)| key.clone()).collect();
        for key in held {
            match session.behavior {
                Behavior::Release => {
                    if let Some(pair) = self.keys.get_mut(&key) {
                        (pair.session, pair.modify_index) = (None, index);
                    }
                }
                Behavior::Delete => drop(self.keys.remove(&key)),
            }
            self.keys_index = index;
            if session.lock_delay > 0 {
                self.beginning.insert(key, session.lock_delay.min(LOCK_DELAY_MAX));
            }
        }
        Ok(())
    }

    /// Starts the lock-delays that have begun. Must be called in the instant in which a session ended.
    pub fn settle(&mut self, now: u64) {
        let began = std::mem::take(&mut self.beginning);
        self.lengths.extend(began.clone());
        self.delays.extend(began.into_iter().map(|(key, delay)| (key, now.saturating_add(delay))));
    }

    /// The session with this id, renewed if `renew_at` is given; `None` if there is none.
    ///
    /// # Errors
    /// The id is malformed.
    pub fn session(&mut self, id: &str, renew_at: Option<u64>) -> Result<Option<&Session>, Refusal> {
        is_id(id)?;
        let session = self.sessions.get_mut(id);
        if session.is_none() && renew_at.is_some() {
            protocols::mark!("consul server: a renewal for a session that there is not");
        }
        Ok(session.map(|session| {
            if let Some(now) = renew_at {
                session.renew(now);
            }
            &*session
        }))
    }

    /// The index of all sessions together; 1 if there was never one, since clients must not see 0.
    pub fn sessions_index(&self) -> u64 {
        self.sessions_index.max(1)
    }

    /// When the next session ends.
    pub fn next_end(&self) -> Option<u64> {
        self.sessions.values().filter_map(|session| session.ends_at).min()
    }

    /// Ends every session whose time is up, each at its own index; returns whether any did.
    pub fn expire(&mut self, now: u64) -> bool {
        let due = |session: &Session| session.ends_at.is_some_and(|at| at <= now);
        let mut ended: Vec<(Option<u64>, String)> =
            self.sessions.iter().filter(|(_, s)| due(s)).map(|(id, s)| (s.ends_at, id.clone())).collect();
        ended.sort();
        for (_, id) in &ended {
            protocols::mark!("consul server: a session's time is up");
            // The id is valid: it came from the table.
            let _ = self.destroy_session(id);
        }
        self.settle(now);
        !ended.is_empty()
    }

    /// A key and the answer's index: the key's own, or that of all keys if it does not exist.
    pub fn get(&self, key: &[u8]) -> (Option<&Pair>, u64) {
        match self.keys.get(key) {
            Some(pair) => (Some(pair), pair.modify_index),
            None => (None, self.keys_index.max(1)),
        }
    }

    /// Writes a key, if `cas` is the index of its last change (0: it does not exist) or `None`; returns whether it did.
    pub fn set(&mut self, key: &[u8], value: Vec<u8>, flags: u64, cas: Option<u64>) -> bool {
        let index = self.next();
        let existing = self.keys.get(key);
        if cas.is_some_and(|cas| cas != existing.map_or(0, |pair| pair.modify_index)) {
            return false;
        }
        let kept = existing.cloned().unwrap_or(Pair { create_index: index, ..Pair::default() });
        // A plain write does not take the key from its holder, but resets the count of acquisitions.
        self.put(key, Pair { value, flags, lock_index: 0, ..kept }, index);
        true
    }

    /// Deletes a key, if `cas` is the index of its last change or `None`; returns whether it is gone.
    pub fn delete(&mut self, key: &[u8], cas: Option<u64>) -> bool {
        let index = self.next();
        match self.keys.get(key) {
            None => true,
            Some(pair) if cas.is_some_and(|cas| cas != pair.modify_index) => false,
            Some(_) => {
                self.keys.remove(key);
                self.keys_index = index;
                true
            }
        }
    }

    /// Acquires a key for a session; returns whether the session holds it now.
    ///
    /// # Errors
    /// The session does not exist.
    pub fn acquire(
        &mut self,
        now: u64,
        key: &[u8],
        value: Vec<u8>,
        flags: u64,
        session: &str,
    ) -> Result<bool, Refusal> {
        if self.delays.get(key).is_some_and(|until| *until > now) {
            // Refused before it reaches Raft, so it takes no index.
            protocols::mark!("consul server: a lock-delay keeps a key from everybody");
            return Ok(false);
        }
        let index = self.next();
        is_session(session)?;
        is_id(session)?;
        if !self.sessions.contains_key(session) {
            return Err(format!("invalid session {session:?}"));
        }
        let existing = self.keys.get(key);
        let (create_index, lock_index) = match existing {
            None => (index, 1),
            Some(pair) if pair.is_held_by(session) => (pair.create_index, pair.lock_index),
            Some(Pair { session: Some(_), .. }) => return Ok(false),
            Some(pair) => (pair.create_index, pair.lock_index + 1),
        };
        let acquire_index = existing.filter(|pair| pair.is_held_by(session)).map_or(index, |pair| pair.acquire_index);
        let session = Some(session.to_owned());
        let (modify_index, pair) = (index, Pair { value, flags, session, lock_index, create_index, ..Pair::default() });
        self.put(key, Pair { modify_index, acquire_index, ..pair }, index);
        Ok(true)
    }

    /// Releases a key that the session holds; returns whether it held it.
    ///
    /// # Errors
    /// No session is named.
    pub fn release(&mut self, key: &[u8], value: Vec<u8>, flags: u64, session: &str) -> Result<bool, Refusal> {
        let index = self.next();
        is_session(session)?;
        let Some(pair) = self.keys.get(key).filter(|pair| pair.is_held_by(session)) else { return Ok(false) };
        let pair = Pair { value, flags, session: None, modify_index: index, ..pair.clone() };
        self.put(key, pair, index);
        Ok(true)
    }

    /// The holder of a group's leadership, whom the value of the lock's key names.
    pub fn holder(&self, group: u16) -> Option<Holder> {
        let pair = self.keys.get(key_of(group).as_bytes()).filter(|pair| pair.session.is_some())?;
        let name = String::from_utf8(pair.value.clone()).ok()?;
        Some(Holder { name, token: pair.acquire_index, until: None })
    }

    /// The session that holds the lock of a key.
    pub fn holder_of(&self, key: &str) -> Option<Holder> {
        let name = self.keys.get(key.as_bytes())?.session.clone()?;
        Some(Holder { name, token: 0, until: None })
    }

    /// Takes a group's leadership from a candidate, like an operator: ends its session, or deletes only the key.
    pub fn drop_leadership_of(&mut self, candidate: &str, group: u16, what: Dropped) {
        let key = key_of(group);
        let held = self.keys.get(key.as_bytes()).filter(|pair| pair.value == candidate.as_bytes());
        match (what, held.and_then(|pair| pair.session.clone())) {
            (Dropped::Key, Some(_)) => drop(self.delete(key.as_bytes(), None)),
            // The id is valid: it came from the table.
            (Dropped::Lease, Some(session)) => drop(self.destroy_session(&session)),
            // Tokens are indexes, so there is no counter to lose. A candidate without a lock loses nothing.
            _ => {}
        }
    }

    fn next(&mut self) -> u64 {
        self.index += 1;
        self.index
    }

    /// Stores a key, unless nothing would change.
    fn put(&mut self, key: &[u8], mut pair: Pair, index: u64) {
        let existing = self.keys.get(key);
        if existing.is_some_and(|old| *old == Pair { modify_index: old.modify_index, ..pair.clone() }) {
            return;
        }
        pair.modify_index = index;
        self.keys.insert(key.to_vec(), pair);
        self.keys_index = index;
    }
}

impl Pair {
    fn is_held_by(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }
}

fn is_session(session: &str) -> Result<(), Refusal> {
    if session.is_empty() { Err("missing session".to_owned()) } else { Ok(()) }
}

/// Ids are looked up in an index of UUIDs.
fn is_id(id: &str) -> Result<(), Refusal> {
    let wrong = |why: &str| Err(format!("failed session lookup: index error: {why}"));
    if id.len() != ID_LENGTH {
        return wrong("UUID must be 36 characters");
    }
    match id.chars().find(|c| *c != '-' && !c.is_ascii_hexdigit()) {
        Some(c) => wrong(&format!("Invalid UUID: encoding/hex: invalid byte: U+{:04X} '{c}'", c as u32)),
        None => Ok(()),
    }
}
