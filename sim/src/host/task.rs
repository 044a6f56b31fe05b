//! Tasks of simulated processes: those that are ready run in an order drawn from the seed, until all wait; a process's are
//! paused, resumed and dropped together.
//!
//! Wakers and queues are `async-task`'s. An executor of our own on top of it, because the world must know when no task is
//! ready any more, which executors keep to themselves.

use crate::world::stall::Stall;
use async_task::{Builder, Runnable};
use protocols::types::NodeId;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
};

/// Whose a task is; nobody's outside of processes.
type Owner = Option<NodeId>;
type Tasks = BTreeMap<u64, async_task::Task<(), Owner>>;

thread_local! {
    /// Tasks that were woken.
    static READY: RefCell<Vec<Runnable<Owner>>> = const { RefCell::new(Vec::new()) };
    /// Every task that has not ended, by its owner and number. Whatever is taken out of here is dropped by the executor when it
    /// next comes by.
    static ALL: RefCell<BTreeMap<Owner, Tasks>> = const { RefCell::new(BTreeMap::new()) };
    /// The process whose task runs now.
    static CURRENT: Cell<Owner> = const { Cell::new(None) };
    static SPAWNED: Cell<u64> = const { Cell::new(0) };
}

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct Task(Owner, u64);

impl Drop for Task {
    fn drop(&mut self) {
        forget(self.0, self.1);
    }
}

/// Spawns a task on the process that the caller runs on.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Task {
    let owner = CURRENT.get();
    Task(owner, spawn_on(owner, Box::pin(task)))
}

/// Spawns a task on the process that the caller runs on; it runs until it ends or the process does.
pub fn spawn_detached(task: impl Future<Output = ()> + Send + 'static) {
    spawn_on(CURRENT.get(), Box::pin(task));
}

/// Boxed here: `async-task`'s code, compiled anew for each future, was an eighth of what this crate compiles to.
fn spawn_on(owner: Owner, task: Pin<Box<dyn Future<Output = ()> + Send>>) -> u64 {
    let number = SPAWNED.get();
    SPAWNED.set(number + 1);
    let work = async move {
        task.await;
        forget(owner, number);
    };
    let (runnable, handle) = Builder::new().metadata(owner).spawn(|_| work, ready);
    ALL.with_borrow_mut(|all| all.entry(owner).or_default().insert(number, handle));
    runnable.schedule();
    number
}

fn ready(runnable: Runnable<Owner>) {
    // Nothing runs any more when the thread is being taken down.
    let _ = READY.try_with(|ready| ready.borrow_mut().push(runnable));
}

fn forget(owner: Owner, number: u64) {
    // Dropped when nothing is borrowed any more: that wakes it.
    drop(ALL.try_with(|all| all.borrow_mut().get_mut(&owner)?.remove(&number)));
}

/// Runs the tasks of one thread.
pub(super) struct Executor {
    random: ChaCha8Rng,
    paused: BTreeSet<NodeId>,
    /// Woken while their process was paused.
    parked: BTreeMap<NodeId, Vec<Runnable<Owner>>>,
    /// Steps of tasks at the world's time.
    stall: Stall,
    now: u64,
}

impl Executor {
    /// No task is there yet; who runs first is drawn from `random`.
    pub(super) fn new(random: ChaCha8Rng) -> Self {
        Executor { random, paused: BTreeSet::new(), parked: BTreeMap::new(), stall: Stall::default(), now: 0 }
    }

    /// Starts a process with this task.
    pub(super) fn start(&mut self, node: NodeId, main: impl Future<Output = ()> + Send + 'static) {
        spawn_on(Some(node), Box::pin(main));
    }

    /// The process is no more: its tasks are dropped, wherever they stand, before anything else of them runs.
    pub(super) fn kill(&mut self, node: NodeId) {
        drop(ALL.with_borrow_mut(|all| all.remove(&Some(node))));
        self.resume(node);
    }

    /// All processes are no more, and nothing is left of them.
    pub(super) fn kill_all(&mut self) {
        drop(ALL.take());
        self.paused.clear();
        std::mem::take(&mut self.parked).into_values().flatten().for_each(ready);
        self.run();
    }

    /// The process's tasks stand still.
    pub(super) fn pause(&mut self, node: NodeId) {
        self.paused.insert(node);
    }

    /// They go on.
    pub(super) fn resume(&mut self, node: NodeId) {
        self.paused.remove(&node);
        self.parked.remove(&node).into_iter().flatten().for_each(ready);
    }

    /// Does anything wait to run?
    pub(super) fn is_idle(&self) -> bool {
        READY.with_borrow(Vec::is_empty)
    }

    /// The world's time, nanoseconds.
    pub(super) fn follow(&mut self, now: u64) {
        self.now = now;
    }

    /// Runs what is ready, until everything waits.
    pub(super) fn run(&mut self) {
        while let Some(runnable) = self.next() {
            self.stall.event(self.now);
            let owner = *runnable.metadata();
            match owner.filter(|node| self.paused.contains(node)) {
                Some(node) => self.parked.entry(node).or_default().push(runnable),
                None => {
                    CURRENT.set(owner);
                    runnable.run();
                    CURRENT.set(None);
                }
            }
        }
    }

    fn next(&mut self) -> Option<Runnable<Owner>> {
        READY.with_borrow_mut(|ready| match ready.len() {
            0 | 1 => ready.pop(),
            several => Some(ready.swap_remove(self.random.next_u32() as usize % several)),
        })
    }
}
