//! Disks: a folder of files per process. What was appended is safe from a crash of the process at once, and from a loss of
//! power when it was synced; any part of the rest may be lost, and the last write may be torn.

use super::{World, queue::Event};
use protocols::{
    core::Input,
    env::Disk,
    types::{MICROSECOND, NodeId},
};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenarios::streams;
use std::{
    collections::{BTreeMap, VecDeque},
    future::{Future, poll_fn},
    io,
    task::{Poll, Waker},
};

/// A sync takes at least this long, nanoseconds: a solid-state disk with a cache of its own.
const SYNC_MIN: u64 = 300 * MICROSECOND;
/// And up to so much longer.
const SYNC_JITTER: u64 = 400 * MICROSECOND;

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
    random: ChaCha8Rng,
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct File {
    content: Vec<u8>,
    /// So many bytes of it survive a loss of power.
    durable: usize,
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
            random: streams::stream(seed, &format!("disk/{name}")),
            waiting: Vec::new(),
        }
    }

    /// Adds to, or takes away from, the time that a sync takes; nanoseconds.
    pub fn slow(&mut self, extra: u64, on: bool) {
        self.extra = if on { self.extra + extra } else { self.extra.saturating_sub(extra) };
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
        let takes = SYNC_MIN + ((u64::from(self.random.next_u32()) * SYNC_JITTER) >> 32) + self.extra;
        self.free_at = self.free_at.max(now) + takes;
        self.numbers += 1;
        let number = self.numbers;
        self.under_way.push_back(Operation { number, file: file.to_owned(), what, for_core, starts });
        (number, self.free_at)
    }

    /// The oldest operation is done.
    fn finish(&mut self) -> Option<Operation> {
        let operation = self.under_way.pop_front()?;
        self.done = operation.number;
        self.carry_out(&operation);
        Some(operation)
    }

    fn carry_out(&mut self, operation: &Operation) {
        let file = self.files.entry(operation.file.clone()).or_default();
        match &operation.what {
            What::Sync(length) => file.durable = file.durable.max((*length).min(file.content.len())),
            What::Replace(bytes) => *file = File { content: bytes.clone(), durable: bytes.len() },
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
            } else if self.random.next_u32() & 1 == 0 {
                self.carry_out(&operation);
            }
        }
        self.under_way = going_on;
    }

    /// Power is gone: of what was not durable, a random part is left; of what was being replaced, the old or the new.
    pub fn lose_power(&mut self) {
        while let Some(operation) = self.under_way.pop_front() {
            // What was under way may have been done without anybody being told; if not, neither was all after it.
            if self.random.next_u32() & 1 == 0 {
                protocols::mark!(WorldSyncLost);
                self.under_way.clear();
                break;
            }
            self.carry_out(&operation);
        }
        self.done = self.numbers;
        self.free_at = 0;
        let random = &mut self.random;
        for file in self.files.values_mut() {
            let loose = file.content.len() - file.durable;
            if loose > 0 {
                protocols::mark!(WorldUnsynced);
                let kept = (u64::from(random.next_u32()) * (loose as u64 + 1)) >> 32;
                file.content.truncate(file.durable + kept as usize);
                file.durable = file.content.len();
            }
        }
    }
}

impl World {
    /// A core wants its state made durable.
    pub(super) fn persist(&mut self, node: NodeId, state: Vec<u8>) {
        self.begin_on_disk(node, protocols::candidate::STATE, What::Replace(state), true);
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
        let Some(operation) = process.disk.finish() else { return };
        let told = process.up && process.starts == operation.starts;
        let wakers = std::mem::take(&mut process.disk.waiting);
        self.trace.note(self.now, [0x26 | u64::from(node.0) << 8, number, 0], || format!("disk {node:?} {number}"));
        for waker in wakers {
            self.wake(Some(waker));
        }
        if operation.for_core && told {
            self.deliver(node, Input::Persisted);
        }
    }
}

