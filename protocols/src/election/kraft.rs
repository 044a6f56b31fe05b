//! `kraft`: Kafka's Raft, in which followers fetch and leaders answer.
//!
//! **Where it comes from.** apache/kafka 4.x, `raft/src/main/java/org/apache/kafka/raft/`: `KafkaRaftClient.java`,
//! `QuorumState.java`, `LeaderState.java`, `FollowerState.java`, `ProspectiveState.java` and the other states,
//! `RequestManager.java`, `FileQuorumStateStore.java`; KIP-595, and KIP-996 for the pre-vote. Defaults and their ratios
//! are those of `QuorumConfig.java`: election timeout 1 s plus up to 1 s at random, fetch timeout 2 s, request timeout
//! 2 s, and a fetch waits up to 500 ms for news (`MAX_FETCH_WAIT_MS`). The TTL option is the shortest election timeout
//! here; the fetch timeout, after which a silent leader is replaced, is twice that.
//!
//! **How it elects.** A follower without an answered fetch for the fetch timeout first asks for pre-votes. A follower
//! that has fetched from its leader grants none, so a leader is replaced only once a majority has lost it. The
//! candidate then stands in a new epoch, and voters that have not voted in that epoch and have no better log vote for
//! it. The winner appends a leader change to its log; it leads once a majority has fetched past that record, and the
//! epoch is its token. Epoch, vote, leader and log are on disk before anything that follows from them is sent: Kafka
//! does everything in one thread, which waits for its disk, so this core queues its inputs while it writes.
//!
//! **How it ends.** A leader from which no majority has fetched for 1.5 fetch timeouts resigns (`checkQuorumTimeoutMs`,
//! KAFKA-15489); only that ends the belief here. A leader that resigns, for that reason or on request, tells the others
//! to elect (`EndQuorumEpoch`): the one with the longest log at once, each next one after a pause. A voter that has
//! fetched from it grants no pre-vote during its own pause, so with five or more voters the first finds no majority
//! yet.
//!
//! **What it assumes about time.** For epochs nothing: each has one leader, and committed records stay. But the belief
//! outlasts the fetch timeout by half, and successors do not wait for its end: for up to a second (3 s against 2 s), a
//! leader that is cut off believes alongside its successor. Kafka can live with that because all of a leader's actions
//! go through its log, where the epoch fences it. An external resource has to check the token.
//!
//! **What breaks it.** A resource that does not: `isolate-leader`, `gc-pause`. Also, fetch timeouts are not random:
//! followers lose a dead leader at the same moment, grant each other's pre-votes, and split their votes, which costs an
//! election timeout (KAFKA-18345: a losing candidate waits for its random timeout, and does not back off).
//!
//! **What is left out.** Observers, changes of the voter set, snapshots, and all records but leader changes. A follower
//! whose fetch times out does not ask another node: its fetch timeout, which is as long, has expired by then. A leader
//! that learns of a higher epoch refuses its parked fetches at once, as Kafka's does when it resigns or follows, and
//! not only at the end of their wait.
//!
//! **What shows it.** `isolate-leader`, `gc-pause`, `quorum-loss`, `split-vote`.

mod answer;
pub mod drill;
mod durable;
mod learn;
mod message;
mod requests;
mod role;
#[cfg(test)]
mod tests;
mod transition;

pub use message::{Answer, Ask, Epoch, Found, Message, Offset, Refusal};

use super::{
    Conditions, OwnTimers, Promise, Protocol, Setup, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    bug::{Bug, Shown},
    clock::Now,
    core::TimerId,
    elector::{self, Deposed, Elector, boxed},
    payload::Nothing,
    point::Point,
    random::Random,
    service::Service,
    types::{Leadership, MILLISECOND, NodeId, SECOND},
};
use durable::Durable;
use requests::Requests;
use role::Role;
use std::collections::VecDeque;

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

