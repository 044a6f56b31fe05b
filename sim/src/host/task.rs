//! Tasks of simulated processes. Ready tasks run in an order drawn from the seed until all wait; a process's tasks are
//! paused, resumed and dropped together.
//!
//! Wakers and queues are `async-task`'s. The executor is our own because the world must know when no task is ready any
//! more, which other executors do not tell.

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

/// The process of a task; `None` outside of processes.
type Owner = Option<NodeId>;
type Tasks = BTreeMap<u64, async_task::Task<(), Whose>>;

/// For whom a task runs.
#[derive(Clone, Copy)]
struct Whose {
    owner: Owner,
    /// The process at the other end of the connection that it serves.
    caller: Owner,
}

thread_local! {
    /// Woken tasks.
    static READY: RefCell<Vec<Runnable<Whose>>> = const { RefCell::new(Vec::new()) };
    /// Unfinished tasks by owner and number. The executor drops a task that was removed from here at its next turn.
    static ALL: RefCell<BTreeMap<Owner, Tasks>> = const { RefCell::new(BTreeMap::new()) };
    /// The process whose task is running, and whose connection that task serves.
    static CURRENT: Cell<Whose> = const { Cell::new(Whose { owner: None, caller: None }) };
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

/// Spawns a task on the caller's process.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Task {
    let whose = CURRENT.get();
    Task(whose.owner, spawn_on(whose, Box::pin(task)))
}

/// Spawns a task on the caller's process, to run until it or the process ends.
pub fn spawn_detached(task: impl Future<Output = ()> + Send + 'static) {
    spawn_on(CURRENT.get(), Box::pin(task));
}

/// The process whose task is running.
pub fn current() -> Option<NodeId> {
    CURRENT.get().owner
}

/// The process whose connection the running task serves, as do the tasks that it spawns.
pub fn caller() -> Option<NodeId> {
    CURRENT.get().caller
}

/// What the running task spawns until it waits serves a connection of this process.
pub fn serve(caller: NodeId) {
    CURRENT.set(Whose { caller: Some(caller), ..CURRENT.get() });
}

/// Boxed because `async-task`'s code, compiled anew for each future type, was an eighth of this crate's code.
fn spawn_on(whose: Whose, task: Pin<Box<dyn Future<Output = ()> + Send>>) -> u64 {
    let (owner, number) = (whose.owner, SPAWNED.get());
    SPAWNED.set(number + 1);
    let work = async move {
        task.await;
        forget(owner, number);
    };
    let (runnable, handle) = Builder::new().metadata(whose).spawn(|_| work, ready);
    ALL.with_borrow_mut(|all| all.entry(owner).or_default().insert(number, handle));
    runnable.schedule();
    number
}

fn ready(runnable: Runnable<Whose>) {
    // Nothing runs any more while the thread is torn down.
    let _ = READY.try_with(|ready| ready.borrow_mut().push(runnable));
}

fn forget(owner: Owner, number: u64) {
    // Dropped when nothing is borrowed any more: that wakes it.
    drop(ALL.try_with(|all| all.borrow_mut().get_mut(&owner)?.remove(&number)));
}

pub(super) struct Executor {
    random: ChaCha8Rng,
    paused: BTreeSet<NodeId>,
    /// Tasks woken while their process was paused.
    parked: BTreeMap<NodeId, Vec<Runnable<Whose>>>,
    /// Counts task steps at one instant.
    stall: Stall,
    now: u64,
}

impl Executor {
    /// An executor without tasks; `random` draws which ready task runs first.
    pub(super) fn new(random: ChaCha8Rng) -> Self {
        Executor { random, paused: BTreeSet::new(), parked: BTreeMap::new(), stall: Stall::default(), now: 0 }
    }

    /// Draws from `random` from now on.
    pub(super) fn draw_from(&mut self, random: ChaCha8Rng) {
        self.random = random;
    }

    /// Starts a process with this task.
    pub(super) fn start(&mut self, node: NodeId, main: impl Future<Output = ()> + Send + 'static) {
        spawn_on(Whose { owner: Some(node), caller: None }, Box::pin(main));
    }

    /// The process ends: its tasks are dropped before any of them runs again.
    pub(super) fn kill(&mut self, node: NodeId) {
        drop(ALL.with_borrow_mut(|all| all.remove(&Some(node))));
        self.resume(node);
    }

    /// All processes end.
    pub(super) fn kill_all(&mut self) {
        drop(ALL.take());
        self.paused.clear();
        std::mem::take(&mut self.parked).into_values().flatten().for_each(ready);
        self.run();
    }

    /// Pauses the process's tasks.
    pub(super) fn pause(&mut self, node: NodeId) {
        self.paused.insert(node);
    }

    /// Resumes the process's tasks.
    pub(super) fn resume(&mut self, node: NodeId) {
        self.paused.remove(&node);
        self.parked.remove(&node).into_iter().flatten().for_each(ready);
    }

    /// Whether no task is ready.
    pub(super) fn is_idle(&self) -> bool {
        READY.with_borrow(Vec::is_empty)
    }

    /// Sets the time to the world's, in nanoseconds.
    pub(super) fn follow(&mut self, now: u64) {
        self.now = now;
    }

    /// Runs ready tasks until all wait.
    pub(super) fn run(&mut self) {
        while let Some(runnable) = self.next() {
            self.stall.event(self.now);
            let whose = *runnable.metadata();
            match whose.owner.filter(|node| self.paused.contains(node)) {
                Some(node) => self.parked.entry(node).or_default().push(runnable),
                None => {
                    CURRENT.set(whose);
                    runnable.run();
                    CURRENT.set(Whose { owner: None, caller: None });
                }
            }
        }
    }

    fn next(&mut self) -> Option<Runnable<Whose>> {
        READY.with_borrow_mut(|ready| match ready.len() {
            0 | 1 => ready.pop(),
            several => Some(ready.swap_remove(self.random.next_u32() as usize % several)),
        })
    }
}
