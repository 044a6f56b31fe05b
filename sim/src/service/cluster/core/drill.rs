//! Drills cores without connections and disks: messages are delivered, lost or delayed by seed, members stop, crash and
//! lose unsaved data, and all must agree. Sweeps run [`drill`] before anything else.

use super::{Core, Entry, Hard, Message, Ready, Record, Role, Rules, Standing, Stored};
use crate::service::cluster::{CONSUL, ETCD, ZOOKEEPER, message::Index};
use protocols::{
    random::Random,
    types::{MILLISECOND, SECOND},
};
use std::collections::BTreeMap;

/// Drills members by the rules of each service, even numbers of them included, during faults and afterwards.
///
/// # Panics
/// Members disagree, two lead in a term, a read is too old, or nothing is committed any more; the panic says which.
pub fn drill() {
    [ETCD, CONSUL, ZOOKEEPER].into_iter().for_each(law_of_earlier_terms);
    for (rules, count) in [(ETCD, 3), (ETCD, 4), (ETCD, 5), (CONSUL, 3), (ZOOKEEPER, 3), (ETCD, 2)] {
        let elections: usize = (0..3).map(|seed| goes_on(rules, count, seed, 3_000).leaders.len()).sum();
        assert!(elections > 3, "{count} members: only {elections} elections in 3 runs");
    }
}

/// An entry of an earlier term is not committed by being on a majority of disks: another leader may still replace it.
/// With an entry of its own term, the leader commits both (Raft paper, 5.4.2).
fn law_of_earlier_terms(rules: Rules) {
    const MEMBERS: usize = 3;
    let hard = Hard { term: 3, vote: Some(0), commit: 0 };
    let disk = Stored { hard, log: vec![Entry { term: 1, data: [1].as_slice().into() }] };
    let mut core = Core::new(0, MEMBERS, rules, 1, disk);
    core.lead();
    let has = |index| Message::Appended { term: 3, success: true, index, read: 0 };
    let mut committed = |term, index| {
        core.saved((term, index));
        core.hear(1, has(index));
        core.hard.commit
    };
    assert_eq!(committed(1, 1), 0, "an entry of an earlier term is committed by counting");
    assert_eq!(committed(3, 2), 2, "an entry of the leader's own term is on two disks of three");
}

/// Runs members through `troubled` steps with faults, and then on without.
///
/// # Panics
/// As [`drill`].
pub(super) fn goes_on(rules: Rules, count: usize, seed: u64, troubled: u32) -> Fleet {
    let mut fleet = Fleet::new(rules, count, seed);
    (0..troubled).for_each(|_| fleet.step(true));
    fleet.seats.iter_mut().for_each(|seat| (seat.paused_until, seat.cut_until) = (0, 0));
    // Longer than the longest election timeout, plus some elections.
    (0..3_000).for_each(|_| fleet.step(false));
    let before = fleet.committed.len();
    (0..500).for_each(|_| fleet.step(false));
    assert!(fleet.committed.len() > before, "{count} members, seed {seed}: nothing is committed any more");
    fleet
}

/// How far back from their last common entry logs are compared.
const LOOKED_BACK: usize = 200;

pub(super) struct Seat {
    pub(super) core: Option<Core>,
    disk: Stored,
    /// Saved by the process, but not yet on disk.
    unsaved: Vec<(Record, (u64, Index))>,
    paused_until: u64,
    /// Until then, no message from or to it arrives.
    cut_until: u64,
    applied: Index,
    /// The last term that it led, and the commit index that it knew then.
    led_to: (u64, Index),
    /// Its total running time in nanoseconds, and when in that time it last heard from each member.
    ran: u64,
    heard: Vec<u64>,
    /// The term that it leads, and since when in its running time.
    leads: Option<(u64, u64)>,
}

/// The members, and the messages in flight.
pub(super) struct Fleet {
    rules: Rules,
    pub(super) seats: Vec<Seat>,
    random: Random,
    now: u64,
    pub(super) under_way: BTreeMap<(u64, u64), (usize, usize, Message)>,
    sent: u64,
    /// The leader of each term.
    pub(super) leaders: BTreeMap<u64, usize>,
    /// All committed entries.
    committed: Vec<Entry>,
    proposed: u64,
    /// Outstanding reads, with the commit index when they were requested.
    pub(super) reads: BTreeMap<(usize, u64), Index>,
    read: u64,
}

