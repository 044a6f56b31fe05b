//! Three copies without nodes: messages arrive at once, unless one of the copies is cut off.

use super::*;
use crate::{
    copies::{log::Disk, message::Message, mode::Copies, replica::Replica},
    core::Output,
    fence::checks::Fencing,
    message::{Message as ToLeader, Write, WriteVerdict},
    node::Standing,
    payload::Payload,
    types::{Incarnation, MILLISECOND, Operation, RequestId},
};
use std::{collections::VecDeque, sync::Arc};

const RESOURCE: Resource = Resource(0);
const OTHER: Resource = Resource(1);
const LEASE_MS: u64 = 100;
const BOUND_MS: i64 = 5;
/// A wall clock's reading at the start, milliseconds.
const START_MS: i64 = 10_000;
const FIRST: usize = 0;
const SECOND: usize = 1;

struct Bench {
    disks: Vec<Disk>,
    copies: Vec<Replica>,
    leads: Vec<Option<Incarnation>>,
    /// How far each wall clock is from true time, milliseconds.
    offsets_ms: [i64; 3],
    now_ms: u64,
    cut: Option<usize>,
    under_way: VecDeque<(usize, usize, Message)>,
    answers: Vec<(usize, ToLeader)>,
}

fn copy(own: u16, disk: &Disk, bugs: &Bugs) -> Replica {
    let (lease, bound) = (LEASE_MS * MILLISECOND, BOUND_MS as u64 * MILLISECOND);
    let guard = Guard::new(NodeId(own), lease, bound, true, bugs);
    Replica::new(NodeId(own), 3, Copies::Majority, disk.clone(), Arc::default(), Some(guard))
}

impl Bench {
    fn new(offsets_ms: [i64; 3], bugs: &Bugs) -> Bench {
        let disks: Vec<Disk> = (0..3).map(|_| Disk::new(vec![Fencing::On.checks(); 2])).collect();
        Bench {
            copies: (0..3).zip(&disks).map(|(own, disk)| copy(own, disk, bugs)).collect(),
            disks,
            leads: vec![None; 3],
            offsets_ms,
            now_ms: 0,
            cut: None,
            under_way: VecDeque::new(),
            answers: Vec::new(),
        }
    }

    /// The first of three leads with exact clocks, and number 1 of [`RESOURCE`] is written and known to all.
    fn led() -> Bench {
        let mut bench = Bench::new([0; 3], &Bugs::default());
        bench.lead(FIRST, 1);
        assert!(bench.write(FIRST, RESOURCE, 1));
        bench
    }

    fn step(&mut self, own: usize, act: impl FnOnce(&mut Replica, &Standing, &mut Vec<Output>)) {
        let wall_ms = START_MS + self.now_ms as i64 + self.offsets_ms[own];
        let now = Now { mono: self.now_ms * MILLISECOND, wall: wall_ms as u64 * MILLISECOND };
        let standing = Standing { incarnation: self.leads[own], ..Standing::default() };
        let (copy, mut out) = (&mut self.copies[own], Vec::new());
        copy.at(now);
        copy.settle(&standing);
        act(copy, &standing, &mut out);
        for output in out {
            match output {
                Output::Send { message, .. } => self.answers.push((own, message)),
                Output::Tell { to, message } => {
                    let message = Message::restore(message).expect("a message of copies");
                    self.under_way.push_back((own, to.index(), message));
                }
                _ => {}
            }
        }
    }

    fn settle(&mut self) {
        while let Some((from, to, message)) = self.under_way.pop_front() {
            if ![Some(from), Some(to)].contains(&self.cut) {
                self.step(to, |copy, standing, out| copy.told(NodeId(from as u16), message, standing, out));
            }
        }
    }

    /// Lets a millisecond pass; every primary looks after its lease.
    fn pass(&mut self) {
        self.now_ms += 1;
        for own in 0..3 {
            self.step(own, |copy, _, out| copy.beat(out));
        }
        self.settle();
    }

    fn by(&self, own: usize) -> Incarnation {
        self.leads[own].expect("a leader")
    }

    fn ask(&mut self, own: usize, message: ToLeader) {
        self.step(own, |copy, _, out| copy.asked(message, out));
        self.settle();
    }