/// A process's disk, as its tasks see it.
#[derive(Clone, Copy, Debug)]
pub struct SimDisk(pub(super) NodeId);

impl SimDisk {
    fn begin(self, file: &str, what: impl FnOnce(&Folder) -> What) -> impl Future<Output = io::Result<()>> + Send {
        let number = super::with(|world| {
            let what = what(&world.process(self.0).disk);
            world.begin_on_disk(self.0, file, what, false)
        });
        poll_fn(move |context| {
            super::with(|world| {
                let disk = &mut world.process(self.0).disk;
                if disk.done >= number {
                    return Poll::Ready(Ok(()));
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
        Ok(super::with(|world| world.process(self.0).disk.read(file)))
    }

    async fn append(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        super::with(|world| world.process(self.0).disk.append(file, &bytes));
        Ok(())
    }

    async fn sync(&self, file: &str) -> io::Result<()> {
        self.begin(file, |disk| What::Sync(disk.files.get(file).map_or(0, |f| f.content.len()))).await
    }

    async fn replace(&self, file: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.begin(file, |_| What::Replace(bytes)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk on which `first` was synced and `second` was not.
    fn half_synced(seed: u64) -> Folder {
        let mut disk = Folder::new(seed, "n1");
        disk.append("log", b"first");
        disk.begin(0, "log", What::Sync(5), false, 1);
        disk.finish();
        disk.append("log", b"second");
        disk
    }

    #[test]
    fn a_loss_of_power_keeps_what_was_synced_and_any_part_of_the_rest() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut disk = half_synced(seed);
            disk.lose_power();
            let left = disk.read("log").unwrap();
            assert!(b"firstsecond".starts_with(&left) && left.len() >= 5, "{left:?}");
            lengths.insert(left.len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), (5..=11).collect::<Vec<_>>());
    }

    #[test]
    fn a_crash_keeps_all_that_was_appended() {
        let mut disk = half_synced(1);
        disk.lose_process();
        assert_eq!(disk.read("log").as_deref(), Some(&b"firstsecond"[..]));
    }

    #[test]
    fn what_is_being_replaced_is_the_old_or_the_new() {
        for lose in [Folder::lose_power, Folder::lose_process] {
            let mut seen = std::collections::BTreeSet::new();
            for seed in 0..50 {
                let mut disk = half_synced(seed);
                disk.begin(0, "state", What::Replace(b"old".to_vec()), true, 1);
                disk.finish();
                disk.begin(0, "state", What::Replace(b"new".to_vec()), true, 1);
                lose(&mut disk);
                seen.insert(disk.read("state").unwrap());
                assert!(disk.under_way.is_empty());
            }
            assert_eq!(seen.into_iter().collect::<Vec<_>>(), [b"new".to_vec(), b"old".to_vec()]);
        }
    }

    #[test]
    fn a_sync_covers_what_was_there_when_it_began_and_goes_on_after_a_crash() {
        let mut disk = half_synced(1);
        disk.begin(0, "log", What::Sync(11), false, 1);
        disk.append("log", b"third");
        disk.lose_process();
        assert!(disk.finish().is_some());
        assert_eq!(disk.files["log"].durable, 11);
    }

    #[test]
    fn a_slow_disk_takes_longer_and_does_one_thing_after_the_other() {
        let mut disk = Folder::new(1, "n1");
        disk.slow(1_000_000, true);
        let (_, first) = disk.begin(0, "a", What::Sync(0), false, 1);
        let (_, second) = disk.begin(0, "b", What::Sync(0), false, 1);
        assert!(first >= 1_000_000 + SYNC_MIN && second >= first + 1_000_000 + SYNC_MIN);
        disk.slow(1_000_000, false);
        let (_, third) = disk.begin(second, "c", What::Sync(0), false, 1);
        assert!(third <= second + SYNC_MIN + SYNC_JITTER);
    }
}
