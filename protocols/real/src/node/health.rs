//! Whether the node can do its work. Turns the answers of service and store into one log line per change, and into the
//! reason why a leader does not act.

use crate::store::wire;
use protocols::{
    election::back_off,
    error::Failure,
    message::WriteVerdict,
    news::{Holder, Purpose},
    payload::{Opaque, Payload},
    service::{Service, etcd, redis},
    types::{MILLISECOND, NodeId, Resource, SECOND},
};
use std::sync::{Mutex, PoisonError};

/// A leader does not act once its store has been silent for this long, whatever it believes. Nanoseconds.
pub const SILENCE_MAX: u64 = SECOND;

/// How long a token that was too low counts against the service: twice the longest back-off of candidates. Nanoseconds.
const SHORT_MAX: u64 = 2 * back_off::LONGEST;

/// A leader whose token is too low is refused at its first seal, and resigns. One that is observed for this long has a
/// token that is high enough. Nanoseconds.
const REFUSED_WITHIN: u64 = 2 * SECOND;

/// A request that failed is repeated within this, as long as it matters. Nanoseconds.
const REPEATED_WITHIN: u64 = 2 * back_off::LONGEST;

/// The node's health, apart from its belief. Times are nanoseconds of its monotonic clock.
#[derive(Debug)]
pub struct Health {
    /// The nodes' names, which the leaders' key may hold.
    names: Vec<String>,
    service: &'static Service,
    /// The service's address, for the advice to operators.
    endpoint: String,
    seen: Mutex<Seen>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Seen {
    failing: Option<Failing>,
    /// What the leaders' key holds, if that is not of this fleet.
    foreign: Option<String>,
    /// When the first request that the store has not answered was made.
    asked_at: Option<u64>,
    /// When the store last accepted a seal or a write.
    accepted_at: Option<u64>,
    /// The highest token that the store is known to have accepted, and the resource.
    highest: u64,
    of: Option<Resource>,
    /// The service hands out tokens that are too low: when it last did, and by how much.
    short: Option<(u64, u64)>,
    /// Another node that leads, and since when that has been known.
    follows: Option<(NodeId, u64)>,
}

/// What the service does not do. It may refuse one kind of request and answer another.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Failing {
    since: u64,
    /// The last failure.
    why: String,
    /// The purposes whose last request failed, and when that was.
    of: Vec<(Purpose, u64)>,
}

impl Failing {
    /// Whether nothing fails any more, since a request for `purpose` was answered.
    fn ends_by(&mut self, now: u64, purpose: Purpose) -> bool {
        // Requests for other purposes are not repeated, and those that have not been for long may not come again.
        let may_come_again =
            |(of, at): &(Purpose, u64)| *of != Purpose::Other && now.saturating_sub(*at) < REPEATED_WITHIN;
        self.of.retain(|failed| failed.0 != purpose && may_come_again(failed));
        self.of.is_empty()
    }
}

impl Seen {
    /// By how much the service's tokens are too low, as far as is known.
    fn short(&self, now: u64) -> Option<u64> {
        // An old finding may be out of date: the tokens may have been raised.
        let found = self.short.filter(|(at, _)| now.saturating_sub(*at) < SHORT_MAX);
        let another_acts = |(_, since)| now.saturating_sub(since) >= REFUSED_WITHIN;
        found.filter(|_| !self.follows.is_some_and(another_acts)).map(|(_, short)| short)
    }
}