impl Fleet {
    pub(super) fn new(rules: Rules, count: usize, seed: u64) -> Fleet {
        let disk = || Stored { hard: Core::founded(0).hard, ..Stored::default() };
        let seat = |own| {
            let mut core = Core::new(own, count, rules, seed ^ own as u64, disk());
            core.found(0, 0);
            Seat {
                core: Some(core),
                disk: disk(),
                unsaved: Vec::new(),
                paused_until: 0,
                cut_until: 0,
                applied: 0,
                led_to: (0, 0),
                ran: 0,
                heard: vec![0; count],
                leads: None,
            }
        };
        Fleet {
            rules,
            seats: (0..count).map(seat).collect(),
            random: Random::new(seed),
            now: 0,
            under_way: BTreeMap::new(),
            sent: 0,
            leaders: BTreeMap::new(),
            committed: Vec::new(),
            proposed: 0,
            reads: BTreeMap::new(),
            read: 0,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.draw(many) == 0
    }

    /// Processes a member's outputs until its disk holds it up.
    fn work(&mut self, own: usize) {
        loop {
            if !self.seats[own].unsaved.is_empty() {
                return;
            }
            let Some(ready) = self.seats[own].core.as_mut().and_then(Core::ready) else { return };
            self.take(own, ready);
        }
    }

    fn take(&mut self, own: usize, ready: Ready) {
        if let Some(Standing { term, leader: Some(leader) }) = ready.standing {
            assert_eq!(*self.leaders.entry(term).or_insert(leader), leader, "two lead in term {term}");
        }
        for (index, entry) in ready.committed {
            assert_eq!(index, self.seats[own].applied + 1);
            self.seats[own].applied = index;
            match self.committed.get(index as usize - 1) {
                Some(known) => assert_eq!(*known, entry, "two entries at {index}"),
                None => self.committed.push(entry),
            }
        }
        for (read, index) in ready.reads {
            let least = self.reads.remove(&(own, read)).unwrap_or(0);
            assert!(index >= least, "read {read} at {index}, and {least} was committed before");
        }
        if !ready.record.is_empty() {
            self.seats[own].unsaved.push((ready.record, ready.saved));
            // A follower saves before it answers; a leader sends first.
            if !ready.leads || !self.one_in(3) {
                self.save(own);
            }
        }
        for (to, message) in ready.messages {
            self.sent += 1;
            let is_cut = [own, to].iter().any(|member| self.seats[*member].cut_until > self.now);
            if !self.one_in(20) && !is_cut {
                let at = self.now + self.draw(if self.rules.heartbeat < SECOND { 30 } else { 5 }) * MILLISECOND;
                self.under_way.insert((at, self.sent), (own, to, message));
            }
        }
    }

    /// A leader commits entries of its own term that a majority has on disk.
    fn law_of_commits(&mut self, own: usize) {
        let Some(core) = &self.seats[own].core else { return };
        let (term, commit) = (core.hard.term, core.hard.commit);
        if !matches!(core.role, Role::Leader(_)) {
            return;
        }
        // Entries that it learned of as a follower were committed by another leader.
        let (led_in, known) = std::mem::replace(&mut self.seats[own].led_to, (term, commit));
        if led_in != term || commit <= known {
            return;
        }
        let Some(entry) = self.seats[own].core.as_ref().map(|core| &core.log[commit as usize - 1]) else { return };
        assert_eq!(entry.term, term, "the leader of a term commits {commit} by counting, which is of another term");
        let has = |seat: &&Seat| seat.disk.log.get(commit as usize - 1) == Some(entry);
        let (having, count) = (self.seats.iter().filter(has).count(), self.seats.len());
        assert!(having > count / 2, "{commit} is committed, and is on {having} disks of {count}");
    }

    /// A leader that hears from no majority steps down at its next look, by its own running time.
    fn law_of_the_majority(&mut self, own: usize) {
        let ((every, within), seat) = (self.rules.quorum, &mut self.seats[own]);
        let Some(core) = seat.core.as_ref().filter(|core| matches!(core.role, Role::Leader(_))) else {
            seat.leads = None;
            return;
        };
        let term = core.hard.term;
        let (_, since) = seat.leads.filter(|(led, _)| *led == term).unwrap_or((term, seat.ran));
        seat.leads = Some((term, since));
        let heard = seat.heard.iter().enumerate();
        let recent = |at: u64| seat.ran <= at.max(since) + within + 2 * every;
        let heard = heard.filter(|(member, at)| *member == own || recent(**at)).count();
        assert!(heard > seat.heard.len() / 2, "{own} leads, and hears from {heard} members, itself included");
    }

    /// Two logs with the same term at the same index agree up to there.
    fn law_of_logs(&self) {
        let logs = || self.seats.iter().filter_map(|seat| seat.core.as_ref()).map(|core| &core.log);
        for (place, one) in logs().enumerate() {
            for other in logs().skip(place + 1) {
                let common = one.len().min(other.len());
                let Some(last) = (0..common).rev().find(|at| one[*at].term == other[*at].term) else { continue };
                let from = last.saturating_sub(LOOKED_BACK);
                assert_eq!(one[from..=last], other[from..=last], "two logs agree at {} and not before", last + 1);
            }
        }
    }

    fn save(&mut self, own: usize) {
        let seat = &mut self.seats[own];
        for (Record { hard, entries, .. }, saved) in std::mem::take(&mut seat.unsaved) {
            seat.disk.hard = hard.unwrap_or(seat.disk.hard);
            if let Some((from, entries)) = entries {
                seat.disk.log.truncate(from as usize - 1);
                seat.disk.log.extend(entries);
            }
            if let Some(core) = &mut seat.core {
                core.saved(saved);
            }
        }
        self.law_of_commits(own);
    }

    /// A member's process ends, and unsaved data is lost; it restarts now or later.
    fn crash(&mut self, own: usize) {
        let (count, rules, seed) = (self.seats.len(), self.rules, self.random.next_u64());
        let seat = &mut self.seats[own];
        seat.unsaved.clear();
        (seat.applied, seat.led_to) = (0, (0, 0));
        let Hard { commit, .. } = seat.disk.hard;
        assert!(commit <= seat.disk.log.len() as u64 || commit == 0);
        seat.core = Some(Core::new(own, count, rules, seed, seat.disk.clone()));
        let keep = |(_, (_, to, _)): &((u64, u64), (usize, usize, Message))| *to != own;
        self.under_way = std::mem::take(&mut self.under_way).into_iter().filter(keep).collect();
        self.reads.retain(|(of, _), _| *of != own);
    }

    pub(super) fn step(&mut self, trouble: bool) {
        self.now += 10 * MILLISECOND;
        let count = self.seats.len() as u64;
        if trouble && self.one_in(300) {
            let own = self.draw(count) as usize;
            self.seats[own].paused_until = self.now + self.draw(15) * SECOND;
        }
        if trouble && self.one_in(300) {
            let own = self.draw(count) as usize;
            self.crash(own);
        }
        if trouble && self.one_in(200) {
            let own = self.draw(count) as usize;
            self.seats[own].cut_until = self.now + self.draw(6) * SECOND;
        }
        if self.now % (250 * MILLISECOND) == 0 {
            self.law_of_logs();
        }
        for own in 0..self.seats.len() {
            if self.seats[own].paused_until > self.now {
                continue;
            }
            if !trouble || self.one_in(4) {
                self.save(own);
            }
            let due: Vec<(u64, u64)> = self
                .under_way
                .range(..=(self.now, u64::MAX))
                .filter(|(_, (_, to, _))| *to == own)
                .map(|(k, _)| *k)
                .collect();
            for key in due {
                let Some((from, _, message)) = self.under_way.remove(&key) else { continue };
                let seat = &mut self.seats[own];
                seat.heard[from] = seat.ran;
                if let Some(core) = &mut seat.core {
                    core.at(self.now);
                    core.hear(from, message);
                }
                self.law_of_commits(own);
                self.work(own);
            }
            let now = self.now;
            self.seats[own].ran += 10 * MILLISECOND;
            if let Some(core) = &mut self.seats[own].core {
                core.tick(now);
            }
            self.law_of_the_majority(own);
            self.work(own);
            if self.one_in(10) {
                self.proposed += 1;
                let data = self.proposed.to_le_bytes();
                self.seats[own].core.as_mut().map(|core| core.propose(data.as_slice().into()));
                self.work(own);
            }
            if self.one_in(10) {
                self.read += 1;
                self.reads.insert((own, self.read), self.committed.len() as Index);
                let read = self.read;
                if let Some(core) = &mut self.seats[own].core {
                    core.read(read);
                }
                self.work(own);
            }
        }
    }
}