/// The original behaviour of KRaft's leaders.
pub const NO_CHECK_QUORUM: Bug = Bug {
    id: "kraft-no-check-quorum",
    protocols: &["kraft"],
    what: "A leader that a majority does not fetch from any more goes on leading, until it hears of a higher epoch.",
    source: "KAFKA-15489: split brain in KRaft cluster",
    violation: "dual_belief",
    shown: Shown::by("isolate-leader", "kraft", 4).with("--fencing off"),
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "kraft",
    about: "Kafka's Raft: followers fetch, a leader without the fetches of a majority resigns; the epoch is the token",
    service: &Service::NONE,
    tokened: true,
    transport: Transport::Stream,
    default_lease_ttl: SECOND,
    election_timeout: Some((SECOND, 2 * SECOND)),
    granted_ttl: fetch_timeout,
    renew_interval: |fetch_timeout| fetch_timeout / 4,
    // Followers lose the leader within one fetch wait of each other, and may split their votes once.
    takeover_max: |timings, _| {
        let election_max = timings.election_timeout.map_or(2 * timings.lease_ttl, |(_, max)| max);
        election_max + 50 * MILLISECOND
    },
    // The belief ends with `checkQuorumTimeoutMs`, half again as long as others wait, so reads have no lease.
    read_lease: Some(|timings| (fetch_timeout(timings.lease_ttl) / 2 * 3, fetch_timeout(timings.lease_ttl))),
    preference: super::Preference::Any,
    majority: true,
    ring: false,
    persists: true,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Kraft::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION | hazard::NO_QUORUM => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::CLOCK_STEPS | hazard::STARVATION => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE => UNCHECKED,
        hazard::SPLIT_VOTE | hazard::SLOW_PREFERRED | hazard::REJOIN => Promise::Holds,
        // A belief that outlasts the fetch timeout overlaps a successor's, unless the votes are split first.
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: overlap,
};

/// The belief counts from when a fetch was read, a follower's patience from before it sent that fetch. If the leader
/// needs several followers, the majority's other fetches may be older by up to the length of the belief. A follower
/// that restarts votes at once. A leader that waits for its disk notices nothing.
fn overlap(timings: &Timings, c: &Conditions) -> Option<u64> {
    let patience = fetch_timeout(timings.lease_ttl);
    let belief = c.slow(patience / 2 * 3);
    let late = c.travel.saturating_add(c.unread).min(belief);
    let (before, patience) = match c {
        Conditions { hung_disk: true, .. } => return None,
        Conditions { restarts: true, .. } => (belief, 0),
        Conditions { candidates: ..=4, .. } => (0, c.fast(patience)),
        _ => (belief, c.fast(patience)),
    };
    Some(belief.saturating_add(before).saturating_add(late).saturating_sub(patience))
}

/// A follower's fetch timeout, for a shortest election timeout of `ttl` nanoseconds.
fn fetch_timeout(ttl: u64) -> u64 {
    ttl.saturating_mul(2)
}

/// Something is due; the deadlines tell what.
const DUE: TimerId = 0;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Kraft {
    setup: Setup,
    random: Random,
    state: Durable,
    /// The state on disk, or being written.
    written: Durable,
    role: Role,
    /// How far this voter knows the log to be committed.
    high_watermark: Option<Offset>,
    /// The role's deadline: fetch timeout, election timeout, or the quorum's.
    role_until: u64,
    requests: Requests,
    /// Whether [`Output::Elected`] was sent, without its end since.
    believes: bool,
    /// Whether [`Output::Campaign`] was sent for the present vacancy.
    campaigning: bool,
    observed: Option<NodeId>,
    /// A write is under way, and inputs wait.
    writing: bool,
    inbox: VecDeque<Input>,
    /// Outputs for when the input has been handled and the new state is on disk.
    held: Vec<Output>,
    /// When the timer is set to fire.
    armed: u64,
    /// The disk holds something other than this core's state: a voter that may have forgotten its vote must not take
    /// part.
    unreadable: bool,
}

impl Kraft {
    fn new(setup: Setup) -> Self {
        let stored = setup.stored.as_deref().map_or_else(|| Some(Durable::default()), Durable::decode);
        let (unreadable, state) = (stored.is_none(), stored.unwrap_or_default());
        let mut random = Random::new(setup.nonce);
        let timings = setup.timings;
        let correlation = random.next_u32();
        let timeout = fetch_timeout(timings.lease_ttl);
        let requests = Requests::new(setup.names.len(), correlation, timeout, timings.renew_interval);
        Kraft {
            setup,
            random,
            written: state.clone(),
            state,
            role: Role::Unattached,
            high_watermark: None,
            role_until: u64::MAX,
            requests,
            believes: false,
            campaigning: false,
            observed: None,
            writing: false,
            inbox: VecDeque::new(),
            held: Vec::new(),
            armed: u64::MAX,
            unreadable,
        }
    }

    fn voters(&self) -> usize {
        self.setup.names.len()
    }

    fn me(&self) -> NodeId {
        self.setup.node
    }

    fn fetch_timeout(&self) -> u64 {
        fetch_timeout(self.setup.timings.lease_ttl)
    }

    /// `LeaderState.checkQuorumTimeoutMs`; a sole voter never loses its quorum.
    fn quorum_until(&self, now: Now) -> u64 {
        let alone = self.voters() == 1 || self.setup.bugs.has(&NO_CHECK_QUORUM);
        if alone { u64::MAX } else { now.mono + self.fetch_timeout() / 2 * 3 }
    }

