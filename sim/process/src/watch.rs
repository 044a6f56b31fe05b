//! Notices that a process does not come back.
//!
//! A thread looks from time to time whether a process has taken its turn since the last look. This costs a turn nothing,
//! and nothing of it is heard of unless a process is lost: then it is killed, so that whoever waits for it goes on.

use crate::{
    control::{Control, Ended, Order, Reply},
    error,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

/// A process, as its watch sees it.
pub(crate) struct Watched {
    pid: u32,
    /// Counts up when the process is told to go, and when it has come back: an odd number is a turn.
    steps: AtomicU64,
    patience: Mutex<Duration>,
    end: Mutex<End>,
}

/// How it ended; and, if it did not come back, what it was doing.
#[derive(Clone, Default)]
pub(crate) struct End {
    pub(crate) how: Option<Ended>,
    pub(crate) stuck: Option<String>,
}

pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    pub(crate) fn new(pid: u32, patience: Duration) -> Arc<Watched> {
        let (steps, patience, end) = (AtomicU64::new(0), Mutex::new(patience), Mutex::default());
        Arc::new(Watched { pid, steps, patience, end })
    }

    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_patience(&self, patience: Duration) {
        *lock(&self.patience) = patience;
    }

    pub(crate) fn patience(&self) -> Duration {
        *lock(&self.patience)
    }

    /// Kills it and waits for its end, unless that has been done; returns how it ended.
    pub(crate) fn end(&self, control: &Mutex<Control>) -> End {
        let mut end = lock(&self.end);
        if end.how.is_none() {
            end.how = match lock(control).ask(&Order::Kill { pid: self.pid }) {
                Ok(Reply::Ended { how }) => Some(how),
                // Its zygote is gone, and it with it.
                _ => Some(Ended::Signal { number: 9 }),
            };
        }
        end.clone()
    }
}

/// The thread that looks. It ends when this is dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    over: Mutex<bool>,
    wake: Condvar,
    all: Mutex<Vec<Weak<Watched>>>,
}

impl Watch {
    /// # Errors
    /// The machine has no room for another thread.
    pub(crate) fn start(control: Weak<Mutex<Control>>, running_at: u64) -> std::io::Result<Watch> {
        let (over, all) = (Mutex::new(false), Mutex::default());
        let shared = Arc::new(Shared { over, wake: Condvar::new(), all });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new().name("watch".to_owned());
        let thread = thread.spawn(move || watch(&theirs, &control, running_at))?;
        Ok(Watch { shared, thread: Some(thread) })
    }

    pub(crate) fn add(&self, process: &Arc<Watched>) {
        let mut all = lock(&self.shared.all);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(process));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *lock(&self.shared.over) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // It has nothing to tell.
            let _: std::thread::Result<()> = thread.join();
        }
    }
}

fn watch(shared: &Shared, control: &Weak<Mutex<Control>>, running_at: u64) {
    let mut seen: BTreeMap<u32, (u64, Instant)> = BTreeMap::new();
    let mut over = lock(&shared.over);
    while !*over {
        over = shared.wake.wait_timeout(over, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        let all: Vec<Arc<Watched>> = lock(&shared.all).iter().filter_map(Weak::upgrade).collect();
        seen.retain(|pid, _| all.iter().any(|process| process.pid == *pid));
        for process in all {
            let steps = process.steps.load(Ordering::Relaxed);
            let (before, since) = seen.entry(process.pid).or_insert((steps, Instant::now()));
            if *before != steps || steps % 2 == 0 {
                (*before, *since) = (steps, Instant::now());
            } else if since.elapsed() >= process.patience() {
                // Before it is killed, as nothing can be seen of the dead.
                let doing = error::doing(process.pid, running_at);
                lock(&process.end).stuck.get_or_insert(doing);
                if let Some(control) = control.upgrade() {
                    process.end(&control);
                }
            }
        }
    }
}