impl Health {
    /// For a node of a fleet with these names, which elects by `service` at `endpoint`.
    pub fn new(names: Vec<String>, service: &'static Service, endpoint: String) -> Self {
        Health { names, service, endpoint, seen: Mutex::default() }
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the service has answered a request for `purpose`.
    pub fn service_answers(&self, now: u64, purpose: Purpose) {
        let ended = self.seen(|seen| seen.failing.take_if(|failing| failing.ends_by(now, purpose)));
        if let Some(Failing { since, .. }) = ended {
            tracing::info!(
                after_ms = now.saturating_sub(since) / MILLISECOND,
                "the coordination service answers again"
            );
        }
    }

    /// Records that a request for `purpose` has failed; logged once until one is answered.
    pub fn service_fails(&self, now: u64, purpose: Purpose, failure: &Failure) {
        // An embedded service is part of this process, and openraft logs its own failures.
        if self.service.is_embedded {
            return;
        }
        // A refusal shows that the service is up, and an expired lease is the ordinary end of a session.
        if let Failure::Rejected(why) = failure
            && why.contains("lease not found")
        {
            return self.service_answers(now, purpose);
        }
        let why = failure.to_string();
        let news = self.seen(|seen| {
            let news = seen.failing.is_none();
            let failing =
                seen.failing.get_or_insert_with(|| Failing { since: now, why: String::new(), of: Vec::new() });
            failing.why.clone_from(&why);
            failing.of.retain(|(of, _)| *of != purpose);
            failing.of.push((purpose, now));
            news
        });
        if news {
            tracing::warn!("the coordination service fails: {why}");
        }
    }

    /// Records that this node's leadership has begun or ended: it now asks for other purposes than before.
    pub fn role_changed(&self) {
        self.seen(|seen| {
            if let Some(failing) = &mut seen.failing {
                failing.of.iter_mut().for_each(|(of, _)| *of = Purpose::Other);
            }
        });
    }

    /// Checks the holder in the leaders' key, if the reply shows it.
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

    /// Records that the store was asked something.
    pub fn store_asked(&self, now: u64) {
        self.seen(|seen| _ = seen.asked_at.get_or_insert(now));
    }

    /// Records the store's answer. With `sealing`, it answers the first seal with `token`.
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

    /// Records that no answer of the store is awaited any more.
    pub fn store_let_go(&self) {
        self.seen(|seen| seen.asked_at = None);
    }

    /// Records that this node was elected with `token`. A sound token source hands out more than the store is known to
    /// have accepted; one that hands out less has lost its data.
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

    /// Records which other node leads, as far as this one knows.
    pub fn follows(&self, now: u64, leader: Option<NodeId>) {
        self.seen(|seen| {
            if seen.follows.map(|(known, _)| known) != leader {
                seen.follows = leader.map(|leader| (leader, now));
            }
        });
    }

    /// What an operator can do about tokens that are too low.
    fn remedy(&self, highest: u64) -> String {
        // The other token sources cannot be raised.
        let backend = self.service.name;
        if ![redis::SERVICE.name, etcd::SERVICE.name].contains(&backend) {
            return "Restore the nodes' data.".to_owned();
        }
        let endpoint = &self.endpoint;
        format!("Raise them: cargo real raise-token --backend {backend} --service {endpoint} --above {highest}")
    }

    /// Why nothing can be written now; `None` if no obstacle is known.
    pub fn trouble(&self, now: u64) -> Option<String> {
        self.seen(|seen| {
            let ms = |since: u64| now.saturating_sub(since) / MILLISECOND;
            if let Some(asked) = seen.asked_at.filter(|at| now.saturating_sub(*at) >= SILENCE_MAX) {
                return Some(format!("the store has not answered for {} ms", ms(asked)));
            }
            if let Some(Failing { since, why, .. }) = &seen.failing {
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

    /// Whether the store has been silent for too long for this node to count as acting.
    pub fn store_is_silent(&self, now: u64) -> bool {
        self.seen(|seen| seen.asked_at.is_some_and(|at| now.saturating_sub(at) >= SILENCE_MAX))
    }

    /// Whether the service is failing.
    pub fn service_is_failing(&self) -> bool {
        self.seen(|seen| seen.failing.is_some())
    }

    /// How long ago the store last accepted something, nanoseconds.
    pub fn accepted_ago(&self, now: u64) -> Option<u64> {
        self.seen(|seen| seen.accepted_at.map(|at| now.saturating_sub(at)))
    }

    /// By how much the service's tokens are too low; 0 if they are not.
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
        let (health, stands) = (health(), Purpose::Candidacy);
        health.service_fails(SECOND, stands, &Failure::Unknown("timed out".into()));
        health.service_fails(2 * SECOND, stands, &Failure::Rejected("READONLY You can't write".into()));
        let why = health.trouble(3 * SECOND).unwrap_or_default();
        assert!(why.contains("failed for 2000 ms") && why.contains("READONLY"), "{why}");
        health.service_answers(4 * SECOND, stands);
        assert_eq!(health.trouble(4 * SECOND), None);
        let failure = Failure::Rejected("etcdserver: requested lease not found".into());
        health.service_fails(5 * SECOND, Purpose::Renewal, &failure);
        assert_eq!(health.trouble(5 * SECOND), None, "a lease that is over is no failure");
    }

    /// As with a leaders' key that is a list in Redis: it can neither be taken nor read, and only the reading fails.
    #[test]
    fn an_answer_to_something_else_ends_no_failure() {
        let health = health();
        for n in 1..100 {
            health.service_fails(n * SECOND, Purpose::Holder, &Failure::Rejected("WRONGTYPE".into()));
            health.service_answers(n * SECOND + MILLISECOND, Purpose::Candidacy);
            let why = health.trouble(n * SECOND + MILLISECOND).unwrap_or_default();
            assert!(why.contains("WRONGTYPE") && health.service_is_failing(), "{n}: {why}");
        }
        health.service_answers(100 * SECOND, Purpose::Holder);
        assert_eq!((health.trouble(100 * SECOND), health.service_is_failing()), (None, false));
    }

    #[test]
    fn a_failure_of_what_is_not_asked_any_more_ends() {
        let (health, failure) = (health(), Failure::Unknown("timed out".into()));
        // Nobody repeats a release.
        health.service_fails(SECOND, Purpose::Other, &failure);
        health.service_answers(2 * SECOND, Purpose::Holder);
        assert_eq!(health.trouble(2 * SECOND), None);
        // A former leader renews nothing.
        health.service_fails(3 * SECOND, Purpose::Renewal, &failure);
        health.role_changed();
        assert!(health.service_is_failing(), "it has not answered yet");
        health.service_answers(4 * SECOND, Purpose::Candidacy);
        assert_eq!(health.trouble(4 * SECOND), None);
        // Who waits in a queue does not stand again.
        health.service_fails(5 * SECOND, Purpose::Candidacy, &failure);
        health.service_answers(5 * SECOND + REPEATED_WITHIN, Purpose::Holder);
        assert_eq!(health.trouble(5 * SECOND + REPEATED_WITHIN), None);
    }

    #[test]
    fn a_key_of_somebody_elses_is_a_reason() {
        let health = health();
        let holds = |value: &str| health.holder(&redis::Reply::Value(Some(value.as_bytes().to_vec())).erase());
        holds("n1/00ff/1");
        assert_eq!(health.trouble(0), None);
        holds("backup-job");
        assert!(
            health.trouble(0).is_some_and(|why| why.contains("holds `backup-job`, which is not a node of this fleet"))
        );
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
        // A newer leader: the token source is sound.
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

    #[test]
    fn a_leader_that_stays_has_a_token_that_is_high_enough() {
        let health = health();
        health.store_answers(0, Resource::SEQUENCE, 5, WriteVerdict::Fenced { highest: 41 }, true);
        health.elected(0, 6);
        let says_raise = |now| health.trouble(now).is_some_and(|why| why.contains("--above 41"));
        // Others are refused as well, and resign.
        for second in 0..5 {
            health.follows(second * SECOND, Some(NodeId(1)));
            assert!(says_raise(second * SECOND + MILLISECOND));
            health.follows(second * SECOND + 2 * MILLISECOND, None);
        }
        health.follows(5 * SECOND, Some(NodeId(1)));
        assert!(says_raise(5 * SECOND) && health.short(5 * SECOND) > 0, "it may still be refused");
        assert!(!says_raise(5 * SECOND + REFUSED_WITHIN) && health.short(5 * SECOND + REFUSED_WITHIN) == 0);
    }
}
