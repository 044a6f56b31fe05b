//! Disks: one folder of files per process. Appended bytes survive a crash of the process at once, and a power loss once
//! synced; any part of the rest may be lost, and the last write may be torn.
//!
//! A failed sync is worse than none (PostgreSQL's "fsyncgate", 2018; Rebello et al., "Can Applications Recover from
//! fsync Failures?", USENIX ATC 2020): the kernel marks the unwritten data as clean. A reader may still see it, or
//! already find a hole; a later sync succeeds without it; after a power loss it is a hole.
//!
//! A disk that fails silently is worse still: it acknowledges syncs and keeps the data in a cache that a power loss
//! empties (Rajimwale et al., "Coerced Cache Eviction and Discreet Mode Journaling", DSN 2011). No voter survives that;
//! plans with it show that power losses really lose data.

mod copy;
pub mod program;
mod tree;

use super::{World, queue::Event};
use protocols::{
    core::Input,
    group::named,
    types::{MICROSECOND, NodeId},
};
use protocols_clients::env::Disk;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::{Future, poll_fn},
    io,
    ops::Range,
    task::{Poll, Waker},
};
use tree::{Change, Tree};

/// The shortest time of a sync, in nanoseconds: a solid-state disk with its own cache.
const SYNC_MIN: u64 = 300 * MICROSECOND;
/// The most that a sync takes longer, in nanoseconds.
const SYNC_JITTER: u64 = 400 * MICROSECOND;

/// Input/output error.
const EIO: i32 = 5;

/// The contents that survive a power loss, by file name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One process's disk.
pub struct Folder {
    files: BTreeMap<String, File>,
    /// Operations in progress, in the order in which the disk performs them.
    under_way: VecDeque<Operation>,
    numbers: u64,
    /// All operations up to this number are finished.
    done: u64,
    free_at: u64,
    /// The extra time per sync from `SlowDisk` faults, in nanoseconds.
    extra: u64,
    /// The number of active `SyncHang` faults.
    hangs: u32,
    /// The number of active `SyncFail` faults that report failures.
    failing: u32,
    /// The number of active `SyncFail` faults that are silent.
    lying: u32,
    /// Failed operations that their tasks have not been told of yet.
    failed: BTreeSet<u64>,
    /// Whether another disk has taken its place.
    replaced: bool,
    random: ChaCha8Rng,
    waiting: Vec<Waker>,
    /// The files of an unmodified program.
    tree: Option<Tree>,
}

#[derive(Default)]
struct File {
    content: Vec<u8>,
    /// How many bytes survive a power loss, apart from the holes.
    durable: usize,
    /// The ranges that failed syncs did not write.
    holes: Vec<Range<usize>>,
    /// The content after a power loss, if the disk lied; the inner `None` means no file.
    behind: Option<Option<Vec<u8>>>,
}

impl File {
    /// Bytes never written read as zeros.
    fn lose(&mut self, hole: &Range<usize>) {
        let end = hole.end.min(self.content.len());
        self.content[hole.start.min(end)..end].fill(0);
    }
}

struct Operation {
    number: u64,
    file: String,
    what: What,
    /// Whether a core waits for it, instead of a task.
    for_core: bool,
    starts: u32,
}

enum What {
    /// Makes this many bytes durable.
    Sync(usize),
    Replace(Vec<u8>),
    /// A program's own sync; taken when it ends.
    Program(Option<Change>),
}

impl Folder {
    /// An empty disk.
    pub fn new(random: ChaCha8Rng) -> Self {
        Folder {
            files: BTreeMap::new(),
            under_way: VecDeque::new(),
            numbers: 0,
            done: 0,
            free_at: 0,
            extra: 0,
            hangs: 0,
            failing: 0,
            lying: 0,
            failed: BTreeSet::new(),
            replaced: false,
            random,
            waiting: Vec::new(),
            tree: None,
        }
    }

    /// Adds to, or subtracts from, the time of a sync, in nanoseconds.
    pub fn slow(&mut self, extra: u64, on: bool) {
        self.extra = if on { self.extra + extra } else { self.extra.saturating_sub(extra) };
    }

    /// No operation finishes from now on.
    pub fn hang(&mut self) {
        self.hangs += 1;
    }

    /// A hang ends at `now`. Returns the waiting operations with the times at which they will finish; none while
    /// another hang is active.
    fn end_hang(&mut self, now: u64) -> Vec<(u64, u64)> {
        self.hangs = self.hangs.saturating_sub(1);
        if self.hangs > 0 {
            return Vec::new();
        }
        self.free_at = now;
        let numbers: Vec<u64> = self.under_way.iter().map(|operation| operation.number).collect();
        numbers.into_iter().map(|number| (number, self.book(now))).collect()
    }

