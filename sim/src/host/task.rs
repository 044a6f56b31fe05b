//! Tasks of simulated processes.

use std::future::Future;

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct Task(madsim::task::AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Spawns a task on the process that the caller runs on.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Task {
    Task(madsim::task::spawn(task).abort_handle())
}

/// Spawns a task on the process that the caller runs on; it runs until it ends or the process does.
pub fn spawn_detached(task: impl Future<Output = ()> + Send + 'static) {
    drop(madsim::task::spawn(task));
}