    /// `QuorumState.randomElectionTimeoutMs`.
    fn election_timeout(&mut self) -> u64 {
        let ttl = self.setup.timings.lease_ttl;
        let (min, max) = self.setup.timings.election_timeout.unwrap_or((ttl, 2 * ttl));
        min + self.random.next_u64() % max.saturating_sub(min).max(1)
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.held.push(Output::Send { to, message });
    }

    fn ask(&mut self, now: Now, to: NodeId, ask: Ask) {
        let message = self.requests.ask(to, self.state.epoch, ask, now.mono);
        self.send(to, message);
    }

    /// A vote in the current epoch, reported only once it is on disk.
    fn voted(&mut self, candidate: NodeId) {
        self.held.push(Output::Voted { candidate, token: self.state.epoch.into() });
        self.held.push(Output::Point(Point::Voted));
    }

    fn leadership(&self) -> Leadership {
        Leadership { token: u64::from(self.state.epoch), valid_until: self.role_until }
    }

    fn observe(&mut self, leader: Option<NodeId>) {
        if self.observed != leader {
            self.observed = leader;
            self.held.push(Output::Observed(leader));
        }
    }

    fn take(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.initialize(now),
            Input::Peer { from, message } if self.is_other(from) => match message {
                Message::Request { correlation, epoch, ask } => self.asked(now, from, correlation, epoch, ask),
                Message::Response { correlation, epoch, leader, result } => {
                    if self.requests.answered(from, correlation) {
                        self.answered(now, from, epoch, leader, result);
                    }
                }
            },
            Input::Timer(DUE) => {
                self.armed = u64::MAX;
                self.due(now);
            }
            Input::Resign if self.believes => {
                self.held.push(Output::Point(Point::BeforeRelease));
                self.resign(now, Deposed::Resigned);
            }
            Input::Fenced if self.believes => self.resign(now, Deposed::Fenced),
            // Foreign timers and messages.
            _ => {}
        }
        self.finish(now, out);
    }

    fn is_other(&self, node: NodeId) -> bool {
        node.index() < self.voters() && node != self.me()
    }

    /// Emits an input's outputs in a safe order: a belief ends at once, and messages that follow from a new state wait
    /// until it is on disk.
    fn finish(&mut self, now: Now, out: &mut Vec<Output>) {
        self.ask_on(now);
        let next = self.next_at(now);
        if next != self.armed {
            self.armed = next;
            self.held.push(match next {
                u64::MAX => Output::CancelTimer(DUE),
                at => Output::SetTimer { id: DUE, at },
            });
        }
        if self.state == self.written {
            out.append(&mut self.held);
            return;
        }
        let follows = |output: &Output| {
            matches!(output, Output::Send { .. } | Output::Voted { .. } | Output::Point(Point::Voted))
        };
        let (said, local) = self.held.drain(..).partition(follows);
        self.held = said;
        out.extend::<Vec<_>>(local);
        self.writing = true;
        self.written = self.state.clone();
        out.push(Output::Point(Point::BeforePersist));
        out.push(Output::Persist(self.state.encode()));
    }

    /// The new state is on disk.
    fn persisted(&mut self, now: Now, out: &mut Vec<Output>) {
        self.writing = false;
        out.append(&mut self.held);
        if let Role::Leader(leading) = &mut self.role {
            leading.note_end(self.setup.node, self.state.end_offset());
            self.advance(now);
        }
        self.finish(now, out);
        while !self.writing
            && let Some(input) = self.inbox.pop_front()
        {
            self.take(now, input, out);
        }
    }

    fn next_at(&self, now: Now) -> u64 {
        let next = self.requests.next_at(now.mono).min(self.role_until);
        let Role::Leader(leading) = &self.role else { return next };
        let parked = leading.parked.iter().map(|fetch| fetch.until).min().unwrap_or(u64::MAX);
        let begin = if self.voters() > 1 { leading.begin_at } else { u64::MAX };
        next.min(parked).min(begin)
    }

    /// Handles everything due by now.
    fn due(&mut self, now: Now) {
        if now.mono >= self.role_until {
            self.role_is_over(now);
        }
        self.answer_parked(now, false);
        for (to, message) in self.requests.due(now.mono) {
            self.send(to, message);
        }
    }
}

impl Elector for Kraft {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        match input {
            _ if self.unreadable => {}
            Input::Persisted => self.persisted(now, out),
            input if self.writing => self.inbox.push_back(input),
            input => self.take(now, input, out),
        }
    }
}
