//! Saves a member's records in order, on a separate task.

use super::{
    core::Record,
    journal,
    message::{Index, Term},
};
use protocols_clients::env::Env;
use std::io;
use tokio::sync::{mpsc, watch};

/// The end of the log on disk after a record.
pub type Saved = (Term, Index);

pub struct Saver<E: Env> {
    records: mpsc::UnboundedSender<(Record, Saved)>,
    /// The number of saved records, and the disk's error, if any.
    done: watch::Receiver<(u64, Option<io::ErrorKind>)>,
    asked: u64,
    _task: E::Task,
}

impl<E: Env> Saver<E> {
    /// Starts without records; `tell` is called for each record saved.
    pub fn start(env: &E, tell: impl Fn(Saved) + Send + Sync + 'static) -> Self {
        let (records, mut coming) = mpsc::unbounded_channel::<(Record, Saved)>();
        let (sender, done) = watch::channel((0, None));
        let disk = env.disk();
        let task = env.spawn(async move {
            while let Some((record, saved)) = coming.recv().await {
                if let Err(error) = journal::save(&disk, &record).await {
                    sender.send_modify(|done| done.1 = Some(error.kind()));
                    return;
                }
                tell(saved);
                sender.send_modify(|done| done.0 += 1);
            }
        });
        Saver { records, done, asked: 0, _task: task }
    }

    /// Queues a record.
    pub fn save(&mut self, record: Record, saved: Saved) {
        self.asked += 1;
        // The task ends when the disk fails, which `done` reports.
        let _ = self.records.send((record, saved));
    }

    /// Waits until the disk has failed.
    pub async fn failed(&mut self) -> io::Error {
        let failed = self.done.wait_for(|done| done.1.is_some()).await.ok().and_then(|done| done.1);
        match failed {
            Some(kind) => kind.into(),
            None => std::future::pending().await,
        }
    }

    /// Waits until everything is saved, and calls `meanwhile` at the given interval, if any.
    ///
    /// # Errors
    /// A disk error.
    pub async fn wait(&mut self, env: &E, every: Option<u64>, meanwhile: impl Fn() + Send) -> io::Result<()> {
        loop {
            let (asked, done) = (self.asked, &mut self.done);
            let saved = async {
                let seen = done.wait_for(|done| done.0 >= asked || done.1.is_some()).await;
                seen.map_or(Some(io::ErrorKind::Other), |done| done.1)
            };
            match env.timeout(every.unwrap_or(u64::MAX), saved).await {
                None => meanwhile(),
                Some(failed) => return failed.map_or(Ok(()), |kind| Err(kind.into())),
            }
        }
    }
}