    /// Syncs fail from now on, silently or not; or such a fault ends.
    pub fn fail_syncs(&mut self, silent: bool, on: bool) {
        let faults = if silent { &mut self.lying } else { &mut self.failing };
        *faults = if on { *faults + 1 } else { faults.saturating_sub(1) };
    }

    pub fn read(&self, file: &str) -> Option<Vec<u8>> {
        self.files.get(file).map(|f| f.content.clone())
    }

    fn append(&mut self, file: &str, bytes: &[u8]) {
        self.files.entry(file.to_owned()).or_default().content.extend_from_slice(bytes);
    }

    /// Begins an operation at `now`; returns its number, and when it will finish.
    fn begin(&mut self, now: u64, file: &str, what: What, for_core: bool, starts: u32) -> (u64, u64) {
        let at = self.book(now);
        self.numbers += 1;
        let number = self.numbers;
        self.under_way.push_back(Operation { number, file: file.to_owned(), what, for_core, starts });
        (number, at)
    }

    /// Books the disk for one more operation; returns when that finishes.
    fn book(&mut self, now: u64) -> u64 {
        let takes = SYNC_MIN + ((u64::from(self.random.next_u32()) * SYNC_JITTER) >> 32) + self.extra;
        self.free_at = self.free_at.max(now) + takes;
        self.free_at
    }

    /// Finishes the oldest operation; returns it, and whether it succeeded. `None` while the disk hangs.
    fn finish(&mut self) -> Option<(Operation, bool)> {
        if self.hangs > 0 {
            return None;
        }
        let mut operation = self.under_way.pop_front()?;
        self.done = operation.number;
        let done = self.failing == 0;
        if done {
            self.carry_out(&mut operation);
        } else {
            self.fail(&mut operation);
        }
        Some((operation, done))
    }

    /// A failed sync leaves its data clean for the kernel but not on disk, and perhaps no longer in memory. A failed
    /// replacement has no effect.
    fn fail(&mut self, operation: &mut Operation) {
        if !operation.for_core {
            self.failed.insert(operation.number);
        }
        if let What::Program(change) = &mut operation.what {
            return self.end_sync(change.take(), true);
        }
        let What::Sync(length) = operation.what else { return };
        let Some(file) = self.files.get_mut(&operation.file) else { return };
        let hole = file.durable..length.min(file.content.len());
        if hole.is_empty() {
            return;
        }
        if self.random.next_u32() & 1 == 0 {
            file.lose(&hole);
        }
        file.holes.push(hole);
    }

    /// Takes the failure of an operation, if it failed.
    fn take_failure(&mut self, number: u64) -> bool {
        self.failed.remove(&number)
    }

    /// Performs an operation; a lying disk only acknowledges syncs.
    fn carry_out(&mut self, operation: &mut Operation) {
        if let What::Program(change) = &mut operation.what {
            return self.end_sync(change.take(), false);
        }
        let lies = self.lying > 0;
        let saved = |file: &File| file.content[..file.durable].to_vec();
        let before = if lies { self.files.get(&operation.file).map(saved) } else { None };
        let file = self.files.entry(operation.file.clone()).or_default();
        match &operation.what {
            What::Program(_) => {}
            What::Sync(_) if lies => drop(file.behind.get_or_insert(before)),
            What::Sync(length) => {
                file.durable = file.durable.max((*length).min(file.content.len()));
                file.behind = None;
            }
            What::Replace(bytes) => {
                let behind = lies.then(|| file.behind.take().unwrap_or(before));
                *file = File { content: bytes.clone(), durable: bytes.len(), holes: Vec::new(), behind };
            }
        }
    }

    /// The process has died. Syncs that it requested still happen, but it replaces no more files; a replacement in
    /// progress may just have happened.
    pub fn lose_process(&mut self) {
        let mut going_on = VecDeque::new();
        while let Some(mut operation) = self.under_way.pop_front() {
            let replaces = matches!(operation.what, What::Replace(_));
            if replaces {
                protocols::mark!("world: a crash falls into the replacing of a file");
            }
            if !replaces {
                going_on.push_back(operation);
            } else if self.random.next_u32() & 1 == 0 && self.hangs + self.failing == 0 {
                self.carry_out(&mut operation);
            }
        }
        self.under_way = going_on;
    }

