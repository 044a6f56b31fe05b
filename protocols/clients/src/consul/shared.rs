//! An agent's connections for many electors in one process.
//!
//! HTTP/1.1 has a connection carry one request at a time, and an agent lets one client address have 200 connections
//! (`http_max_conns_per_client`). A request that the agent answers at once needs a connection for a moment; a blocking
//! query holds one until the key changes. So electors take turns at a few connections for the former, and only so many
//! of their watches block; the others read their keys every two seconds.

use crate::{
    env::Env,
    http::{Answer, Ask, Http},
    queue::within,
    site::Endpoint,
};
use protocols::{error::Failure, types::SECOND};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many connections there are for requests that are answered at once.
const SHORT: usize = 24;
/// How many of those may be reading for watches, so that a renewal never waits behind a thousand of them.
const READING: usize = 8;
/// How many watches may block, on a connection each.
const BLOCKING: usize = 40;
/// The time between two reads of a watch that may not block, nanoseconds.
const PAUSE: u64 = 2 * SECOND;
/// The timeout of such a read, nanoseconds. A blocking query has none: the elector closes a watch that falls silent.
const READ_WITHIN: u64 = 2 * SECOND;

/// Clones share the connections.
#[derive(Clone)]
pub struct Connections<E: Env> {
    env: E,
    short: Http<E>,
    blocking: Http<E>,
    may_read: Arc<Semaphore>,
    may_block: Arc<Semaphore>,
}

/// A watch's leave to block, which it keeps until it ends.
pub(super) type Leave = Option<OwnedSemaphorePermit>;

impl<E: Env> Connections<E> {
    /// Those to the agent at this address. Dials when there is something to ask.
    pub fn new(env: E, agent: Endpoint) -> Self {
        Connections {
            short: Http::new(env.clone(), agent.clone()).at_most(SHORT),
            blocking: Http::new(env.clone(), agent),
            env,
            may_read: Arc::new(Semaphore::new(READING)),
            may_block: Arc::new(Semaphore::new(BLOCKING)),
        }
    }

    /// Sends a request that is answered at once.
    ///
    /// # Errors
    /// As for [`Http::ask`].
    pub(super) async fn ask(&self, ask: Ask) -> Result<Answer, Failure> {
        self.short.ask(ask).await
    }

    /// Waits for the next answer to a watch that has seen `index`; `ask` is its query beyond an index.
    ///
    /// # Errors
    /// As for [`Http::ask`], and unknown if a read takes too long.
    pub(super) async fn watch(
        &self,
        leave: &mut Leave,
        index: u64,
        ask: impl Fn(u64) -> Ask,
    ) -> Result<Answer, Failure> {
        // The first query does not block.
        if index > 0 {
            if leave.is_none() {
                *leave = self.may_block.clone().try_acquire_owned().ok();
            }
            if leave.is_some() {
                return self.blocking.ask(ask(index)).await;
            }
            self.env.sleep(PAUSE).await;
        }
        let _turn = self.may_read.acquire().await;
        within(&self.env, READ_WITHIN, self.short.ask(ask(0))).await
    }
}
