//! Can the node do its work? What service and store answer becomes one log line per change, and the reason why a leader
//! does not act.

use crate::store::wire;
use protocols::{
    election::back_off,
    error::Failure,
    message::WriteVerdict,
    news::Holder,
    payload::{Opaque, Payload},
    service::{Service, etcd, redis},
    types::{MILLISECOND, Resource, SECOND},
};
use std::sync::{Mutex, PoisonError};

/// A leader whose store has not answered for so long does not act, whatever it believes. Nanoseconds.
pub const SILENCE_MAX: u64 = SECOND;

/// A token that was too low says something about the service for so long: twice what candidates stay away at most.
/// Nanoseconds.
const SHORT_MAX: u64 = 2 * back_off::LONGEST;

/// How a node is, beside what it believes. Times are nanoseconds of its monotonic clock.
#[derive(Debug)]
pub struct Health {
    /// Whose key a service may hold, and what it is called.
    names: Vec<String>,
    service: &'static Service,
    /// Where the service is, for the advice that is given.
    endpoint: String,
    seen: Mutex<Seen>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Seen {
    /// Since when the service fails, and why.
    failing: Option<(u64, String)>,
    /// Somebody who is none of ours has what leaders hold.
    foreign: Option<String>,
    /// Since when something is asked of the store that it has not answered.
    asked_at: Option<u64>,
    /// When it last accepted a seal or a write.
    accepted_at: Option<u64>,
    /// The highest token that the store was seen to have accepted, and for what.
    highest: u64,
    of: Option<Resource>,
    /// The service hands out tokens below that: when the last one was, and by how much.
    short: Option<(u64, u64)>,
}

impl Seen {
    /// By how much the service's tokens are too low, as far as is known.
    fn short(&self, now: u64) -> Option<u64> {
        // Meanwhile they may have been raised, and another may lead.
        self.short.filter(|(at, _)| now.saturating_sub(*at) < SHORT_MAX).map(|(_, short)| short)
    }
}

impl Health {
    /// Of a node of a fleet with these names, which elects by `service` at `endpoint`.
    pub fn new(names: Vec<String>, service: &'static Service, endpoint: String) -> Self {
        Health { names, service, endpoint, seen: Mutex::default() }
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The service has answered.
    pub fn service_answers(&self, now: u64) {
        if let Some((since, _)) = self.seen(|seen| seen.failing.take()) {
            tracing::info!(
                after_ms = (now.saturating_sub(since)) / MILLISECOND,
                "the coordination service answers again"
            );
        }
    }

    /// The service has failed; said once until it answers.
    pub fn service_fails(&self, now: u64, failure: &Failure) {
        // That one is part of this process; what it fails at is openraft's to say.
        if self.service.is_embedded {
            return;
        }
        // What it says no to, it has heard; a lease that is over is the ordinary end of a session.
        if let Failure::Rejected(why) = failure
            && why.contains("lease not found")
        {
            return self.service_answers(now);
        }
        let why = failure.to_string();
        let news = self.seen(|seen| match &mut seen.failing {
            Some((_, known)) => {
                *known = why.clone();
                false
            }
            none => {
                *none = Some((now, why.clone()));
                true
            }
        });
        if news {
            tracing::warn!("the coordination service fails: {why}");
        }
    }

    /// What the leaders' key holds, as the service has answered.
    pub fn holder(&self, reply: &Opaque) {
        let Some(holder) = reply.news().holder else { return };
        let ours = |value: &str| self.names.iter().any(|name| value == name || value.starts_with(&format!("{name}/")));
        let foreign = holder.filter(|holder| !ours(&holder.value)).map(|Holder { place, value }| {
            let shown: String = value.chars().take(80).collect();
            format!(
                "{place} holds `{shown}`, which is not a node of this fleet; nobody can be elected until it is gone"
            )
        });
        let before = self.seen(|seen| std::mem::replace(&mut seen.foreign, foreign.clone()));
        match (before, foreign) {
            (before, Some(now)) if before.as_ref() != Some(&now) => tracing::warn!("{now}"),
            (Some(_), None) => tracing::info!("the leaders' key belongs to this fleet again"),
            _ => {}
        }
    }

    /// Something is asked of the store.
    pub fn store_asked(&self, now: u64) {
        self.seen(|seen| _ = seen.asked_at.get_or_insert(now));
    }

    /// The store has answered. With `sealing`, the answer is to the seal that `token` began with.
    pub fn store_answers(&self, now: u64, resource: Resource, token: u64, verdict: WriteVerdict, sealing: bool) {
        self.seen(|seen| {
            seen.asked_at = None;
            match verdict {
                WriteVerdict::Ok => seen.accepted_at = Some(now),
                WriteVerdict::Fenced { highest } if highest > seen.highest => {
                    (seen.highest, seen.of) = (highest, Some(resource));
                }
                _ => {}
            }
            if verdict == WriteVerdict::Ok && sealing && token >= seen.highest {
                seen.short = None;
            }
        });
    }

    /// Nothing is asked of the store any more.
    pub fn store_let_go(&self) {
        self.seen(|seen| seen.asked_at = None);
    }

    /// This node was elected with `token`. A token source that does not go back hands out more than the store was seen to
    /// have accepted before; one that hands out less has lost its data.
    pub fn elected(&self, now: u64, token: u64) {
        let news = self.seen(|seen| {
            let short = seen.highest.checked_sub(token).filter(|short| token > 0 && *short > 0)?;
            let known = seen.short(now).is_some();
            seen.short = Some((now, short));
            (!known).then_some((short, seen.highest, seen.of))
        });
        let Some((short, highest, of)) = news else { return };
        let resource = of.map_or("the store", wire::name);
        tracing::warn!(
            token,
            highest,
            short,
            resource,
            "the coordination service hands out tokens below those that `{resource}` has seen: has it lost its data? \
             Every leader is refused until its tokens are above {highest}. {}",
            self.remedy(highest)
        );
    }

    /// What an operator can do about tokens that are too low.
    fn remedy(&self, highest: u64) -> String {
        // Nothing else has a token source that can be raised.
        let backend = self.service.name;
        if ![redis::SERVICE.name, etcd::SERVICE.name].contains(&backend) {
            return "Restore the nodes' data.".to_owned();
        }
        let endpoint = &self.endpoint;
        format!("Raise them: cargo real raise-token --backend {backend} --service {endpoint} --above {highest}")
    }

    /// Why nothing can be written now; `None` when nothing is known to be in the way.
    pub fn trouble(&self, now: u64) -> Option<String> {
        self.seen(|seen| {
            let ms = |since: u64| now.saturating_sub(since) / MILLISECOND;
            if let Some(asked) = seen.asked_at.filter(|at| now.saturating_sub(*at) >= SILENCE_MAX) {
                return Some(format!("the store has not answered for {} ms", ms(asked)));
            }
            if let Some((since, why)) = &seen.failing {
                return Some(format!("the coordination service has failed for {} ms: {why}", ms(*since)));
            }
            if let Some(short) = seen.short(now) {
                return Some(format!(
                    "the coordination service hands out tokens {short} below the highest that the store has seen. {}",
                    self.remedy(seen.highest)
                ));
            }
            seen.foreign.clone()
        })
    }

    /// Has the store been silent for too long to call this node acting?
    pub fn store_is_silent(&self, now: u64) -> bool {
        self.seen(|seen| seen.asked_at.is_some_and(|at| now.saturating_sub(at) >= SILENCE_MAX))
    }

    /// Does the service fail?
    pub fn service_is_failing(&self) -> bool {
        self.seen(|seen| seen.failing.is_some())
    }

    /// How long ago the store last accepted something, nanoseconds.
    pub fn accepted_ago(&self, now: u64) -> Option<u64> {
        self.seen(|seen| seen.accepted_at.map(|at| now.saturating_sub(at)))
    }

    /// By how much the service's tokens are short; 0 when they are not.
    pub fn short(&self, now: u64) -> u64 {
        self.seen(|seen| seen.short(now).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::{payload::Payload, service::etcd::KeyState};

    fn health() -> Health {
        Health::new(vec!["n1".into(), "n2".into()], &redis::SERVICE, "127.0.0.1:6379".into())
    }

    #[test]
    fn a_store_that_is_silent_for_too_long_is_a_reason() {
        let health = health();
        health.store_asked(SECOND);
        health.store_asked(2 * SECOND - 1);
        assert_eq!((health.trouble(2 * SECOND - 1), health.store_is_silent(2 * SECOND - 1)), (None, false));
        let why = health.trouble(2 * SECOND + 5 * MILLISECOND);
        assert_eq!(why.as_deref(), Some("the store has not answered for 1005 ms"));
        assert!(health.store_is_silent(2 * SECOND));
        health.store_answers(3 * SECOND, Resource::SEQUENCE, 1, WriteVerdict::Ok, false);
        assert_eq!((health.trouble(9 * SECOND), health.accepted_ago(9 * SECOND)), (None, Some(6 * SECOND)));
    }

    #[test]
    fn a_service_that_fails_is_a_reason_until_it_answers() {
        let health = health();
        health.service_fails(SECOND, &Failure::Unknown("timed out".into()));
        health.service_fails(2 * SECOND, &Failure::Rejected("READONLY You can't write".into()));
        let why = health.trouble(3 * SECOND).unwrap_or_default();
        assert!(why.contains("failed for 2000 ms") && why.contains("READONLY"), "{why}");
        health.service_answers(4 * SECOND);
        assert_eq!(health.trouble(4 * SECOND), None);
        health.service_fails(5 * SECOND, &Failure::Rejected("etcdserver: requested lease not found".into()));
        assert_eq!(health.trouble(5 * SECOND), None, "a lease that is over is no failure");
    }

    #[test]
    fn a_key_of_somebody_elses_is_a_reason() {
        let health = health();
        let holds = |value: &str| health.holder(&redis::Reply::Value(Some(value.as_bytes().to_vec())).erase());
        holds("n1/00ff/1");
        assert_eq!(health.trouble(0), None);
        holds("backup-job");
        assert!(health.trouble(0).is_some_and(|why| why.contains("holds `backup-job`, which is nobody of this fleet")));
        health.holder(&redis::Reply::Value(None).erase());
        assert_eq!(health.trouble(0), None);
        let key = KeyState { key: b"fencepost/leader/7".to_vec(), value: "n3".into(), create_revision: 2, lease: 7 };
        health.holder(&etcd::Reply::Found { key: Some(key), revision: 2 }.erase());
        assert!(health.trouble(0).is_some_and(|why| why.contains("`fencepost/leader/7` at the head of the queue")));
    }

    #[test]
    fn a_token_source_that_went_back_is_a_reason_with_a_remedy() {
        let health = health();
        health.elected(0, 5);
        // A newer leader: the token source is well.
        let fenced = WriteVerdict::Fenced { highest: 2001 };
        health.store_answers(0, Resource::SEQUENCE, 5, fenced, true);
        assert_eq!((health.trouble(0), health.short(0)), (None, 0));
        health.elected(0, 6);
        assert_eq!(health.short(0), 1995);
        let why = health.trouble(0).unwrap_or_default();
        let remedy = "cargo real raise-token --backend redis --service 127.0.0.1:6379 --above 2001";
        assert!(why.contains("1995 below") && why.contains(remedy), "{why}");
        assert_eq!(health.trouble(SHORT_MAX), None, "it may be well by now, and another leads");
        health.elected(SECOND, 2002);
        health.store_answers(0, Resource::SEQUENCE, 2002, WriteVerdict::Ok, true);
        assert_eq!((health.trouble(0), health.short(0)), (None, 0));
    }
}