    fn lead(&mut self, own: usize, token: u64) {
        self.leads[own] = Some(Incarnation { token, node: NodeId(own as u16), generation: 1 });
        for resource in [RESOURCE, OTHER] {
            self.ask(own, ToLeader::Seal { resource, generation: 1, token });
        }
    }

    /// Writes a number; returns whether it is acknowledged at once.
    fn write(&mut self, own: usize, resource: Resource, seq: u64) -> bool {
        let Incarnation { token, generation, .. } = self.by(own);
        self.ask(
            own,
            ToLeader::Write(Write {
                resource,
                operation: Operation::Record,
                generation,
                token,
                seq,
                read_version: seq - 1,
                client: NodeId(100),
                number: seq,
                payload: None,
            }),
        );
        self.acknowledged(own, resource, seq)
    }

    fn acknowledged(&self, own: usize, resource: Resource, seq: u64) -> bool {
        let is_it = |(at, message): &(usize, ToLeader)| {
            matches!(message, ToLeader::Written { resource: of, seq: number, verdict: WriteVerdict::Ok, .. }
                if *at == own && *of == resource && *number == seq)
        };
        self.answers.iter().any(is_it)
    }

    /// The number that a leader tells without asking anybody.
    fn read(&mut self, own: usize) -> Option<u64> {
        let Incarnation { token, generation, .. } = self.by(own);
        let request = RequestId { client: NodeId(101), number: 1 };
        let before = self.answers.len();
        let ask = ToLeader::ReadStore { resource: RESOURCE, request, generation, token };
        self.step(own, |copy, _, out| copy.asked(ask, out));
        let told = self.answers[before..].iter().find_map(|(_, message)| match message {
            ToLeader::StoreIs { verdict: WriteVerdict::Ok, seq, .. } => Some(*seq),
            _ => None,
        });
        self.under_way.clear();
        told
    }
}

/// Cuts the first leader off, has the second one lead and write number 2, and lets `ms` pass. Returns for how long the
/// first leader answered, and when number 2 was acknowledged.
fn replaced(bench: &mut Bench, ms: u64) -> (u64, Option<u64>) {
    let (mut answered, mut acknowledged) = (0, None);
    bench.cut = Some(FIRST);
    bench.lead(SECOND, 2);
    bench.write(SECOND, RESOURCE, 2);
    let from_ms = bench.now_ms;
    for _ in 0..ms {
        bench.pass();
        let since = bench.now_ms - from_ms;
        if bench.read(FIRST) == Some(1) {
            answered = since;
        }
        if acknowledged.is_none() && bench.acknowledged(SECOND, RESOURCE, 2) {
            acknowledged = Some(since);
        }
    }
    (answered, acknowledged)
}

#[test]
fn a_new_leader_commits_nothing_while_the_former_one_may_answer_reads() {
    // Both clocks are at most as wrong as declared, in either direction.
    for (first, second) in [(0, 0), (-BOUND_MS, BOUND_MS), (BOUND_MS, -BOUND_MS), (BOUND_MS, BOUND_MS)] {
        let mut bench = Bench::new([first, second, 0], &Bugs::default());
        bench.lead(FIRST, 1);
        assert!(bench.write(FIRST, RESOURCE, 1));
        let (answered, acknowledged) = replaced(&mut bench, 200);
        let acknowledged = acknowledged.expect("the wait ends");
        let name = format!("clocks off by {first} and {second}: answered for {answered}, from {acknowledged} on");
        assert!(answered < acknowledged, "{name}");
        // Both intervals are as wide as the bound twice over, and the entries were made at the start.
        assert_eq!(answered, LEASE_MS - 2 * BOUND_MS as u64 - 1, "{name}");
        assert_eq!(acknowledged as i64, LEASE_MS as i64 + 2 * BOUND_MS + first - second + 1, "{name}");
    }
}

#[test]
fn clocks_worse_than_declared_are_unsafe() {
    let worse = 2 * BOUND_MS + 1;
    let mut bench = Bench::new([-worse, worse, 0], &Bugs::default());
    bench.lead(FIRST, 1);
    assert!(bench.write(FIRST, RESOURCE, 1));
    let (answered, acknowledged) = replaced(&mut bench, 200);
    assert!(acknowledged.is_some_and(|at| at <= answered), "{answered}, {acknowledged:?}");
}

