//! The storage of ledgers, and the single task that decides: it takes whatever is queued, has the backend decide on it
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

/// How often a batch that the database rejects is tried before its clients are let go.
const TRIES: u32 = 10;
/// The pause after the first attempt; doubled up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Why there is no decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Nothing has changed; a retry is safe.
    Rejected(String),
    /// The batch may or may not be durable, so its clients must not be answered.
    Unknown(String),
    /// The backend can store nothing any more; whether the last batch is durable is unknown.
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

/// Why a store cannot be opened or cannot continue, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has its file open.
    #[error("the store {path} is in use by another process; stop that first", path = .0.display())]
    InUse(PathBuf),
    /// Its database or the destination of its audit has failed.
    #[error("{0}")]
    Failed(String),
}

/// Stores ledgers, remembered requests and the audit.
pub trait Backend: Send + 'static {
    /// Decides on at most [`BATCH_MAX`] requests, in order. When it returns, all effects of the decisions and their
    /// audit are durable.
    ///
    /// # Errors
    /// See [`Trouble`].
    fn decide(&mut self, batch: &Arc<Vec<Request>>) -> impl Future<Output = Result<Vec<Reply>, Trouble>> + Send;
}

/// A request, and the way to its client. Dropping it without an answer means that the outcome is unknown.
#[derive(Debug)]
pub struct Job {
    pub request: Request,
    pub reply: oneshot::Sender<Reply>,
}

/// Requests for the states of all resources.
fn states() -> Arc<Vec<Request>> {
    let state = |resource: Resource| Request::State(StateOf { resource: resource.into() });
    Arc::new(wire::resources().map(state).collect())
}

/// Reads the resources' states for the metrics: the first thing that a store asks of its backend.
///
/// # Errors
/// The backend is broken, as one sentence.
pub async fn look(backend: &mut impl Backend, metrics: &Metrics) -> Result<(), StoreError> {
    let states = states();
    match backend.decide(&states).await {
        Ok(replies) => metrics.decided(&states, &replies, Duration::ZERO),
        Err(Trouble::Broken(why)) => return Err(StoreError::Failed(why)),
        // The first request will see the trouble.
        Err(trouble) => tracing::warn!("the resources' states cannot be read: {trouble}"),
    }
    Ok(())
}

/// Decides on jobs until all senders are gone; counts the decisions and logs the refusals.
///
/// # Errors
/// The backend is broken, as one sentence; jobs under way get no answer.
pub async fn keep(
    mut backend: impl Backend,
    mut jobs: mpsc::Receiver<Job>,
    metrics: Arc<Metrics>,
) -> Result<(), StoreError> {
    let mut waiting = Vec::with_capacity(BATCH_MAX);
    while jobs.recv_many(&mut waiting, BATCH_MAX).await > 0 {
        let mut pause = PAUSE_MIN;
        for attempt in 1..=TRIES {
            // A request whose client has gone might as well have been lost on the way.
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
                        // A client that has gone meanwhile asks again.
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
