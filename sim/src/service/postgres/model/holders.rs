//! Who leads according to the server's state.

use super::{
    super::value::{Value, timestamp, wall},
    Model, Pid,
    locks::Key,
};
use crate::service::{Dropped, grants::Holder};
use protocols::{
    service::postgres::{key_of, name_of},
    types::MILLISECOND,
};
use std::collections::BTreeMap;

/// What leadership is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Watched {
    /// A row with an expiry.
    #[default]
    Lock,
    /// A row of check-ins.
    CheckIn,
    /// An advisory lock.
    Session,
    /// Unknown to the server: its sessions belong to a pool.
    Pool,
}

/// By group, the row's holder and its token.
pub(super) type Granted = BTreeMap<u16, (String, u64)>;

impl Watched {
    const fn table(self) -> &'static str {
        match self {
            Watched::Lock => "fencepost_lock",
            Watched::CheckIn => "fencepost_check_in",
            Watched::Session | Watched::Pool => "",
        }
    }
}

impl Model {
    /// A column of a group's committed row.
    fn cell(&self, group: u16, column: &str) -> Option<&Value> {
        let table = self.tables.get(self.watched.table())?;
        table.committed(&Value::Text(name_of(group)))?.get(table.place(column).ok()?)
    }

    fn row_holder(&self, group: u16) -> Option<&str> {
        match self.cell(group, "holder") {
            Some(Value::Text(holder)) if !holder.is_empty() => Some(holder),
            _ => None,
        }
    }

    fn token(&self, group: u16) -> u64 {
        match self.cell(group, "token") {
            Some(Value::Int8(token)) => u64::try_from(*token).unwrap_or(0),
            _ => 0,
        }
    }

    /// Notes the tokens of granted rows; they stay valid even if the counter is lost later.
    pub fn note_grants(&mut self, groups: u16) {
        for group in 0..groups {
            let Some(holder) = self.row_holder(group).map(str::to_owned) else {
                self.granted.remove(&group);
                continue;
            };
            if self.granted.get(&group).is_none_or(|(known, _)| *known != holder) {
                let token = self.token(group);
                self.granted.insert(group, (holder, token));
            }
        }
    }

    /// The holder of a group's leadership at wall time `now_wall`, in nanoseconds.
    pub fn holder(&self, group: u16, now_wall: u64) -> Option<Holder> {
        match self.watched {
            Watched::Pool => None,
            Watched::Session => {
                let session = self.sessions.get(&self.lock_owner(key_of(group))?)?;
                let name = session.settings.application_name().to_owned();
                Some(Holder { name, token: 0, until: None })
            }
            Watched::Lock | Watched::CheckIn => {
                let holder = self.row_holder(group)?;
                let until = match self.cell(group, "lock_until") {
                    Some(Value::Timestamptz(at)) => Some(*at),
                    _ => None,
                };
                if until.is_some_and(|at| at <= timestamp(now_wall)) {
                    return None;
                }
                let name = holder.split_once('/')?.0.to_owned();
                let token = self.granted.get(&group).map_or(0, |(_, token)| *token);
                Some(Holder { name, token, until: until.map(wall) })
            }
        }
    }

    /// The session that has the advisory lock of this number.
    pub fn holder_of(&self, lock: &str) -> Option<Holder> {
        let name = self.lock_owner(lock.parse().ok()?)?.to_string();
        Some(Holder { name, token: 0, until: None })
    }

    /// Takes leadership from a candidate, like an operator: ends its row or its session; or loses the counter, whoever
    /// leads.
    pub fn drop_leadership(&mut self, candidate: &str, group: u16, what: Dropped, wall_ms: u64) {
        let (table, row) = (self.watched.table(), Value::Text(name_of(group)));
        // A session that holds the row's lock would block the operator, so it is terminated.
        if let Some(pid) = self.locks.owner(&Key::Row(table.to_owned(), row.clone())) {
            self.terminate(pid);
        }
        if what == Dropped::Counter {
            if let Some(table) = self.tables.get_mut(table) {
                table.change_committed(&row, "token", Value::Int8(0));
            }
            return;
        }
        if matches!(self.watched, Watched::Session | Watched::Pool) {
            let owner = self.lock_owner(key_of(group));
            let is_its = |pid: &Pid| {
                let named = self.sessions.get(pid).map(|session| session.settings.application_name() == candidate);
                // A pool's sessions belong to all its clients.
                named.is_some_and(|named| named || self.watched == Watched::Pool)
            };
            if let Some(pid) = owner.filter(is_its) {
                self.terminate(pid);
            }
            return;
        }
        let is_its = |holder: &str| holder.strip_prefix(candidate).is_some_and(|rest| rest.starts_with('/'));
        if self.row_holder(group).is_some_and(is_its)
            && let Some(table) = self.tables.get_mut(table)
        {
            match self.watched {
                Watched::Lock => {
                    let now = Value::Timestamptz(timestamp(wall_ms * MILLISECOND));
                    table.change_committed(&row, "lock_until", now);
                }
                _ => table.change_committed(&row, "holder", Value::Text(String::new())),
            }
        }
    }
}
