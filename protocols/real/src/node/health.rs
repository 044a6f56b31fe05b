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
    /// Since when it has been known that another node leads, always the same one.
    follows: Option<u64>,
}

/// What a request is for, and which of the service's requests it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct What {
    pub purpose: Purpose,
    pub kind: String,
}

impl What {
    pub fn of(request: &Opaque) -> What {
        // A request's name is that of its variant.
        let shown = format!("{request:?}");
        let kind = shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        What { purpose: request.purpose(), kind: kind.to_owned() }
    }
}

/// What the service does not do. It may refuse one kind of request and answer another.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Failing {
    since: u64,
    /// The last failure.
    why: String,
    /// The requests whose last one failed, and when that was.
    of: Vec<(What, u64)>,
}

impl Failing {
    /// Whether nothing fails any more, since such a request was answered.
    fn ends_by(&mut self, now: u64, what: &What) -> bool {
        // Requests for other purposes are not repeated, and those that have not been for long may not come again.
        let may_come_again =
            |(of, at): &(What, u64)| of.purpose != Purpose::Other && now.saturating_sub(*at) < REPEATED_WITHIN;
        self.of.retain(|failed| failed.0 != *what && may_come_again(failed));
        self.of.is_empty()
    }
}

impl Seen {
    /// By how much the service's tokens are too low, as far as is known.
    fn short(&self, now: u64) -> Option<u64> {
        // An old finding may be out of date: the tokens may have been raised.
        let found = self.short.filter(|(at, _)| now.saturating_sub(*at) < SHORT_MAX);
        let another_acts = |since| now.saturating_sub(since) >= REFUSED_WITHIN;
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

    /// Records that the service has answered such a request.
    pub fn service_answers(&self, now: u64, what: &What) {
        let ended = self.seen(|seen| seen.failing.take_if(|failing| failing.ends_by(now, what)));
        if let Some(Failing { since, .. }) = ended {
            tracing::info!(
                after_ms = now.saturating_sub(since) / MILLISECOND,
                "the coordination service answers again"
            );
        }
    }

    /// Records that such a request has failed; logged once until one is answered.
    pub fn service_fails(&self, now: u64, what: What, failure: &Failure) {
        // An embedded service is part of this process, and openraft logs its own failures.
        if self.service.is_embedded {
            return;
        }
        // A refusal shows that the service is up, and an expired lease is the ordinary end of a session.
        if let Failure::Rejected(why) = failure
            && why.contains("lease not found")
        {
            return self.service_answers(now, &what);
        }
        let why = failure.to_string();
        let news = self.seen(|seen| {
            let news = seen.failing.is_none();
            let failing =
                seen.failing.get_or_insert_with(|| Failing { since: now, why: String::new(), of: Vec::new() });
            failing.why.clone_from(&why);
            failing.of.retain(|(of, _)| *of != what);
            failing.of.push((what, now));
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
                failing.of.iter_mut().for_each(|(of, _)| of.purpose = Purpose::Other);
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

    /// Records that another node leads from now on, as far as this one knows, or none.
    pub fn follows(&self, now: u64, leader: Option<NodeId>) {
        self.seen(|seen| seen.follows = leader.map(|_| now));
    }

    /// The name of a node of the fleet.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.names.get(node.index()).map(String::as_str)
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
mod tests;
