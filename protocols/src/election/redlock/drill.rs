//! Candidates, and five servers that answer late or never, checked against the lock's laws. A run rarely shows a
//! violation: a validity that is too long by an answer's travel time does harm only if the holder is silent at its end
//! and another candidate asks at that moment. Tests and sweeps run [`drill`].

use super::{Output, PROTOCOL, Redlock};
use crate::{
    bench::{Bench, event::Event},
    elector::{Input, RequestNumber, ServiceInput, ServiceOutput},
    error::Failure,
    service::{
        redis::{Reply, Request},
        redis_servers,
    },
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};
use std::collections::{BTreeMap, BTreeSet};

const SERVERS: usize = 5;
const QUORUM: usize = 3;
/// The lock's TTL, milliseconds.
const TTL_MS: u64 = 15_000;
/// A lock's longest validity from when the first server was asked, milliseconds: `ttl − (0.01·ttl + 2)`
/// (`lib/redlock/client.rb: #drift`), plus the error of two clock readings in whole milliseconds.
const WORTH_MAX_MS: u64 = TTL_MS - (TTL_MS / 100 + 2) + 1;

/// Drills candidates whose servers answer at once, late, or not at all.
///
/// # Panics
/// If a law is broken; the message says which.
pub fn drill() {
    for seed in 0..12 {
        let mut fleet = Fleet::new(2 + seed as u16 % 3, seed);
        for (answers_within_ms, lost) in [(2, 0), (90, 0), (90, 400), (2, 0)] {
            (fleet.answers_within, fleet.lost) = (answers_within_ms * MILLISECOND, lost);
            fleet.run(60 * SECOND);
        }
        assert_eq!(fleet.bench.believers().len(), 1, "one leads when every server answers");
    }
}

/// A request on its way to a server.
struct Asked {
    from: NodeId,
    number: RequestNumber,
    request: redis_servers::Request,
    /// When its answer arrives; `None` if it is lost.
    answered_at: Option<u64>,
}

/// A candidate's last lock or unlock.
struct Last {
    value: String,
    member: usize,
    /// When the first server was asked.
    began: u64,
    locks: bool,
}

struct Fleet {
    bench: Bench<Redlock>,
    /// Each server's value, and its expiry.
    servers: [Option<(String, u64)>; SERVERS],
    asked: BTreeMap<u64, Asked>,
    next: u64,
    last: BTreeMap<NodeId, Last>,
    /// Values that were unlocked by a node that did not lead.
    given_back: BTreeSet<String>,
    /// The longest time to an answer, nanoseconds.
    answers_within: u64,
    /// Lost answers, per thousand.
    lost: u64,
}

impl Fleet {
    fn new(count: u16, seed: u64) -> Self {
        let mut bench = Bench::new(count, PROTOCOL.default_timings(), seed, |mut setup| {
            setup.service = (0..SERVERS as u16).map(|place| NodeId(100 + place)).collect();
            Redlock::new(setup)
        });
        bench.nodes().for_each(|node| bench.start_at(u64::from(node.0) * MILLISECOND, node));
        Fleet {
            bench,
            servers: Default::default(),
            asked: BTreeMap::new(),
            next: 0,
            last: BTreeMap::new(),
            given_back: BTreeSet::new(),
            answers_within: 0,
            lost: 0,
        }
    }

    fn run(&mut self, for_ns: u64) {
        let until = self.bench.now() + for_ns;
        while let Some(step) = self.bench.next(until) {
            assert_eq!(self.bench.broken(), None);
            self.law_of_ends(step.at);
            if let Event::Alarm(number) = step.event {
                self.reaches(number);
            }
            let Some(node) = step.node() else { continue };
            for output in step.outputs {
                match output {
                    Output::Service(ServiceOutput::Request { number, request, timeout, .. }) => {
                        self.ask(node, number, request, timeout);
                    }
                    Output::Elected(leadership) | Output::Renewed(leadership) => self.law_of_worth(node, leadership),
                    _ => {}
                }
            }
        }
    }

