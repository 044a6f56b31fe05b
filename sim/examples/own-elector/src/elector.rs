//! `majority-lease`: a majority elects a leader by votes kept on disk, and grants it a lease.
//!
//! **Where it comes from.** Terms and votes are Raft's (Ongaro and Ousterhout, 2014, §5.2); the lease is Gray and
//! Cheriton's (SOSP 1989). There is no log, and a leader's term is its token.
//!
//! **How it elects.** A node that has heard from no leader for a lease stands in a new term. Nodes that have not voted
//! in that term and have not heard from a leader either vote for it. The winner asks for a lease; once a majority has
//! granted it, the winner leads.
//!
//! **What it assumes about time.** Nothing for the token. A belief lasts a lease, less 1 % (`margin`), from when the leader *sent*
//! the round that a majority answered; the others wait a lease from when it *arrived*. So two beliefs never overlap
//! while clock rates differ by less than 1 %. A restarted node waits out a lease that it may have granted.
//!
//! **What breaks it.** A pause between the check of the belief and the write, where nobody checks the token.

use crate::belief::{MARGIN, belief};
use protocols::{
    clock::Now,
    election::{
        Conditions, Hazard, OwnTimers, Preference, Promise, Protocol, Setup, Transport,
        promise::{self, UNCHECKED},
    },
    elector::{self, Deposed, Elector, boxed},
    payload::{Nothing, Payload},
    point::Point,
    service::Service,
    types::{Leadership, MILLISECOND, NodeId, SECOND, TimerId},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Input = elector::Input<Message, Nothing>;
type Output = elector::Output<Message, Nothing>;

pub static PROTOCOL: Protocol = Protocol {
    name: "majority-lease",
    about: "A majority votes and then promises patience for a lease; the term is the token",
    service: &Service::NONE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 3 * SECOND,
    election_timeout: None,
    granted_ttl: |ttl| ttl,
    renew_interval: |ttl| ttl / 5,
    takeover_max: |timings, _| 2 * timings.renew_interval + 50 * MILLISECOND, // Two may stand at one moment.
    read_lease: Some(|timings| (belief(timings), timings.lease_ttl)),
    preference: Preference::Any,
    majority: true,
    persists: true,
    forgets_to_wait: false,
    ring: false,
    transfers: false,
    changes_members: false,
    parameters: &[MARGIN],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(MajorityLease::new(setup)),
    promise: |hazard, fencing| match hazard {
        _ if fencing => Promise::Holds,
        Hazard::PauseBeyondLease => UNCHECKED,
        Hazard::None | Hazard::Crash | Hazard::Resignation | Hazard::RollingRestart => Promise::Holds,
        Hazard::CutOffFromPeers | Hazard::NoQuorum => Promise::Holds,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: |timings, c: &Conditions| Some(c.slow(belief(timings)).saturating_sub(c.fast(timings.lease_ttl))),
};

/// Messages between candidates. Any may be lost, delayed, duplicated or reordered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Vote for me in this term.
    Stand(u64),
    /// You have my vote in this term; it is on disk.
    Vote(u64),
    /// My term is this one, later than yours.
    Newer(u64),
    /// I was elected in this term: grant me a lease.
    Lead { term: u64, round: u64 },
    /// Granted, from when that round arrived.
    Patient { term: u64, round: u64 },
    /// I no longer lead; nobody need wait for my lease.
    Yield(u64),
}

impl Payload for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Stand(_) => "stand",
            Message::Vote(_) => "vote",
            Message::Newer(_) => "newer",
            Message::Lead { .. } => "lead",
            Message::Patient { .. } => "patient",
            Message::Yield(_) => "yield",
        }
    }
}

/// The election timeout.
const STAND: TimerId = 0;
/// The next round is due.
const ROUND: TimerId = 1;
/// The belief ends, or a winner has waited too long for its first lease.
const EXPIRE: TimerId = 2;

/// The state on disk: the latest term that this node knows, and its vote in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Kept {
    term: u64,
    vote: Option<NodeId>,
}

impl Kept {
    fn bytes(self) -> Vec<u8> {
        let vote = self.vote.map_or(u16::MAX, |node| node.0);
        [&self.term.to_le_bytes()[..], &vote.to_le_bytes()].concat()
    }

    /// `None` if the bytes are corrupt: a node that has forgotten its vote must not vote again.
    fn read(bytes: &[u8]) -> Option<Kept> {
        let (term, vote) = bytes.split_first_chunk::<8>()?;
        let vote = u16::from_le_bytes(vote.try_into().ok()?);
        Some(Kept { term: u64::from_le_bytes(*term), vote: (vote != u16::MAX).then_some(NodeId(vote)) })
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    /// The nodes that voted for this one.
    Candidate(BTreeSet<NodeId>),
    Winner(Reign),
}

/// Won a majority's votes; leads once a majority has granted the lease.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Reign {
    leads: bool,
    valid_until: u64,
    /// When each recent round was sent.
    rounds: BTreeMap<u64, u64>,
    /// The latest round that each other node has answered.
    patient: BTreeMap<NodeId, u64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct MajorityLease {
    setup: Setup,
    /// `None` if the disk is corrupt: this node takes no part.
    kept: Option<Kept>,
    role: Role,
    /// This node votes for nobody before then, itself included.
    patient_until: u64,
    /// Votes being written to disk, in order: term and candidate.
    writing: VecDeque<(u64, NodeId)>,
    observed: Option<NodeId>,
    campaigning: bool,
    random: u64,
}

impl MajorityLease {
    fn new(setup: Setup) -> Self {
        let kept = setup.stored.as_deref().map_or(Some(Kept::default()), Kept::read);
        let random = setup.nonce;
        let (role, writing) = (Role::Follower, VecDeque::new());
        MajorityLease { setup, kept, role, patient_until: 0, writing, observed: None, campaigning: false, random }
    }