    /// Power is lost: of data not yet durable, a random part remains; of a file being replaced, the old or the new
    /// content.
    pub fn lose_power(&mut self) {
        while let Some(mut operation) = self.under_way.pop_front() {
            // An operation in progress may have finished unreported; if not, neither have those after it.
            if self.random.next_u32() & 1 == 0 || self.hangs + self.failing > 0 {
                protocols::mark!("world: a loss of power falls into a sync");
                self.under_way.clear();
                break;
            }
            self.carry_out(&mut operation);
        }
        self.done = self.numbers;
        self.free_at = 0;
        self.lose_tree();
        let random = &mut self.random;
        self.files.retain(|_, file| match file.behind.take() {
            None => true,
            Some(None) => false,
            Some(Some(old)) => {
                *file = File { durable: old.len(), content: old, ..File::default() };
                true
            }
        });
        for file in self.files.values_mut() {
            let loose = file.content.len() - file.durable;
            if loose > 0 {
                protocols::mark!("world: a loss of power takes bytes that were not synced");
                let kept = (u64::from(random.next_u32()) * (loose as u64 + 1)) >> 32;
                file.content.truncate(file.durable + kept as usize);
                file.durable = file.content.len();
            }
            for hole in std::mem::take(&mut file.holes) {
                file.lose(&hole);
            }
        }
    }
}

impl World {
    /// Makes a core's state durable.
    pub(super) fn persist(&mut self, node: NodeId, state: Vec<u8>) {
        self.begin_on_disk(node, protocols_clients::task_driver::STATE, What::Replace(state), true);
    }

    fn begin_on_disk(&mut self, node: NodeId, file: &str, what: What, for_core: bool) -> u64 {
        let now = self.now;
        let starts = self.processes[node.index()].starts;
        let (number, at) = self.disks.of(node).begin(now, file, what, for_core, starts);
        self.queue.push(at, Event::Disk { node, number });
        number
    }

    /// An operation finishes, unless power was lost meanwhile.
    pub(super) fn finish_on_disk(&mut self, node: NodeId, number: u64) {
        let disk = self.disks.of(node);
        if disk.under_way.front().is_none_or(|o| o.number != number) {
            return;
        }
        let Some((operation, done)) = disk.finish() else { return };
        let wakers = std::mem::take(&mut disk.waiting);
        let process = &self.processes[node.index()];
        let told = process.up && process.starts == operation.starts;
        self.trace.note(self.now, [0x26 | u64::from(node.0) << 8, number, 0], || format!("disk {node:?} {number}"));
        for waker in wakers {
            self.wake(Some(waker));
        }
        match (operation.for_core && told, done) {
            (true, true) => self.deliver(node, Input::Persisted),
            // As in the task driver, the process cannot continue.
            (true, false) => self.crash(node),
            (false, _) => {}
        }
    }

    /// A hang of a disk ends: waiting operations are performed now.
    pub(super) fn end_hang(&mut self, node: NodeId) {
        let now = self.now;
        for (number, at) in self.disks.of(node).end_hang(now) {
            self.queue.push(at, Event::Disk { node, number });
        }
    }
}

/// A process's disk, as seen by the tasks of one group. The first group's files have their plain names.
#[derive(Clone, Copy, Debug)]
pub struct SimDisk {
    pub(super) node: NodeId,
    pub(super) group: u16,
}

impl SimDisk {
    fn begin(self, file: &str, what: impl FnOnce(&Folder) -> What) -> impl Future<Output = io::Result<()>> + Send {
        let number = super::with(|world| {
            let what = what(world.disks.of(self.node));
            world.begin_on_disk(self.node, file, what, false)
        });
        poll_fn(move |context| {
            super::with(|world| {
                let (up, disk) = (world.processes[self.node.index()].up, world.disks.of(self.node));
                // A dead process is told nothing.
                if disk.done >= number && up {
                    let failed = disk.take_failure(number);
                    return Poll::Ready(if failed { Err(io::Error::from_raw_os_error(EIO)) } else { Ok(()) });
                }
                if !disk.waiting.iter().any(|w| w.will_wake(context.waker())) {
                    disk.waiting.push(context.waker().clone());
                }
                Poll::Pending
            })
        })
    }
}

impl Disk for SimDisk {
    async fn read(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(super::with(|world| world.disks.of(self.node).read(&named(file, self.group))))
    }

    async fn append(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        super::with(|world| world.disks.of(self.node).append(&named(file, self.group), &bytes));
        Ok(())
    }

    async fn sync(&self, file: &str) -> io::Result<()> {
        let file = named(file, self.group);
        self.begin(&file, |disk| What::Sync(disk.files.get(&file).map_or(0, |f| f.content.len()))).await
    }

    async fn replace(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.begin(&named(file, self.group), |_| What::Replace(bytes)).await
    }
}

#[cfg(test)]
mod tests;
