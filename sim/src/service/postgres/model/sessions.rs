//! Sessions and their transactions: beginning, end, and waiting times.

use super::{
    super::{error::Error, value::timestamp},
    Answer, Model, Pid, Scope, Session, Settings, Transaction,
    locks::Key,
};
use protocols::clock::Now;
use std::collections::BTreeMap;

impl Model {
    /// Opens a session.
    pub fn open(&mut self, settings: Settings) -> Pid {
        self.opened += 1;
        let pid = 100 + self.opened;
        self.sessions.insert(pid, Session { settings, ..Session::default() });
        pid
    }

    /// Closes a session: rolls back its transaction and releases its locks.
    pub fn close(&mut self, pid: Pid) {
        self.undo(pid);
        self.locks.give_all_back(pid, Scope::Session, &mut self.woken);
        self.sessions.remove(&pid);
    }

    /// The process has restarted: committed data is kept, sessions and locks are gone.
    pub fn restart(&mut self) {
        let pids: Vec<Pid> = self.sessions.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.undo(pid));
        self.sessions.clear();
        self.locks.clear();
        self.woken.clear();
    }

    /// Terminates a session from outside; returns whether it existed.
    pub fn terminate(&mut self, pid: Pid) -> bool {
        let found = self.sessions.get_mut(&pid);
        let is_there = found.is_some();
        if let Some(session) = found {
            session.terminated = true;
            self.woken.push(pid);
        }
        is_there
    }

    pub fn has_session(&self, pid: Pid) -> bool {
        self.sessions.contains_key(&pid)
    }

    /// Whether the session was terminated from outside.
    pub fn is_terminated(&self, pid: Pid) -> bool {
        self.sessions.get(&pid).is_none_or(|session| session.terminated)
    }

    /// The sessions that got their lock or are to end, since the last call.
    pub fn take_woken(&mut self) -> Vec<Pid> {
        std::mem::take(&mut self.woken)
    }

    pub fn settings(&self, pid: Pid) -> Settings {
        self.sessions.get(&pid).map(|session| session.settings.clone()).unwrap_or_default()
    }

    /// Sets a session's application name.
    pub fn be_named(&mut self, pid: Pid, name: &str) {
        if let Some(session) = self.sessions.get_mut(&pid) {
            // Any text is valid.
            let _ = session.settings.set("application_name", Some(name));
        }
    }

    /// The session's transaction status: idle, in a transaction, or in a failed one.
    pub fn status(&self, pid: Pid) -> u8 {
        match self.transaction(pid) {
            Some(transaction) if transaction.failed => b'E',
            Some(transaction) if transaction.is_block => b'T',
            _ => b'I',
        }
    }

    /// A statement arrives: outside of a transaction, begins one for it alone, which fixes `now()`.
    pub fn begin_command(&mut self, pid: Pid, now: Now) {
        let Some(session) = self.sessions.get_mut(&pid) else { return };
        if session.transaction.is_none() {
            session.transaction = Some(Transaction {
                began: timestamp(now.wall),
                is_block: false,
                failed: false,
                settings: session.settings.clone(),
                local: BTreeMap::new(),
                touched: Vec::new(),
            });
        }
    }

    /// The statements of a message are done: commits the transaction begun for them alone.
    pub fn end_command(&mut self, pid: Pid) {
        if self.transaction(pid).is_some_and(|transaction| !transaction.is_block) {
            self.commit(pid);
        }
    }

    /// A statement has failed: rolls back the transaction, and marks a block as failed.
    pub fn fail(&mut self, pid: Pid) {
        let is_block = self.transaction(pid).is_some_and(|transaction| transaction.is_block);
        let began = self.transaction(pid).map_or(0, |transaction| transaction.began);
        self.undo(pid);
        if let Some(session) = self.sessions.get_mut(&pid)
            && is_block
        {
            let settings = session.settings.clone();
            let (local, touched) = (BTreeMap::new(), Vec::new());
            session.transaction = Some(Transaction { began, is_block, failed: true, settings, local, touched });
        }
    }

    pub(super) fn begin_block(&mut self, pid: Pid) -> Answer {
        let mut answer = Answer::tagged("BEGIN");
        if let Some(transaction) = self.sessions.get_mut(&pid).and_then(|session| session.transaction.as_mut())
            && std::mem::replace(&mut transaction.is_block, true)
        {
            let why = "there is already a transaction in progress".to_owned();
            answer.notices.push(("WARNING", "25001", why));
        }
        answer
    }

    pub(super) fn end_block(&mut self, pid: Pid, commit: bool) -> Answer {
        let (is_block, failed) = self.transaction(pid).map_or((false, false), |t| (t.is_block, t.failed));
        let commits = commit && !failed;
        let mut answer = Answer::tagged(if commits { "COMMIT" } else { "ROLLBACK" });
        if !is_block {
            answer.notices.push(("WARNING", "25P01", "there is no transaction in progress".to_owned()));
        }
        if commits {
            self.commit(pid);
        } else {
            self.undo(pid);
        }
        answer
    }

    fn commit(&mut self, pid: Pid) {
        let Some(session) = self.sessions.get_mut(&pid) else { return };
        let Some(transaction) = session.transaction.take() else { return };
        // Restores the settings local to the transaction.
        for (name, before) in &transaction.local {
            let _ = session.settings.set(name, Some(before));
        }
        for (table, key) in &transaction.touched {
            if let Some(former) = self.tables.get_mut(table).and_then(|table| table.commit(pid, key)) {
                self.note_effect(pid, table, key, former.as_ref());
            }
        }
        self.locks.give_all_back(pid, Scope::Transaction, &mut self.woken);
    }

    fn undo(&mut self, pid: Pid) {
        let queued = self.locks.is_queued(pid);
        self.locks.stop_waiting(pid);
        let Some(session) = self.sessions.get_mut(&pid) else { return };
        // Releases a lock that it was granted as it stopped waiting.
        let given = session.waiting.take().filter(|waiting| !queued && waiting.scope == Scope::Session);
        if let Some(waiting) = given {
            self.locks.give_back(pid, &waiting.key, &mut self.woken);
        }
        let Some(session) = self.sessions.get_mut(&pid) else { return };
        let Some(transaction) = session.transaction.take() else { return };
        session.settings = transaction.settings;
        for (table, key) in &transaction.touched {
            if let Some(table) = self.tables.get_mut(table) {
                table.undo(pid, key);
            }
        }
        self.locks.give_all_back(pid, Scope::Transaction, &mut self.woken);
    }

    pub(super) fn set(
        &mut self,
        pid: Pid,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<Vec<(&'static str, String)>, Error> {
        let Some(session) = self.sessions.get_mut(&pid) else { return Ok(Vec::new()) };
        let before = session.settings.clone();
        let (name, value) = session.settings.set(name, value)?;
        if local && let Some(transaction) = &mut session.transaction {
            transaction.local.entry(name.to_owned()).or_insert(before.show(name)?);
        }
        Ok(if ["application_name", "client_encoding"].contains(&name) { vec![(name, value)] } else { Vec::new() })
    }

    /// Notes that a transaction has changed a row.
    pub(super) fn touch(&mut self, pid: Pid, table: &str, key: &super::Value) {
        if let Some(transaction) = self.sessions.get_mut(&pid).and_then(|session| session.transaction.as_mut()) {
            transaction.touched.push((table.to_owned(), key.clone()));
        }
    }

    /// Whether a session waits for a lock that it does not have.
    pub fn is_waiting(&self, pid: Pid) -> bool {
        self.locks.is_queued(pid)
    }

    /// When a session that waits for a lock must check whether it has waited too long, in nanoseconds of the server's
    /// monotonic clock.
    pub fn waits_until(&self, pid: Pid) -> Option<u64> {
        let session = self.sessions.get(&pid)?;
        let waiting = session.waiting.as_ref()?;
        let limit = session.settings.limit("lock_timeout");
        let deadlock = session.settings.limit("deadlock_timeout").filter(|_| !waiting.looked_for_deadlock);
        limit.into_iter().chain(deadlock).map(|length| waiting.since.saturating_add(length)).min()
    }

    /// Checks a session for a timeout or a deadlock.
    ///
    /// # Errors
    /// The wait has failed.
    pub fn check_wait(&mut self, pid: Pid, now: Now) -> Result<(), Error> {
        let Some(session) = self.sessions.get_mut(&pid) else { return Ok(()) };
        let (limit, deadlock) = (session.settings.limit("lock_timeout"), session.settings.limit("deadlock_timeout"));
        let Some(waiting) = &mut session.waiting else { return Ok(()) };
        let waited = now.mono.saturating_sub(waiting.since);
        // Timers fire in this order if both are due.
        if deadlock.is_some_and(|length| waited >= length)
            && !std::mem::replace(&mut waiting.looked_for_deadlock, true)
            && self.locks.is_deadlocked(pid)
        {
            return Err(Error::new("40P01", "deadlock detected"));
        }
        if limit.is_some_and(|length| waited >= length) {
            return Err(Error::new("55P03", "canceling statement due to lock timeout"));
        }
        Ok(())
    }

    /// How long a session may stay idle in its state, in nanoseconds, and the error it then gets.
    pub fn idle_limit(&self, pid: Pid) -> Option<(u64, Error)> {
        let settings = self.settings(pid);
        let fatal = |code, why: &str| Error { fatal: true, ..Error::new(code, why) };
        if self.status(pid) == b'I' {
            let why = "terminating connection due to idle-session timeout";
            settings.limit("idle_session_timeout").map(|length| (length, fatal("57P05", why)))
        } else {
            let why = "terminating connection due to idle-in-transaction timeout";
            settings.limit("idle_in_transaction_session_timeout").map(|length| (length, fatal("25P03", why)))
        }
    }

    /// The owner of an election's advisory lock, which is named by its key.
    pub(super) fn lock_owner(&self, key: i64) -> Option<Pid> {
        self.locks.owner(&Key::Advisory(key))
    }
}