    fn term(&self) -> u64 {
        self.kept.map_or(0, |kept| kept.term)
    }

    /// A random part of a renewal interval, so that two followers of one leader do not stand at once (splitmix64).
    fn a_while(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let longest = self.setup.timings.renew_interval;
        longest / 20 + (mixed ^ (mixed >> 31)) % (longest - longest / 10).max(1)
    }

    fn tell_all(&self, message: Message, out: &mut Vec<Output>) {
        out.extend(self.setup.others().map(|to| Output::Send { to, message: message.clone() }));
    }

    fn observe(&mut self, leader: Option<NodeId>, out: &mut Vec<Output>) {
        if self.observed != leader {
            self.observed = leader;
            out.push(Output::Observed(leader));
        }
    }

    /// Schedules the next candidacy: after the granted lease, plus a random delay.
    fn wait(&mut self, now: Now, out: &mut Vec<Output>) {
        let at = self.patient_until.max(now.mono) + self.a_while();
        out.push(Output::SetTimer { id: STAND, at });
    }

    fn be_patient(&mut self, now: Now, out: &mut Vec<Output>) {
        self.patient_until = self.patient_until.max(now.mono + self.setup.timings.lease_ttl);
        self.wait(now, out);
    }

    fn keep(&mut self, kept: Kept, out: &mut Vec<Output>) {
        self.kept = Some(kept);
        if let Some(vote) = kept.vote {
            self.writing.push_back((kept.term, vote));
            out.push(Output::Point(Point::BeforePersist));
            out.push(Output::Persist(kept.bytes()));
        }
    }

    fn stand(&mut self, now: Now, out: &mut Vec<Output>) {
        self.wait(now, out);
        // The lease binds a candidate's own vote too; and it does not stand while a vote is being written.
        if now.mono < self.patient_until || !self.writing.is_empty() {
            return;
        }
        self.observe(None, out);
        if !std::mem::replace(&mut self.campaigning, true) {
            out.push(Output::Campaign);
        }
        out.push(Output::Point(Point::BeforeCampaign));
        self.role = Role::Candidate(BTreeSet::new());
        self.keep(Kept { term: self.term() + 1, vote: Some(self.setup.node) }, out);
    }

    /// A vote has reached the disk.
    fn kept(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some((term, vote)) = self.writing.pop_front() else { return };
        if term != self.term() {
            return;
        }
        out.push(Output::Voted { candidate: vote, token: term });
        out.push(Output::Point(Point::Voted));
        if vote == self.setup.node {
            self.tell_all(Message::Stand(term), out);
            self.voted_for(now, vote, out);
        } else {
            out.push(Output::Send { to: vote, message: Message::Vote(term) });
        }
    }

    fn voted_for(&mut self, now: Now, by: NodeId, out: &mut Vec<Output>) {
        let Role::Candidate(votes) = &mut self.role else { return };
        votes.insert(by);
        if votes.len() >= self.setup.majority() && votes.contains(&self.setup.node) {
            self.role = Role::Winner(Reign::default());
            out.push(Output::CancelTimer(STAND));
            out.push(Output::SetTimer { id: EXPIRE, at: now.mono + self.setup.timings.lease_ttl });
            self.round(now, out);
        }
    }

    fn asked(&mut self, now: Now, from: NodeId, term: u64, out: &mut Vec<Output>) {
        if term <= self.term() {
            protocols::mark!("own-elector: a vote is refused, the term is not a newer one");
            if term < self.term() {
                out.push(Output::Send { to: from, message: Message::Newer(self.term()) });
            }
        } else if now.mono >= self.patient_until && !matches!(self.role, Role::Winner(_)) {
            self.role = Role::Follower;
            self.wait(now, out);
            self.keep(Kept { term, vote: Some(from) }, out);
        }
    }

    fn round(&mut self, now: Now, out: &mut Vec<Output>) {
        let (term, interval) = (self.term(), self.setup.timings.renew_interval);
        let Role::Winner(reign) = &mut self.role else { return };
        let round = reign.rounds.last_key_value().map_or(1, |(round, _)| round + 1);
        reign.rounds.insert(round, now.mono);
        // A round older than a lease cannot renew the belief.
        let oldest = now.mono.saturating_sub(self.setup.timings.lease_ttl);
        reign.rounds.retain(|_, sent| *sent >= oldest);
        out.push(Output::SetTimer { id: ROUND, at: now.mono + interval });
        out.push(Output::Point(Point::BeforeRenew));
        self.tell_all(Message::Lead { term, round }, out);
        self.count(now, out);
    }

