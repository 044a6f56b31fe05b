//! `redlock-from-sending`: the lock of a majority of independent Redis servers as `fencepost-seat` takes it, with a
//! belief that ends before the keys do.
//!
//! **Where it comes from.** The algorithm of Redis's page *Distributed Locks with Redis*; the keys, values and scripts
//! are those of `redlock`, so both kinds of candidates can stand for one lock. What differs from the library is what an
//! election needs:
//!
//! - All servers are asked at once, as the page advises, so a silent one delays nobody.
//! - The belief lasts for the TTL, less the page's allowance for clocks (a hundredth and 2 ms), after the requests were
//!   *sent*, on the monotonic clock. The library reads the wall clock.
//! - An extension that fails unlocks nothing. It is made again while the belief lasts; only if a majority has another's
//!   value is the lock lost.
//!
//! **What it assumes about time.** What `redlock` does, but for the holder's wall clock.
//!
//! **What breaks it.** There is no token, so the resource accepts the write of a leader that was paused beyond its
//! validity (Kleppmann, *How to do distributed locking*). A majority of wall clocks that are set forward, or servers of
//! the majority that come back without their data, grant the lock twice.
//!
//! `--protocol` takes it by name; sweeps of all protocols leave it out, as for `etcd-election-from-sending`.

use super::timing::drift_ms;
use crate::{
    clock::Now,
    election::{
        Protocol, Setup, Timings,
        asking::{Asking, EXPIRE, POLL, RENEW},
        hazard,
        promise::Promise,
        redis_common,
    },
    elector::{self, Deposed, Elector, RequestNumber, ServiceInput, ServiceOutput, boxed},
    error::Failure,
    payload::Nothing,
    point::Point,
    service::{
        redis::{Reply, Request},
        redis_servers::{self, Api},
    },
    types::{Leadership, MILLISECOND},
};
use std::collections::{BTreeMap, BTreeSet};

type Input = elector::Input<Nothing, Api>;
type Output = elector::Output<Nothing, Api>;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redlock-from-sending",
    about: "The lock of a majority of Redis servers, with a belief that counts from when they were asked; no token",
    read_lease: Some(|timings| (belief(timings), timings.lease_ttl)),
    elector: |setup| boxed(Redlock::new(setup)),
    promise: |hazard, fencing| match hazard {
        hazard::FLAPPING | hazard::MISSING_LINK | hazard::SLOW_SERVICE => Promise::Holds,
        hazard => (super::PROTOCOL.promise)(hazard, fencing),
    },
    belief_overlap: |timings, conditions| {
        let keys = if conditions.drops { 0 } else { conditions.service(timings.lease_ttl) };
        Some(conditions.slow(belief(timings)).saturating_sub(keys))
    },
    ..super::PROTOCOL
};

/// How often a lock is tried after one look.
const TRIES: u32 = 3;
/// The longest wait after an attempt; nanoseconds.
const RETRY_DELAY: u64 = 200 * MILLISECOND;

/// The length of a belief from when the servers were asked, nanoseconds.
fn belief(timings: &Timings) -> u64 {
    let ttl_ms = (timings.lease_ttl / MILLISECOND).max(1);
    ttl_ms.saturating_sub(drift_ms(ttl_ms)) * MILLISECOND
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Lease {
    value: String,
    leadership: Leadership,
}

/// What all servers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    /// For the key's value; the lock is tried next if it is free.
    Look,
    Lock,
    Extend,
    Unlock,
}

/// One question to all servers.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Round {
    asked: Asked,
    value: String,
    sent: u64,
    waiting: BTreeSet<RequestNumber>,
    /// How many have done it, and how many have not since the key has another value.
    done: usize,
    refused: usize,
    /// How many have each value.
    seen: BTreeMap<Option<Vec<u8>>, usize>,
    /// Whether further answers change nothing.
    decided: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Redlock {
    asking: Asking,
    lease: Option<Lease>,
    round: Option<Round>,
    tries_left: u32,
    /// Whether a renewal is due and waits for the one before.
    renew_due: bool,
    /// Others go first until then.
    held_off_until: u64,
    /// Whether [`Output::Campaign`] is still to be sent.
    campaign_due: bool,
    /// Whether it has left the election.
    withdrawn: bool,
}

impl Redlock {
    fn new(setup: Setup) -> Self {
        Redlock {
            asking: Asking::new(setup),
            lease: None,
            round: None,
            tries_left: TRIES,
            renew_due: false,
            held_off_until: 0,
            campaign_due: true,
            withdrawn: false,
        }
    }

