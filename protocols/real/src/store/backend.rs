//! Where ledgers are kept, and the one task that decides: it takes whatever is queued, has the backend decide on all of it
//! in one durable transaction, and only then answers.

use super::{
    loaded::BATCH_MAX,
    metrics::Metrics,
    wire::{self, Reply, Request, StateOf},
};
use protocols::types::Resource;
use std::{
    fmt,
    future::Future,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep,
};

/// How often a batch is tried that the database turned down, before those who wait for it are let go.
const TRIES: u32 = 10;
/// Between the first two tries; doubled up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Why there is no decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Nothing has changed; it may be tried again.
    Rejected(String),
    /// Perhaps it is durable, perhaps not; nobody may be told either.
    Unknown(String),
    /// Nothing can be kept any more, and whether the last batch was is unknown.
    Broken(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Rejected(why) => write!(f, "rejected: {why}"),
            Trouble::Unknown(why) => write!(f, "outcome unknown: {why}"),
            Trouble::Broken(why) => f.write_str(why),
        }
    }
}

/// A store that cannot be opened, or not go on: one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has its file open.
    #[error("the store {path} is in use by another process; stop that first", path = .0.display())]
    InUse(PathBuf),
    /// Its database, or what its audit is written to, has failed.
    #[error("{0}")]
    Failed(String),
}

/// Keeps ledgers, remembered requests and the audit.
pub trait Backend: Send + 'static {
    /// Decides on at most [`BATCH_MAX`] requests, in their order. When it returns, all that the decisions have changed, and
    /// the audit of them, is durable.
    ///
    /// # Errors
    /// See [`Trouble`].
    fn decide(&mut self, batch: &Arc<Vec<Request>>) -> impl Future<Output = Result<Vec<Reply>, Trouble>> + Send;
}

/// A request, and who waits for the answer. When it is dropped without one, the outcome is unknown.
#[derive(Debug)]
pub struct Job {
    /// What is asked.
    pub request: Request,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Reply>,
}

/// What the resources' states are asked by.
fn states() -> Arc<Vec<Request>> {
    let state = |resource: Resource| Request::State(StateOf { resource: resource.into() });
    Arc::new(wire::resources().map(state).collect())
}

/// Decides on jobs until nobody can send any more; what it decides on is counted, and refusals are logged.
///
/// # Errors
/// The backend is broken, in one sentence; jobs under way get no answer.
pub async fn keep(
    mut backend: impl Backend,
    mut jobs: mpsc::Receiver<Job>,
    metrics: Arc<Metrics>,
) -> Result<(), StoreError> {
    let mut waiting = Vec::with_capacity(BATCH_MAX);
    let states = states();
    match backend.decide(&states).await {
        Ok(replies) => metrics.decided(&states, &replies, Duration::ZERO),
        Err(Trouble::Broken(why)) => return Err(StoreError::Failed(why)),
        // The first that asks for something will see.
        Err(trouble) => tracing::warn!("the resources' states cannot be read: {trouble}"),
    }
    while jobs.recv_many(&mut waiting, BATCH_MAX).await > 0 {
        let mut pause = PAUSE_MIN;
        for attempt in 1..=TRIES {
            // What nobody waits for any more is as good as lost on the way.
            waiting.retain(|job: &Job| !job.reply.is_closed());
            if waiting.is_empty() {
                break;
            }
            let batch = Arc::new(waiting.iter().map(|job| job.request.clone()).collect::<Vec<_>>());
            let started = Instant::now();
            match backend.decide(&batch).await {
                Ok(replies) => {
                    metrics.decided(&batch, &replies, started.elapsed());
                    for (job, reply) in waiting.drain(..).zip(replies) {
                        // Whoever has gone meanwhile asks again.
                        let _ = job.reply.send(reply);
                    }
                    break;
                }
                Err(Trouble::Rejected(why)) if attempt < TRIES => {
                    tracing::warn!(requests = batch.len(), attempt, "the database turned a batch down: {why}");
                    sleep(pause).await;
                    pause = PAUSE_MAX.min(pause * 2);
                }
                Err(Trouble::Broken(why)) => return Err(StoreError::Failed(why)),
                Err(trouble) => {
                    tracing::warn!(requests = batch.len(), "a batch stays without an answer: {trouble}");
                    break;
                }
            }
        }
        waiting.clear();
    }
    Ok(())
}
