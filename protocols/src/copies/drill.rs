//! Copies without nodes and disks: leaders come and go, former ones carry on, and messages between copies are late or
//! lost, drawn from a seed. Acknowledged writes must stay, and reads must not be stale. Sweeps run [`drill`] before
//! anything else.

use super::{guard::Guard, log::Disk, message::Message, mode::Copies, replica::Replica};
use crate::{
    bug::Bugs,
    clock::Now,
    core::Output,
    fence::{checks::Fencing, ledger::Fence},
    history::Kind,
    message::{Message as ToLeader, Write, WriteVerdict},
    node::Standing,
    payload::Payload,
    random::Random,
    types::{Incarnation, NodeId, Operation, RequestId, Resource},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU64},
};

/// Drills copies in majority mode, including an even number of them, under faults and after them; with LeaseGuard, too.
///
/// # Panics
/// If an acknowledged write is gone, a read is stale, a copy follows an older primary, or nothing is acknowledged any
/// more; the message says which.
pub fn drill() {
    for (copies, guarded) in [(3, false), (4, false), (5, false), (3, true), (5, true)] {
        for seed in 0..6 {
            let mut fleet = Fleet::new(copies, seed, guarded);
            (0..2_000).for_each(|_| fleet.step(true));
            assert!(fleet.promoted > 5, "{copies} copies: only {} primaries", fleet.promoted);
            assert!(!guarded || fleet.at_once > 100, "{copies} copies: {} reads at once", fleet.at_once);
            (0..50).for_each(|_| fleet.step(false));
            let before = fleet.acknowledged.len();
            (0..400).for_each(|_| fleet.step(false));
            assert!(
                fleet.acknowledged.len() > before,
                "{copies} copies, seed {seed}: nothing is acknowledged any more"
            );
        }
    }
}

const RESOURCE: Resource = Resource(0);
/// The wall clocks' readings at the start.
const START: u64 = 1_000;
/// After how many steps an unanswered leader asks again, and how often a primary sends a heartbeat.
const AGAIN: u64 = 20;
const BEAT: u64 = 5;
/// LeaseGuard's lease, and how wrong clocks are at most.
const LEASE: u64 = 100;
/// See [`LEASE`].
const CLOCK_BOUND: u64 = 10;

/// A leader's own view.
struct Leader {
    by: Incarnation,
    /// The last number and version, once it has sealed.
    state: Option<(u64, u64)>,
    asked_at: u64,
    /// Until when it does not learn that it was replaced.
    believes_until: u64,
    cut_until: u64,
}

struct Fleet {
    copies: Vec<Replica>,
    disks: Vec<Disk>,
    leaders: Vec<Option<Leader>>,
    random: Random,
    now: u64,
    token: u64,
    sent: u64,
    under_way: BTreeMap<(u64, u64), (NodeId, NodeId, Message)>,
    /// Who wrote each acknowledged number.
    acknowledged: BTreeMap<u64, Incarnation>,
    /// The highest number that a read has told.
    told: u64,
    /// The last number that anybody had been told when each read was requested.
    reads: BTreeMap<u64, u64>,
    read: u64,
    /// With LeaseGuard: the error of each node's wall clock, plus the bound.
    clocks: Vec<u64>,
    /// How many reads were answered without asking other copies.
    at_once: u64,
    promoted: u64,
}