    fn quorum(&self) -> usize {
        self.asking.setup.service.len() / 2 + 1
    }

    /// Asks all servers at once. What is under way has become pointless; each server gets its requests in order.
    fn ask(&mut self, now: Now, asked: Asked, value: String, out: &mut Vec<Output>) {
        self.give_up(out);
        let (key, ttl_ms) = (redis_common::key(&self.asking.setup), self.asking.ttl_ms());
        let timeout = self.asking.setup.timings.request_timeout;
        let mut waiting = BTreeSet::new();
        out.push(Output::Point(Point::BeforeAsk));
        for member in 0..self.asking.setup.service.len() {
            let (key, value) = (key.clone(), value.clone());
            let request = match asked {
                Asked::Look => Request::Get { key },
                Asked::Lock | Asked::Extend => Request::Lock { key, value, ttl_ms },
                Asked::Unlock => Request::CompareAndDelete { key, value },
            };
            let (number, request) = (self.asking.next_number(), redis_servers::Request { member, request });
            waiting.insert(number);
            out.push(Output::Service(ServiceOutput::Request { number, request, timeout, concurrent: false }));
        }
        let (done, refused, seen, decided) = Default::default();
        self.round = Some(Round { asked, value, sent: now.mono, waiting, done, refused, seen, decided });
    }

    /// Cancels what is under way, and returns the last round.
    fn give_up(&mut self, out: &mut Vec<Output>) -> Option<Round> {
        let round = self.round.take()?;
        out.extend(round.waiting.iter().map(|number| Output::Service(ServiceOutput::Cancel(*number))));
        Some(round)
    }

    fn look(&mut self, now: Now, out: &mut Vec<Output>) {
        self.ask(now, Asked::Look, String::new(), out);
    }

