//! A Raft node's journal: its contents, what a loss of power may take, and openraft's own test suite for logs and state
//! machines run on it.

use openraft::{
    EntryPayload, Membership,
    testing::log::{StoreBuilder, Suite},
};
use proptest::prelude::*;
use protocols_clients::{
    env::{Disk, tokio::TokioEnv},
    raft::{
        journal::{FILE, Journal, Record, State, encode, replay},
        runtime::{Runtime, Scope},
        store::{Log, Machine},
        wire::{Entry, LogId, SnapshotMeta, Types, Vote},
    },
};
use std::{
    future::Future,
    io,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

/// A disk in memory, which never blocks. After `fails_after` writes it refuses more.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    replaced: usize,
    fails_after: Option<usize>,
}

impl Inner {
    fn may_write(&mut self) -> io::Result<()> {
        match &mut self.fails_after {
            Some(0) => Err(io::Error::other("the disk is full")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Memory {
    fn holding(bytes: &[u8]) -> Memory {
        Memory(Arc::new(Mutex::new(Inner { bytes: bytes.to_vec(), ..Inner::default() })))
    }
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }
}

impl Disk for Memory {
    async fn read(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        assert_eq!(file, FILE);
        Ok(Some(self.bytes()).filter(|bytes| !bytes.is_empty()))
    }
    async fn append(&self, _: &str, bytes: Vec<u8>) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.may_write()?;
        inner.bytes.extend(bytes);
        Ok(())
    }
    async fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    async fn replace(&self, _: &str, bytes: Vec<u8>) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.may_write()?;
        (inner.bytes, inner.replaced) = (bytes, inner.replaced + 1);
        Ok(())
    }
}

/// Runs a future that is ready at once, as with a disk in memory.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a disk in memory is always ready"),
    }
}

fn open(disk: &Memory) -> Journal<Memory> {
    now(Journal::open(disk.clone())).unwrap()
}

fn id(term: u64, index: u64) -> LogId {
    LogId { leader_id: serde_json::from_str(&term.to_string()).unwrap(), index }
}

fn entry(term: u64, index: u64) -> Entry {
    let payload = match index % 3 {
        0 => EntryPayload::Membership(Membership::new_with_defaults(vec![[1, 2, index].into()], [])),
        _ => EntryPayload::Blank,
    };
    Entry { log_id: id(term, index), payload }
}

/// Some records of every kind.
fn records() -> Vec<Record> {
    let snapshot = SnapshotMeta { last_log_id: Some(id(1, 1)), ..SnapshotMeta::default() };
    vec![
        Record::Vote(Vote::new(1, 2)),
        Record::Entry(entry(1, 0)),
        Record::Entry(entry(1, 1)),
        Record::Entry(entry(1, 2)),
        Record::Committed(Some(id(1, 1))),
        Record::Vote(Vote::new_committed(2, 3)),
        Record::TruncateAfter(Some(id(1, 1))),
        Record::Entry(entry(2, 2)),
        Record::Snapshot(snapshot),
        Record::Purge(id(1, 1)),
        Record::Entry(entry(2, 3)),
    ]
}

/// The state after each prefix of the records, and the file's length at that point.
fn prefixes(records: &[Record]) -> Vec<(State, usize)> {
    let mut states = vec![(State::default(), 0)];
    for record in records {
        let (mut state, at) = states.last().cloned().unwrap();
        state.apply(record.clone());
        let length = encode(std::slice::from_ref(record)).unwrap().len();
        states.push((state, at + length));
    }
    states
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let disk = Memory::default();
    let journal = open(&disk);
    now(journal.write(records(), true)).unwrap();
    let before = journal.state().clone();
    assert_eq!(before.last(), Some(id(2, 3)));
    assert_eq!(before.log.keys().copied().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(*open(&disk).state(), before);
}

#[test]
fn a_torn_tail_is_cut_wherever_it_is_torn() {
    let (bytes, states) = (encode(&records()).unwrap(), prefixes(&records()));
    for cut in 0..=bytes.len() {
        let (state, whole) = states.iter().rev().find(|(_, at)| *at <= cut).unwrap();
        let disk = Memory::holding(&bytes[..cut]);
        let journal = open(&disk);
        assert_eq!(*journal.state(), *state, "torn at {cut}");
        assert_eq!(disk.bytes(), bytes[..*whole], "torn at {cut}");
        // Writing continues after the cut.
        now(journal.write(vec![Record::Vote(Vote::new(9, 1))], true)).unwrap();
        assert_eq!(open(&disk).state().vote, Some(Vote::new(9, 1)), "torn at {cut}");
    }
}

#[test]
fn a_changed_byte_ends_the_file_before_its_record() {
    let (bytes, states) = (encode(&records()).unwrap(), prefixes(&records()));
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        let (state, whole) = states.iter().rev().find(|(_, at)| *at <= place).unwrap();
        assert_eq!(replay(&damaged), (state.clone(), *whole), "byte {place}");
    }
}

