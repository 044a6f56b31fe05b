//! Counts what a leader has spawned and what has not ended yet.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct Tracker(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    running: watch::Sender<usize>,
    panicked: AtomicBool,
}

/// A running piece of work; dropped when it ends.
#[derive(Debug)]
pub(crate) struct Mark(Tracker);

impl Tracker {
    pub(crate) fn new() -> Self {
        Tracker(Arc::new(Shared { running: watch::Sender::new(0), panicked: AtomicBool::new(false) }))
    }

    /// Counts one more.
    pub(crate) fn enter(&self) -> Mark {
        self.0.running.send_modify(|running| *running += 1);
        Mark(self.clone())
    }

    pub(crate) fn is_idle(&self) -> bool {
        *self.0.running.borrow() == 0
    }

    /// Waits until nothing is running.
    pub(crate) async fn idle(&self) {
        let mut running = self.0.running.subscribe();
        // The sender lives as long as this tracker.
        let _ = running.wait_for(|running| *running == 0).await;
    }

    /// Whether any of it has panicked.
    pub(crate) fn has_panicked(&self) -> bool {
        self.0.panicked.load(Ordering::Acquire)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.0.panicked.store(true, Ordering::Release);
        }
        self.0.0.running.send_modify(|running| *running -= 1);
    }
}
