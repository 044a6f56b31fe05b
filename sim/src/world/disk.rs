//! Disks: a folder of files per process. What was appended is safe from a crash of the process at once, and from a loss of
//! power when it was synced; any part of the rest may be lost, and the last write may be torn.
//!
//! A sync that fails is worse than none (PostgreSQL's "fsyncgate", 2018; Rebello et al., "Can Applications Recover from
//! fsync Failures?", USENIX ATC 2020): the kernel takes what it could not write for written. Whoever reads it may still see
//! it, or find a hole already; a later sync succeeds without it; after a loss of power it is a hole.
//!
//! A disk that fails silently is worse still: it acknowledges a sync, and has everything in a cache that a loss of power empties
//! (Rajimwale et al., "Coerced Cache Eviction and Discreet Mode Journaling", DSN 2011). No voter survives that; plans with it
//! show that a loss of power takes something away.

mod copy;

use super::{World, queue::Event};
use protocols::{
    core::Input,
    group::named,
    types::{MICROSECOND, NodeId},
};
use protocols_clients::env::Disk;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenarios::streams;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::{Future, poll_fn},
    io,
    ops::Range,
    task::{Poll, Waker},
};

/// A sync takes at least this long, nanoseconds: a solid-state disk with a cache of its own.
const SYNC_MIN: u64 = 300 * MICROSECOND;
/// And up to so much longer.
const SYNC_JITTER: u64 = 400 * MICROSECOND;

/// Input/output error.
const EIO: i32 = 5;

/// What survives a loss of power, by its file's name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One process's disk.
pub struct Folder {
    files: BTreeMap<String, File>,
    /// What is under way, in the order in which the disk does it.
    under_way: VecDeque<Operation>,
    numbers: u64,
    /// The number up to which everything is done.
    done: u64,
    free_at: u64,
    /// Extra time for each sync by `SlowDisk` faults, nanoseconds.
    extra: u64,
    /// How many `SyncHang` faults lie over it.
    hangs: u32,
    /// How many `SyncFail` faults lie over it that it tells of.
    failing: u32,
    /// And how many that it keeps to itself.
    lying: u32,
    /// Operations that failed, of which their tasks were not told yet.
    failed: BTreeSet<u64>,
    /// Another disk is in its place.
    replaced: bool,
    random: ChaCha8Rng,
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct File {
    content: Vec<u8>,
    /// So many bytes of it survive a loss of power, but for the holes.
    durable: usize,
    /// What syncs have failed to write.
    holes: Vec<Range<usize>>,
    /// What is left of it after a loss of power, since the disk lied; `None` in it: no such file.
    behind: Option<Option<Vec<u8>>>,
}

impl File {
    /// What was never written is nothing but zeros.
    fn lose(&mut self, hole: &Range<usize>) {
        let end = hole.end.min(self.content.len());
        self.content[hole.start.min(end)..end].fill(0);
    }
}

struct Operation {
    number: u64,
    file: String,
    what: What,
    /// A core waits for it, not a task.
    for_core: bool,
    starts: u32,
}

enum What {
    /// So many bytes become durable.
    Sync(usize),
    Replace(Vec<u8>),
}

impl Folder {
    /// The empty disk of the process of that name.
    pub fn new(seed: u64, name: &str) -> Self {
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
            random: streams::stream(seed, &format!("disk/{name}")),
            waiting: Vec::new(),
        }
    }

    /// Adds to, or takes away from, the time that a sync takes; nanoseconds.
    pub fn slow(&mut self, extra: u64, on: bool) {
        self.extra = if on { self.extra + extra } else { self.extra.saturating_sub(extra) };
    }

    /// From now on no operation ends.
    pub fn hang(&mut self) {
        self.hangs += 1;
    }

    /// A hang is over at `now`. Gives the operations that were waiting, each with the time at which it will be done; none
    /// while another hang lies over the disk.
    fn end_hang(&mut self, now: u64) -> Vec<(u64, u64)> {
        self.hangs = self.hangs.saturating_sub(1);
        if self.hangs > 0 {
            return Vec::new();
        }
        self.free_at = now;
        let numbers: Vec<u64> = self.under_way.iter().map(|operation| operation.number).collect();
        numbers.into_iter().map(|number| (number, self.next_free(now))).collect()
    }

    /// From now on syncs fail, silently or not, or do so no more.
    pub fn fail_syncs(&mut self, silent: bool, on: bool) {
        let faults = if silent { &mut self.lying } else { &mut self.failing };
        *faults = if on { *faults + 1 } else { faults.saturating_sub(1) };
    }

    /// A file's content.
    pub fn read(&self, file: &str) -> Option<Vec<u8>> {
        self.files.get(file).map(|f| f.content.clone())
    }

    fn append(&mut self, file: &str, bytes: &[u8]) {
        self.files.entry(file.to_owned()).or_default().content.extend_from_slice(bytes);
    }

    /// Begins an operation at `now`: its number, and when it will be done.
    fn begin(&mut self, now: u64, file: &str, what: What, for_core: bool, starts: u32) -> (u64, u64) {
        let at = self.next_free(now);
        self.numbers += 1;
        let number = self.numbers;
        self.under_way.push_back(Operation { number, file: file.to_owned(), what, for_core, starts });
        (number, at)
    }