    /// Extends the belief to a lease after the latest round that a majority answered.
    fn count(&mut self, now: Now, out: &mut Vec<Output>) {
        let (token, needed) = (self.term(), self.setup.majority());
        let Role::Winner(reign) = &mut self.role else { return };
        let answered = |round: u64| 1 + reign.patient.values().filter(|latest| **latest >= round).count() >= needed;
        let sent = reign.rounds.iter().rev().find(|(round, _)| answered(**round)).map(|(_, sent)| *sent);
        let Some(valid_until) = sent.map(|sent| sent + belief(&self.setup.timings)) else { return };
        if valid_until <= now.mono || valid_until <= reign.valid_until {
            return;
        }
        reign.valid_until = valid_until;
        out.push(Output::SetTimer { id: EXPIRE, at: valid_until });
        let leadership = Leadership { token, valid_until };
        if std::mem::replace(&mut reign.leads, true) {
            out.push(Output::Point(Point::Renewed));
            out.push(Output::Renewed(leadership));
        } else {
            self.campaigning = false;
            out.push(Output::Elected(leadership));
        }
    }

    /// A leader of this term was heard: grants it a lease, unless a later term has begun.
    fn led(&mut self, now: Now, from: NodeId, (term, round): (u64, u64), out: &mut Vec<Output>) {
        if term < self.term() {
            out.push(Output::Send { to: from, message: Message::Newer(self.term()) });
            return;
        }
        if term > self.term() {
            self.give_up(now, Deposed::Lost, out);
            // Its voters have the term on disk, and they are a majority.
            self.kept = Some(Kept { term, vote: None });
        }
        self.role = Role::Follower;
        self.campaigning = false;
        self.observe(Some(from), out);
        self.be_patient(now, out);
        out.push(Output::Send { to: from, message: Message::Patient { term, round } });
    }

    /// Ends the reign, if any.
    fn give_up(&mut self, now: Now, why: Deposed, out: &mut Vec<Output>) {
        let Role::Winner(reign) = std::mem::replace(&mut self.role, Role::Follower) else { return };
        if reign.leads {
            out.push(Output::Deposed(why));
        }
        out.push(Output::CancelTimer(ROUND));
        out.push(Output::CancelTimer(EXPIRE));
        self.wait(now, out);
    }

    /// Steps down, and lets the others stand first.
    fn resign(&mut self, now: Now, out: &mut Vec<Output>) {
        out.push(Output::Point(Point::BeforeRelease));
        self.give_up(now, Deposed::Resigned, out);
        out.push(Output::SetTimer { id: STAND, at: now.mono + 2 * self.setup.timings.lease_ttl });
        self.tell_all(Message::Yield(self.term()), out);
    }

    fn heard(&mut self, now: Now, from: NodeId, message: Message, out: &mut Vec<Output>) {
        match message {
            Message::Stand(term) => self.asked(now, from, term, out),
            Message::Vote(term) if term == self.term() => self.voted_for(now, from, out),
            Message::Lead { term, round } => self.led(now, from, (term, round), out),
            Message::Patient { term, round } if term == self.term() => {
                if let Role::Winner(reign) = &mut self.role {
                    let latest = reign.patient.entry(from).or_default();
                    *latest = round.max(*latest);
                    self.count(now, out);
                }
            }
            Message::Newer(term) if term > self.term() => {
                self.give_up(now, Deposed::Lost, out);
                self.role = Role::Follower;
                self.kept = Some(Kept { term, vote: None });
            }
            Message::Yield(term) if term == self.term() && self.observed == Some(from) => {
                self.observe(None, out);
                self.patient_until = now.mono;
                self.wait(now, out);
            }
            // These belong to an earlier term.
            Message::Vote(_) | Message::Patient { .. } | Message::Newer(_) | Message::Yield(_) => {}
        }
    }
}

impl Elector for MajorityLease {
    type Peer = Message;
    type Service = Nothing;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        if self.kept.is_none() {
            return;
        }
        // First of all: after a pause, messages and timers come in any order.
        let is_over = |reign: &Reign| reign.leads && reign.valid_until <= now.mono;
        if matches!(&self.role, Role::Winner(reign) if is_over(reign)) {
            self.give_up(now, Deposed::Expired, out);
        }
        let wins = matches!(self.role, Role::Winner(_));
        match input {
            // It may have granted a lease before it restarted.
            Input::Start => self.be_patient(now, out),
            Input::Timer(STAND) if !wins => self.stand(now, out),
            Input::Timer(ROUND) if wins => self.round(now, out),
            Input::Timer(EXPIRE) if wins => self.give_up(now, Deposed::Lost, out),
            Input::Peer { from, message } => self.heard(now, from, message, out),
            Input::Persisted => self.kept(now, out),
            Input::Resign if wins => self.resign(now, out),
            Input::Fenced => self.give_up(now, Deposed::Fenced, out),
            // Timers of an earlier role, and inputs that this protocol does not use.
            _ => {}
        }
    }
}
