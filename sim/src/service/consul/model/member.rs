//! The differences if the model is one server's copy: only the leader knows when sessions end.

use super::Model;
use crate::service::consul::pieces::Text;
use protocols::election::consul::key_of;

impl Model {
    /// The lock's key and session, if the candidate holds the lock in the group.
    pub fn held_by(&self, candidate: &str, group: u16) -> Option<(Text, String)> {
        let key = key_of(group).into_bytes();
        let held = self.keys.get(&key).filter(|pair| pair.value == candidate.as_bytes())?;
        Some((key, held.session.clone()?))
    }

    /// Whether a lock-delay keeps the key from everybody.
    pub fn is_delayed(&self, key: &[u8], now: u64) -> bool {
        self.delays.get(key).is_some_and(|until| *until > now)
    }

    /// The sessions whose time is up; their ends are then under way.
    pub fn take_due(&mut self, now: u64) -> Vec<String> {
        let due = self.sessions.iter_mut().filter(|(_, s)| s.ends_at.is_some_and(|at| at <= now));
        due.map(|(id, session)| {
            session.ends_at = Some(u64::MAX);
            id.clone()
        })
        .collect()
    }

    /// Restarts every session's time if this server leads since `leads_since` (nanoseconds); otherwise it does not know
    /// when sessions end.
    pub fn renew_all(&mut self, leads_since: Option<u64>) {
        self.sessions.values_mut().for_each(|session| session.renew(leads_since.unwrap_or(u64::MAX)));
    }
}