    fn lock(&mut self, now: Now, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.campaign_due) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        let value = redis_common::attempt_value(&mut self.asking);
        self.ask(now, Asked::Lock, value, out);
    }

    fn extend(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::SetTimer { id: RENEW, at: now.mono + self.asking.setup.timings.renew_interval });
        let Some(lease) = &self.lease else { return };
        // It waits for the one before, which is over within a request's timeout.
        self.renew_due = self.round.as_ref().is_some_and(|round| !round.decided && !round.waiting.is_empty());
        if self.renew_due {
            return;
        }
        let value = lease.value.clone();
        out.push(Output::Point(Point::BeforeRenew));
        self.ask(now, Asked::Extend, value, out);
    }

    fn answered(&mut self, now: Now, number: RequestNumber, reply: Result<Reply, Failure>, out: &mut Vec<Output>) {
        let quorum = self.quorum();
        let Some(round) = self.round.as_mut().filter(|round| round.waiting.contains(&number)) else { return };
        round.waiting.remove(&number);
        match reply {
            Ok(Reply::Done(true)) => round.done += 1,
            Ok(Reply::Done(false)) => round.refused += 1,
            Ok(Reply::Value(value)) => *round.seen.entry(value).or_default() += 1,
            // Silence is no.
            Ok(Reply::Token(_)) | Err(_) => {}
        }
        if round.decided {
            return;
        }
        let all = round.waiting.is_empty();
        let has_majority = round.done >= quorum;
        round.decided = match round.asked {
            Asked::Look => all || round.seen.values().any(|count| *count >= quorum),
            Asked::Lock => has_majority || round.done + round.waiting.len() < quorum,
            Asked::Extend => has_majority || round.refused >= quorum,
            Asked::Unlock => all,
        };
        if round.decided {
            let round = round.clone();
            self.decided(now, round, quorum, out);
        }
        if (all || has_majority) && std::mem::take(&mut self.renew_due) {
            self.extend(now, out);
        }
    }

    fn decided(&mut self, now: Now, round: Round, quorum: usize, out: &mut Vec<Output>) {
        match round.asked {
            Asked::Look => self.looked(now, round, quorum, out),
            Asked::Lock if round.done >= quorum => self.locked(now, round, out),
            Asked::Lock => {
                self.tries_left = self.tries_left.saturating_sub(1);
                self.ask(now, Asked::Unlock, round.value, out);
            }
            Asked::Extend if round.done >= quorum => self.extended(round.sent, out),
            Asked::Extend => self.depose(now, Deposed::Lost, out),
            Asked::Unlock if self.withdrawn => {}
            Asked::Unlock if self.tries_left > 0 => {
                // Candidates that have got in each other's way part.
                let wait = self.asking.draw(RETRY_DELAY.min(self.asking.setup.timings.retry_period()).max(1));
                out.push(Output::SetTimer { id: POLL, at: now.mono + wait });
            }
            Asked::Unlock => self.poll_later(now, out),
        }
    }

    fn looked(&mut self, now: Now, round: Round, quorum: usize, out: &mut Vec<Output>) {
        let agreed = round.seen.into_iter().find(|(_, count)| *count >= quorum);
        if let Some((value, _)) = &agreed {
            self.asking.observe(value.as_deref(), out);
        }
        match agreed {
            Some((None, _)) if now.mono >= self.held_off_until => self.lock(now, out),
            _ => self.poll_later(now, out),
        }
    }

    fn poll_later(&mut self, now: Now, out: &mut Vec<Output>) {
        self.tries_left = TRIES;
        out.push(Output::SetTimer { id: POLL, at: now.mono + self.asking.poll_wait() });
    }

    fn leadership(&self, sent: u64) -> Leadership {
        Leadership { token: 0, valid_until: sent.saturating_add(belief(&self.asking.setup.timings)) }
    }

    fn locked(&mut self, now: Now, round: Round, out: &mut Vec<Output>) {
        let leadership = self.leadership(round.sent);
        if leadership.valid_until <= now.mono {
            // The answers were too late for any belief.
            return self.ask(now, Asked::Unlock, round.value, out);
        }
        self.lease = Some(Lease { value: round.value, leadership });
        (self.tries_left, self.renew_due) = (TRIES, false);
        self.asking.forget_observed();
        out.push(Output::CancelTimer(POLL));
        out.push(Output::SetTimer { id: RENEW, at: round.sent + self.asking.setup.timings.renew_interval });
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Elected(leadership));
    }

    fn extended(&mut self, sent: u64, out: &mut Vec<Output>) {
        let leadership = self.leadership(sent);
        let Some(lease) = &mut self.lease else { return };
        lease.leadership = leadership;
        out.push(Output::Point(Point::Renewed));
        out.push(Output::SetTimer { id: EXPIRE, at: leadership.valid_until });
        out.push(Output::Renewed(leadership));
    }

    /// Ends the belief first, and then unlocks.
    fn depose(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Some(lease) = self.lease.take() else { return };
        out.push(Output::Deposed(why));
        out.extend([RENEW, EXPIRE].map(Output::CancelTimer));
        let wait = match why {
            Deposed::Expired | Deposed::Lost => 0,
            Deposed::Fenced => self.asking.poll_wait(),
            Deposed::Resigned | Deposed::Stuck => self.asking.ttl(),
        };
        self.held_off_until = now.mono + wait;
        self.campaign_due = why == Deposed::Resigned;
        if !self.campaign_due {
            out.push(Output::Campaign);
        }
        self.ask(now, Asked::Unlock, lease.value, out);
    }

    /// Leaves the election. A lock that is being tried is given back, by requests that come after its own.
    fn withdraw(&mut self, now: Now, out: &mut Vec<Output>) {
        self.withdrawn = true;
        if self.lease.is_some() {
            return self.depose(now, Deposed::Resigned, out);
        }
        if self.round.as_ref().is_some_and(|round| round.asked == Asked::Unlock) {
            return;
        }
        if let Some(Round { value, asked: Asked::Lock, .. }) = self.give_up(out) {
            self.ask(now, Asked::Unlock, value, out);
        }
    }
}

impl Elector for Redlock {
    type Peer = Nothing;
    type Service = Api;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        // First of all: after a pause, answers and timers come in any order.
        if self.lease.as_ref().is_some_and(|lease| lease.leadership.valid_until <= now.mono) {
            self.depose(now, Deposed::Expired, out);
        }
        match input {
            Input::Start => self.look(now, out),
            Input::Timer(POLL) if self.lease.is_none() => self.look(now, out),
            Input::Timer(RENEW) if self.lease.is_some() => self.extend(now, out),
            Input::Service(ServiceInput::Reply { number, reply }) => self.answered(now, number, reply, out),
            Input::Resign if self.lease.is_some() => {
                out.push(Output::Point(Point::BeforeRelease));
                self.depose(now, Deposed::Resigned, out);
            }
            Input::Withdraw => self.withdraw(now, out),
            Input::Fenced => self.depose(now, Deposed::Fenced, out),
            // Timers of a role that has ended, or a follower's resignation; Redis has no streams.
            _ => {}
        }
    }
}