#[test]
fn a_new_leader_answers_reads_at_once_and_alike() {
    let mut bench = Bench::led();
    bench.cut = Some(FIRST);
    bench.lead(SECOND, 2);
    assert!(!bench.write(SECOND, RESOURCE, 2), "that waits");
    assert_eq!((bench.read(FIRST), bench.read(SECOND)), (Some(1), Some(1)));
    // Its own write is beyond the commit index, and not in the limbo region.
    (0..200).for_each(|_| bench.pass());
    assert_eq!((bench.read(FIRST), bench.read(SECOND)), (None, Some(2)));
}

#[test]
fn nothing_is_read_that_the_former_leader_may_have_changed() {
    for (resource, read) in [(RESOURCE, None), (OTHER, Some(1))] {
        let mut bench = Bench::led();
        // The others have the entry, and hear nothing of its commit.
        let own = NodeId(FIRST as u16);
        let Incarnation { token, generation, .. } = bench.by(FIRST);
        let seq = if resource == RESOURCE { 2 } else { 1 };
        let write = ToLeader::Write(Write {
            resource,
            operation: Operation::Record,
            generation,
            token,
            seq,
            read_version: seq - 1,
            client: NodeId(100),
            number: 9,
            payload: None,
        });
        bench.step(FIRST, |copy, _, out| copy.asked(write, out));
        let streams: Vec<_> = bench.under_way.drain(..).collect();
        for (_, to, message) in streams {
            bench.step(to, |copy, standing, out| copy.told(own, message, standing, out));
        }
        let answers: Vec<_> = bench.under_way.drain(..).collect();
        for (from, _, message) in answers {
            bench.step(FIRST, |copy, standing, out| copy.told(NodeId(from as u16), message, standing, out));
        }
        bench.under_way.clear();
        assert!(bench.acknowledged(FIRST, resource, seq), "the former leader has committed it");
        bench.cut = Some(FIRST);
        bench.lead(SECOND, 2);
        assert_eq!(bench.read(SECOND), read, "{resource:?} is in the limbo region");
        assert_eq!(bench.read(FIRST), Some(if resource == RESOURCE { 2 } else { 1 }));
    }
}

#[test]
fn a_new_leader_that_has_forgotten_the_commit_index_inherits_nothing() {
    let mut bench = Bench::led();
    bench.copies[SECOND] = copy(SECOND as u16, &bench.disks[SECOND], &Bugs::default());
    bench.cut = Some(FIRST);
    bench.lead(SECOND, 2);
    assert_eq!((bench.read(FIRST), bench.read(SECOND)), (Some(1), None));
}

#[test]
fn an_idle_leader_keeps_its_lease() {
    let mut bench = Bench::led();
    for _ in 0..10 * LEASE_MS {
        bench.pass();
        assert_eq!(bench.read(FIRST), Some(1), "after {} ms", bench.now_ms);
    }
    bench.cut = Some(FIRST);
    (0..LEASE_MS).for_each(|_| bench.pass());
    assert_eq!(bench.read(FIRST), None, "entries without a majority give no lease");
}

#[test]
fn a_successor_waits_for_the_lease_that_the_entry_gives() {
    for bug in [false, true] {
        let bugs = Bugs::new([&UNEQUAL_LEASES].into_iter().filter(|_| bug));
        let mut bench = Bench::new([0; 3], &bugs);
        if !bug {
            // The same configuration, without the mistake in the log.
            let lease = LONGER.1 * LEASE_MS * MILLISECOND;
            let longer = Guard::new(NodeId(0), lease, BOUND_MS as u64 * MILLISECOND, true, &bugs);
            let disk = bench.disks[FIRST].clone();
            bench.copies[FIRST] = Replica::new(NodeId(0), 3, Copies::Majority, disk, Arc::default(), Some(longer));
        }
        bench.lead(FIRST, 1);
        assert!(bench.write(FIRST, RESOURCE, 1));
        let (answered, acknowledged) = replaced(&mut bench, 2 * LONGER.1 * LEASE_MS);
        let overlaps = acknowledged.is_some_and(|at| at <= answered);
        assert_eq!(overlaps, bug, "answered for {answered}, acknowledged after {acknowledged:?}");
    }
}

#[test]
fn fleets_of_copies_keep_their_laws() {
    crate::copies::drill::drill();
}