#[test]
fn a_file_that_is_mostly_past_is_written_anew() {
    let disk = Memory::default();
    let journal = open(&disk);
    for term in 1..=5_000 {
        now(journal.write(vec![Record::Vote(Vote::new(term, 1)), Record::Entry(entry(term, 7))], true)).unwrap();
    }
    let replaced = disk.0.lock().unwrap().replaced;
    assert!(replaced > 1 && disk.bytes().len() < 64 << 10, "{replaced} times, {} bytes", disk.bytes().len());
    let state = open(&disk).state().clone();
    assert_eq!((state.vote, state.last()), (Some(Vote::new(5_000, 1)), Some(id(5_000, 7))));
}

#[test]
fn nothing_is_written_after_a_write_that_failed() {
    let disk = Memory::default();
    let journal = open(&disk);
    now(journal.write(vec![Record::Vote(Vote::new(1, 1))], true)).unwrap();
    disk.0.lock().unwrap().fails_after = Some(0);
    assert!(now(journal.write(vec![Record::Vote(Vote::new(2, 1))], true)).is_err());
    disk.0.lock().unwrap().fails_after = None;
    // All or part of it might be in the file.
    assert!(now(journal.write(vec![Record::Vote(Vote::new(3, 1))], true)).is_err());
    assert_eq!(journal.state().vote, Some(Vote::new(1, 1)));
    assert_eq!(open(&disk).state().vote, Some(Vote::new(1, 1)));
}

fn any_record() -> impl Strategy<Value = Record> {
    let (term, index) = (0_u64..4, 0_u64..8);
    (0..6, term, index).prop_map(|(kind, term, index)| match kind {
        0 => Record::Vote(Vote::new(term, index)),
        1 => Record::Committed(Some(id(term, index)).filter(|_| index > 0)),
        2 => Record::TruncateAfter(Some(id(term, index)).filter(|_| index > 0)),
        3 => Record::Purge(id(term, index)),
        4 => Record::Snapshot(SnapshotMeta { last_log_id: Some(id(term, index)), ..SnapshotMeta::default() }),
        _ => Record::Entry(entry(term, index)),
    })
}

proptest! {
    /// Whatever is written, and wherever the file is torn, replay yields the state after a whole number of records.
    #[test]
    fn any_file_torn_anywhere_is_a_state_that_was(records in prop::collection::vec(any_record(), 0..30), cut in 0.0..=1.0) {
        let (bytes, states) = (encode(&records).unwrap(), prefixes(&records));
        let cut = (bytes.len() as f64 * cut) as usize;
        let (state, whole) = states.iter().rev().find(|(_, at)| *at <= cut).unwrap();
        prop_assert_eq!(replay(&bytes[..cut]), (state.clone(), *whole));
    }

    /// A compacted file holds the same state.
    #[test]
    fn a_compact_file_holds_the_same(records in prop::collection::vec(any_record(), 0..30)) {
        let (state, _) = prefixes(&records).pop().unwrap();
        let (again, _) = replay(&encode(&state.records()).unwrap());
        // A commit known to be empty equals one that is unknown.
        prop_assert_eq!(again, state);
    }

    /// Random bytes hold no record.
    #[test]
    fn garbage_is_no_record(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_, whole) = replay(&bytes);
        prop_assert_eq!(whole, 0);
    }
}

struct Builder;

impl StoreBuilder<Types, Log<Memory>, Machine> for Builder {
    async fn build(&self) -> Result<((), Log<Memory>, Machine), openraft::StorageError<Types>> {
        let journal = Arc::new(Journal::open(Memory::default()).await.expect("an empty disk can be read"));
        Ok(((), Log::new(journal.clone(), Arc::new(TokioEnv::new(1))), Machine::new(journal)))
    }
}

#[test]
fn openrafts_own_suite_passes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let _tasks_run_there = runtime.enter();
    Scope::new(TokioEnv::new(1)).enter(|| {
        let suite = Suite::<Types, Log<Memory>, Machine, Builder, ()>::test_all(Builder);
        openraft::AsyncRuntime::block_on(&mut Runtime, suite).unwrap();
    });
}