    /// When one more operation will be done.
    fn next_free(&mut self, now: u64) -> u64 {
        let takes = SYNC_MIN + ((u64::from(self.random.next_u32()) * SYNC_JITTER) >> 32) + self.extra;
        self.free_at = self.free_at.max(now) + takes;
        self.free_at
    }

    /// The oldest operation is over: it, and whether it was done. `None` while the disk hangs.
    fn finish(&mut self) -> Option<(Operation, bool)> {
        if self.hangs > 0 {
            return None;
        }
        let operation = self.under_way.pop_front()?;
        self.done = operation.number;
        let done = self.failing == 0;
        if done {
            self.carry_out(&operation);
        } else {
            self.fail(&operation);
        }
        Some((operation, done))
    }

    /// What a sync was to save is clean for the kernel and not on the disk; perhaps not in memory any more, either. What was
    /// to be put in a file's place is forgotten.
    fn fail(&mut self, operation: &Operation) {
        if !operation.for_core {
            self.failed.insert(operation.number);
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

    /// Did that operation fail? Tells it once.
    fn has_failed(&mut self, number: u64) -> bool {
        self.failed.remove(&number)
    }

    /// Does what was asked for, or says so.
    fn carry_out(&mut self, operation: &Operation) {
        let lies = self.lying > 0;
        let saved = |file: &File| file.content[..file.durable].to_vec();
        let before = if lies { self.files.get(&operation.file).map(saved) } else { None };
        let file = self.files.entry(operation.file.clone()).or_default();
        match &operation.what {
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

    /// The process has died: what it asked the kernel to sync is synced, but it puts nothing in another's place any more.
    /// What it was about to replace it may have replaced just now.
    pub fn lose_process(&mut self) {
        let mut going_on = VecDeque::new();
        while let Some(operation) = self.under_way.pop_front() {
            let replaces = matches!(operation.what, What::Replace(_));
            if replaces {
                protocols::mark!(WorldReplaceLost);
            }
            if !replaces {
                going_on.push_back(operation);
            } else if self.random.next_u32() & 1 == 0 && self.hangs + self.failing == 0 {
                self.carry_out(&operation);
            }
        }
        self.under_way = going_on;
    }

    /// Power is gone: of what was not durable, a random part is left; of what was being replaced, the old or the new.
    pub fn lose_power(&mut self) {
        while let Some(operation) = self.under_way.pop_front() {
            // What was under way may have been done without anybody being told; if not, neither was all after it.
            if self.random.next_u32() & 1 == 0 || self.hangs + self.failing > 0 {
                protocols::mark!(WorldSyncLost);
                self.under_way.clear();
                break;
            }
            self.carry_out(&operation);
        }
        self.done = self.numbers;
        self.free_at = 0;
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
                protocols::mark!(WorldUnsynced);
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
    /// A core wants its state made durable.
    pub(super) fn persist(&mut self, node: NodeId, state: Vec<u8>) {
        self.begin_on_disk(node, protocols_clients::task_driver::STATE, What::Replace(state), true);
    }

    fn begin_on_disk(&mut self, node: NodeId, file: &str, what: What, for_core: bool) -> u64 {
        let now = self.now;
        let process = &mut self.processes[node.index()];
        let (number, at) = process.disk.begin(now, file, what, for_core, process.starts);
        self.queue.push(at, Event::Disk { node, number });
        number
    }

    /// An operation is done, unless power was lost meanwhile.
    pub(super) fn disk_is_done(&mut self, node: NodeId, number: u64) {
        let process = &mut self.processes[node.index()];
        if process.disk.under_way.front().is_none_or(|o| o.number != number) {
            return;
        }
        let Some((operation, done)) = process.disk.finish() else { return };
        let told = process.up && process.starts == operation.starts;
        let wakers = std::mem::take(&mut process.disk.waiting);
        self.trace.note(self.now, [0x26 | u64::from(node.0) << 8, number, 0], || format!("disk {node:?} {number}"));
        for waker in wakers {
            self.wake(Some(waker));
        }
        match (operation.for_core && told, done) {
            (true, true) => self.deliver(node, Input::Persisted),
            // As the task driver has it: the process cannot go on.
            (true, false) => self.crash(node),
            (false, _) => {}
        }
    }

    /// A hang of a disk is over: what was asked of it is done now.
    pub(super) fn end_hang(&mut self, node: NodeId) {
        let now = self.now;
        for (number, at) in self.processes[node.index()].disk.end_hang(now) {
            self.queue.push(at, Event::Disk { node, number });
        }
    }
}

/// A process's disk, as the tasks see it that it runs for a group. The files of the first have their plain names.
#[derive(Clone, Copy, Debug)]
pub struct SimDisk {
    pub(super) node: NodeId,
    pub(super) group: u16,
}

impl SimDisk {
    fn begin(self, file: &str, what: impl FnOnce(&Folder) -> What) -> impl Future<Output = io::Result<()>> + Send {
        let number = super::with(|world| {
            let what = what(&world.process(self.node).disk);
            world.begin_on_disk(self.node, file, what, false)
        });
        poll_fn(move |context| {
            super::with(|world| {
                let process = world.process(self.node);
                let (up, disk) = (process.up, &mut process.disk);
                // Whoever has died is told nothing any more.
                if disk.done >= number && up {
                    let failed = disk.has_failed(number);
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
        Ok(super::with(|world| world.process(self.node).disk.read(&named(file, self.group))))
    }

    async fn append(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        super::with(|world| world.process(self.node).disk.append(&named(file, self.group), &bytes));
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
