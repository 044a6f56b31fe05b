//! Linearizable reads: one round of heartbeats serves all reads requested before it (etcd: `linearizableReadLoop`,
//! `requestCurrentIndex`).

use super::{Member, PATIENCE, Unread, lock};
use crate::service::cluster::message::Index;
use protocols::types::MILLISECOND;
use protocols_clients::env::Env;
use std::sync::Arc;
use tokio::sync::mpsc;

/// How long until an unconfirmed read is requested again (`readIndexRetryTime`), in nanoseconds.
const READ_AGAIN: u64 = 500 * MILLISECOND;

impl<E: Env> Member<E> {
    /// One read at a time serves all those requested before it (`linearizableReadLoop`).
    pub(super) async fn read(self: Arc<Self>, mut confirmed: mpsc::UnboundedReceiver<(u64, Index)>) {
        let mut number = 0;
        loop {
            self.wants.notified().await;
            let waiting = std::mem::take(&mut *lock(&self.waiting));
            if waiting.is_empty() {
                continue;
            }
            number += 1;
            let answer = self.confirm(number, &mut confirmed).await;
            for waits in waiting {
                // The waiter may have timed out.
                let _ = waits.send(answer);
            }
        }
    }

    async fn confirm(
        &self,
        number: u64,
        confirmed: &mut mpsc::UnboundedReceiver<(u64, Index)>,
    ) -> Result<Index, Unread> {
        let mut changes = self.changes();
        let until = self.env.now().mono + PATIENCE;
        let mut again_at = 0;
        loop {
            let now = self.env.now().mono;
            if now >= until {
                return Err(Unread::TimedOut);
            }
            if now >= again_at {
                again_at = now + READ_AGAIN;
                self.step(|core| core.read(number));
            }
            tokio::select! {
                biased;
                Some((of, index)) = confirmed.recv() => {
                    // A late confirmation of an earlier read says nothing about this one.
                    if of == number {
                        return Ok(index);
                    }
                }
                Ok(()) = changes.changed() => {
                    if changes.borrow_and_update().leader.is_some() {
                        return Err(Unread::LeaderChanged);
                    }
                }
                () = self.env.sleep_until(again_at.min(until)) => {}
            }
        }
    }
}