    /// Sends a request; it reaches its server halfway through the time until the answer, or never.
    fn ask(&mut self, from: NodeId, number: RequestNumber, request: redis_servers::Request, timeout: u64) {
        self.law_of_values(from, &request);
        let (now, takes) = (self.bench.now(), 1 + self.bench.draw(self.answers_within));
        let (is_lost, arrives) = (self.bench.draw(1_000) < self.lost, self.bench.draw(2) == 0);
        let failure = Input::Service(ServiceInput::Reply { number, reply: Err(Failure::Unknown("timed out".into())) });
        if is_lost {
            self.bench.give_at(now + timeout, from, failure);
        }
        if !is_lost || arrives {
            self.next += 1;
            self.asked
                .insert(self.next, Asked { from, number, request, answered_at: (!is_lost).then_some(now + takes) });
            self.bench.alarm(now + takes / 2, self.next);
        }
    }

    /// A request reaches its server.
    fn reaches(&mut self, alarm: u64) {
        let Some(Asked { from, number, request, answered_at }) = self.asked.remove(&alarm) else { return };
        let now = self.bench.now();
        let key = &mut self.servers[request.member];
        key.take_if(|(_, until)| *until <= now);
        let reply = match request.request {
            Request::Lock { value, ttl_ms, .. } => {
                let is_free = key.as_ref().is_none_or(|(held, _)| *held == value);
                if is_free {
                    *key = Some((value, now + ttl_ms * MILLISECOND));
                }
                Reply::Done(is_free)
            }
            Request::CompareAndDelete { value, .. } => Reply::Done(key.take_if(|(held, _)| *held == value).is_some()),
            Request::Get { .. } => Reply::Value(key.as_ref().map(|(held, _)| held.clone().into_bytes())),
            other => panic!("nobody asks Redlock's servers {other:?}"),
        };
        if let Some(at) = answered_at {
            self.bench.give_at(at, from, Input::Service(ServiceInput::Reply { number, reply: Ok(reply) }));
        }
    }

    /// A released value is not used again, since servers that get the release late would drop the new lock. A holder
    /// whose extension failed retries with the same value.
    fn law_of_values(&mut self, node: NodeId, asked: &redis_servers::Request) {
        let (value, locks) = match &asked.request {
            Request::Lock { value, ttl_ms, .. } => {
                assert_eq!(*ttl_ms, TTL_MS, "a lock is asked for as long as it was set to live");
                (value, true)
            }
            Request::CompareAndDelete { value, .. } => (value, false),
            _ => return,
        };
        if self.bench.seat(node).belief().is_none() {
            assert!(!locks || !self.given_back.contains(value), "{node:?} locks by {value}, which was given back");
            if !locks {
                self.given_back.insert(value.clone());
            }
        }
        let now = self.bench.now();
        let goes_on = |last: &&Last| {
            // One more server, or the silent one again.
            (&last.value, last.locks) == (value, locks) && (asked.member > 0 || last.member == 0)
        };
        let began = self.last.get(&node).filter(goes_on).map_or(now, |last| last.began);
        self.last.insert(node, Last { value: value.clone(), member: asked.member, began, locks });
    }

    /// A running node believes no longer than its lock is valid.
    fn law_of_ends(&self, now: u64) {
        for node in self.bench.believers() {
            let ends = self.bench.seat(node).belief().map_or(0, |belief| belief.valid_until);
            assert!(now <= ends, "{node:?} believes at {now} ns, and its lock is worth something until {ends} ns");
        }
    }

    /// A lock's validity is the rest of its TTL, less the allowance for clocks; and a majority holds it for longer.
    fn law_of_worth(&self, node: NodeId, leadership: Leadership) {
        let Some(Last { value, began, .. }) = self.last.get(&node).filter(|last| last.locks) else {
            panic!("{node:?} leads and has locked nothing");
        };
        let worth_ns = leadership.valid_until.saturating_sub(*began);
        assert!(
            worth_ns <= WORTH_MAX_MS * MILLISECOND,
            "{node:?} takes a lock to be worth {worth_ns} ns, and it is worth {WORTH_MAX_MS} ms"
        );
        let holds = |key: &&Option<(String, u64)>| {
            key.as_ref().is_some_and(|(held, until)| held == value && *until > leadership.valid_until)
        };
        let holding = self.servers.iter().filter(holds).count();
        assert!(holding >= QUORUM, "{node:?} leads by {holding} of {SERVERS} servers");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_laws_hold() {
        super::drill();
    }
}