impl Fleet {
    fn new(count: u16, seed: u64, guarded: bool) -> Fleet {
        let disks: Vec<Disk> = (0..count).map(|_| Disk::new(vec![Fencing::On.checks()])).collect();
        let told = Arc::<AtomicU64>::default();
        let copy = |(own, disk): (u16, &Disk)| {
            let guard = guarded.then(|| Guard::new(NodeId(own), LEASE, CLOCK_BOUND, true, &Bugs::default()));
            Replica::new(NodeId(own), count, Copies::Majority, disk.clone(), told.clone(), guard)
        };
        let mut random = Random::new(seed);
        let clocks =
            disks.iter().map(|_| if guarded { random.next_u64() % (2 * CLOCK_BOUND + 1) } else { 0 }).collect();
        Fleet {
            copies: (0..count).zip(&disks).map(copy).collect(),
            leaders: disks.iter().map(|_| None).collect(),
            disks,
            random,
            now: 0,
            token: 0,
            sent: 0,
            under_way: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            told: 0,
            clocks,
            at_once: 0,
            reads: BTreeMap::new(),
            read: 0,
            promoted: 0,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.draw(many) == 0
    }

    fn standing(&self, own: usize) -> Standing {
        Standing { incarnation: self.leaders[own].as_ref().map(|leader| leader.by), ..Standing::default() }
    }

    fn is_cut(&self, node: NodeId) -> bool {
        self.leaders[node.index()].as_ref().is_some_and(|leader| leader.cut_until > self.now)
    }

    fn last(&self) -> u64 {
        self.acknowledged.last_key_value().map_or(0, |(seq, _)| *seq)
    }

    fn clock(&self, own: usize) -> Now {
        Now { mono: self.now, wall: START + self.now + self.clocks[own] - CLOCK_BOUND }
    }

    /// Elects a new leader. A former one carries on for a while, and may be cut off meanwhile.
    fn elect(&mut self) {
        let (count, now) = (self.copies.len() as u64, self.now);
        let (own, until, cut) = (self.draw(count) as usize, now + self.draw(150), now + self.draw(150));
        for leader in self.leaders.iter_mut().flatten() {
            leader.believes_until = leader.believes_until.min(until);
            leader.cut_until = cut;
        }
        self.token += 1;
        let by = Incarnation { token: self.token, node: NodeId(own as u16), generation: self.token as u32 };
        let leader = Leader { by, state: None, asked_at: 0, believes_until: u64::MAX, cut_until: 0 };
        self.leaders[own] = Some(leader);
    }

    fn step(&mut self, trouble: bool) {
        self.now += 1;
        if self.token == 0 || (trouble && self.one_in(100)) {
            self.elect();
        }
        for own in 0..self.copies.len() {
            if self.leaders[own].as_ref().is_some_and(|leader| leader.believes_until <= self.now) {
                self.leaders[own] = None;
            }
            let standing = self.standing(own);
            let now = self.clock(own);
            self.copies[own].at(now);
            self.copies[own].settle(&standing);
            let mut out = Vec::new();
            if self.now % BEAT == 0 {
                self.copies[own].beat(&mut out);
            }
            self.carry_out(own, out);
            self.lead(own);
        }
        let due: Vec<(u64, u64)> = self.under_way.range(..=(self.now, u64::MAX)).map(|(key, _)| *key).collect();
        for key in due {
            if let Some((from, to, message)) = self.under_way.remove(&key) {
                self.deliver(from, to, message);
            }
        }
    }

    /// A leader asks its copy for one thing at a time, and reads.
    fn lead(&mut self, own: usize) {
        // Writes are rare, since only an idle leader can take an old number for the last one.
        let (reads, writes) = (self.one_in(6), self.one_in(12));
        let (now, last) = (self.now, self.last().max(self.told));
        let Some(leader) = &mut self.leaders[own] else { return };
        let Incarnation { token, generation, .. } = leader.by;
        let mut asks = Vec::new();
        let wants = leader.asked_at == 0 && (writes || leader.state.is_none());
        if wants || (leader.asked_at > 0 && now - leader.asked_at >= AGAIN) {
            leader.asked_at = now;
            asks.push(match leader.state {
                None => ToLeader::Seal { resource: RESOURCE, generation, token },
                Some((seq, version)) => ToLeader::Write(Write {
                    resource: RESOURCE,
                    operation: Operation::Record,
                    generation,
                    token,
                    seq: seq + 1,
                    read_version: version,
                    client: NodeId(100),
                    number: seq + 1,
                    payload: None,
                }),
            });
        }
        if reads && leader.state.is_some() {
            self.read += 1;
            let request = RequestId { client: NodeId(101), number: self.read };
            self.reads.insert(self.read, last);
            asks.push(ToLeader::ReadStore { resource: RESOURCE, request, generation, token });
        }
        for message in asks {
            let mut out = Vec::new();
            self.copies[own].asked(message, &mut out);
            self.at_once += out.iter().filter(|output| is_read(output)).count() as u64;
            self.carry_out(own, out);
        }
    }

    fn carry_out(&mut self, own: usize, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Send { message, .. } => self.answered(own, message),
                Output::Record(Kind::Promoted { incarnation, .. }) => self.promoted(own, incarnation),
                Output::Tell { to, message } => {
                    let Ok(message) = Message::restore(message) else { continue };
                    self.sent += 1;
                    let at = self.now + 1 + self.draw(8);
                    if !self.one_in(20) && !self.is_cut(NodeId(own as u16)) && !self.is_cut(to) {
                        self.under_way.insert((at, self.sent), (NodeId(own as u16), to, message));
                    }
                }
                _ => {}
            }
        }
    }

    /// A new primary has every acknowledged write, unless a newer one got promises meanwhile.
    fn promoted(&mut self, own: usize, by: Incarnation) {
        self.promoted += 1;
        let (log, last) = (self.disks[own].open(), self.last());
        // It follows itself: among logs of equal length, the one of the later primary is newer.
        assert_eq!(log.followed, Some(by), "a new primary does not count as one that follows itself");
        let has = log.ledgers().first().map_or(0, |ledger| ledger.seq());
        let older = self.acknowledged.values().all(|other| other.token < by.token);
        assert!(!older || has >= last, "{by:?} is the primary, has {has}, and {last} was acknowledged");
    }

    fn answered(&mut self, own: usize, message: ToLeader) {
        match message {
            ToLeader::Sealed { token, seq, version, .. } => {
                if let Some(leader) = self.leaders[own].as_mut().filter(|leader| leader.by.token == token) {
                    (leader.state, leader.asked_at) = (Some((seq, version)), 0);
                }
            }
            ToLeader::Written {
                generation, seq, verdict: WriteVerdict::Ok | WriteVerdict::Duplicate { .. }, ..
            } => {
                self.acknowledges(own, generation, seq);
            }
            ToLeader::StoreIs { request, verdict: WriteVerdict::Ok, seq, .. } => {
                let least = self.reads.remove(&request.number).unwrap_or(0);
                assert!(
                    seq >= least,
                    "{seq} is read, and {least} was told before it was asked for; clocks {:?}",
                    self.clocks
                );
                self.told = self.told.max(seq);
            }
            _ => {}
        }
    }

    fn acknowledges(&mut self, own: usize, generation: u32, seq: u64) {
        let Some(leader) = self.leaders[own].as_mut().filter(|leader| leader.by.generation == generation) else {
            return;
        };
        let by = leader.by;
        if let Some((last, version)) = leader.state.filter(|(last, _)| last + 1 == seq) {
            (leader.state, leader.asked_at) = (Some((last + 1, version + 1)), 0);
        }
        let before = *self.acknowledged.entry(seq).or_insert(by);
        assert!(before == by, "{seq} was acknowledged by {before:?} and by {by:?}");
        let has = |disk: &&Disk| disk.open().ledgers().first().is_some_and(|ledger| ledger.seq() >= seq);
        let (having, count) = (self.disks.iter().filter(has).count(), self.disks.len());
        assert!(having > count / 2, "{seq} is acknowledged, and {having} of {count} copies have it");
    }

    /// No copy follows an older primary than the one it has promised to, and a primary that learns of a newer one
    /// stops.
    fn deliver(&mut self, from: NodeId, to: NodeId, message: Message) {
        let own = to.index();
        if self.is_cut(from) || self.is_cut(to) {
            return;
        }
        let (promised, length) = {
            let log = self.disks[own].open();
            (log.promised.map_or(0, |promised| promised.token), log.len())
        };
        let by = match &message {
            Message::Stream { primary, .. } | Message::Prepare { primary } => Some(primary.token),
            _ => None,
        };
        let refused = match &message {
            Message::Newer { refused, .. } => Some(*refused),
            _ => None,
        };
        let (standing, mut out) = (self.standing(own), Vec::new());
        let now = self.clock(own);
        self.copies[own].at(now);
        self.copies[own].told(from, message, &standing, &mut out);
        if let Some(token) = by.filter(|token| *token < promised) {
            assert_eq!(self.disks[own].open().len(), length, "a copy that has promised {promised} follows {token}");
        }
        if refused.is_some() && refused == standing.incarnation {
            assert!(!self.copies[own].beats(), "{refused:?} was told of a newer primary, and goes on");
        }
        self.carry_out(own, out);
    }
}

fn is_read(output: &Output) -> bool {
    matches!(output, Output::Send { message: ToLeader::StoreIs { verdict: WriteVerdict::Ok, .. }, .. })
}
