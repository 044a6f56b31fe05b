//! Locks, their owners and waiters, and deadlocks.
//!
//! All locks are exclusive. Advisory locks are counted separately for the session and its transaction; row locks belong
//! to the transaction. Waiters are served in order (postgres/postgres 15, `src/backend/storage/lmgr/proc.c: ProcSleep,
//! ProcLockWakeup`; for rows `src/backend/access/heap/heapam.c: heap_acquire_tuplock`).

use super::{super::value::Value, Pid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    Advisory(i64),
    /// A row, existing or not, by its table and primary key.
    Row(String, Value),
}

/// How long a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Until the session releases it or ends.
    Session,
    /// Until the transaction ends.
    Transaction,
    /// Not at all: the session only waits until the lock is free.
    Glance,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lock {
    owner: Pid,
    session: u64,
    transaction: u64,
    queue: VecDeque<(Pid, Scope)>,
}

impl Lock {
    fn count(&mut self, scope: Scope) -> Option<&mut u64> {
        match scope {
            Scope::Session => Some(&mut self.session),
            Scope::Transaction => Some(&mut self.transaction),
            Scope::Glance => None,
        }
    }
}

/// All held locks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Locks(BTreeMap<Key, Lock>);

impl Locks {
    pub fn owner(&self, key: &Key) -> Option<Pid> {
        self.0.get(key).map(|lock| lock.owner)
    }

    /// Takes a lock, again if the session already has it; returns whether it was free.
    pub fn take(&mut self, pid: Pid, key: &Key, scope: Scope) -> bool {
        let free = || Lock { owner: pid, session: 0, transaction: 0, queue: VecDeque::new() };
        if scope == Scope::Glance {
            return self.owner(key).is_none_or(|owner| owner == pid);
        }
        let lock = self.0.entry(key.clone()).or_insert_with(free);
        if lock.owner != pid {
            return false;
        }
        if let Some(count) = lock.count(scope) {
            *count += 1;
        }
        true
    }

    /// Queues for a lock that another session has.
    pub fn wait(&mut self, pid: Pid, key: &Key, scope: Scope) {
        if let Some(lock) = self.0.get_mut(key) {
            lock.queue.push_back((pid, scope));
        }
    }

    /// Leaves all queues.
    pub fn stop_waiting(&mut self, pid: Pid) {
        self.0.values_mut().for_each(|lock| lock.queue.retain(|(waiting, _)| *waiting != pid));
    }

    /// Releases a session's lock once; returns whether it had the lock. Adds the next owner to `woken`.
    pub fn give_back(&mut self, pid: Pid, key: &Key, woken: &mut Vec<Pid>) -> bool {
        let Some(lock) = self.0.get_mut(key).filter(|lock| lock.owner == pid && lock.session > 0) else { return false };
        lock.session -= 1;
        self.pass_on(key, woken);
        true
    }

    /// Releases everything that a session has in `scope`.
    pub fn give_all_back(&mut self, pid: Pid, scope: Scope, woken: &mut Vec<Pid>) {
        let held: Vec<Key> = self.0.iter().filter(|(_, lock)| lock.owner == pid).map(|(key, _)| key.clone()).collect();
        for key in held {
            if let Some(count) = self.0.get_mut(&key).and_then(|lock| lock.count(scope)) {
                *count = 0;
            }
            self.pass_on(&key, woken);
        }
    }

    /// If the lock is free, gives it to the next in the queue.
    fn pass_on(&mut self, key: &Key, woken: &mut Vec<Pid>) {
        let Some(lock) = self.0.get_mut(key).filter(|lock| lock.session == 0 && lock.transaction == 0) else { return };
        while let Some((next, scope)) = lock.queue.pop_front() {
            woken.push(next);
            if let Some(count) = lock.count(scope) {
                *count = 1;
                lock.owner = next;
                return;
            }
        }
        self.0.remove(key);
    }

    /// Whether a session is queued.
    pub fn is_queued(&self, pid: Pid) -> bool {
        self.0.values().any(|lock| lock.queue.iter().any(|(waiting, _)| *waiting == pid))
    }

    /// Whether a session waits for itself, directly or through others.
    pub fn is_deadlocked(&self, pid: Pid) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = self.waits_for(pid);
        while let Some(owner) = next {
            if owner == pid {
                return true;
            }
            if !seen.insert(owner) {
                return false;
            }
            next = self.waits_for(owner);
        }
        false
    }

    fn waits_for(&self, pid: Pid) -> Option<Pid> {
        let waits = |lock: &&Lock| lock.queue.iter().any(|(waiting, _)| *waiting == pid);
        self.0.values().find(waits).map(|lock| lock.owner)
    }

    /// Releases everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_first_is_served_first_and_counts_are_kept() {
        let (mut locks, mut woken, key) = (Locks::default(), Vec::new(), Key::Advisory(7));
        assert!(locks.take(1, &key, Scope::Session) && locks.take(1, &key, Scope::Session));
        assert!(locks.take(1, &key, Scope::Transaction));
        for pid in [2, 3] {
            assert!(!locks.take(pid, &key, Scope::Session));
            locks.wait(pid, &key, Scope::Session);
        }
        assert!(locks.give_back(1, &key, &mut woken) && locks.give_back(1, &key, &mut woken));
        assert!(!locks.give_back(1, &key, &mut woken), "what is left is the transaction's");
        assert_eq!((locks.owner(&key), woken.as_slice()), (Some(1), &[][..]));
        locks.give_all_back(1, Scope::Transaction, &mut woken);
        assert_eq!((locks.owner(&key), woken.as_slice()), (Some(2), &[2][..]));
        locks.stop_waiting(3);
        assert!(locks.give_back(2, &key, &mut woken));
        assert_eq!(locks.owner(&key), None);
    }

    #[test]
    fn a_circle_is_found_and_a_line_is_none() {
        let mut locks = Locks::default();
        let keys: Vec<Key> = (0..3).map(Key::Advisory).collect();
        for (pid, key) in (0..).zip(&keys) {
            assert!(locks.take(pid, key, Scope::Transaction));
        }
        locks.wait(0, &keys[1], Scope::Transaction);
        locks.wait(1, &keys[2], Scope::Transaction);
        assert!(!locks.is_deadlocked(0));
        locks.wait(2, &keys[0], Scope::Transaction);
        assert!((0..3).all(|pid| locks.is_deadlocked(pid)));
    }
}
