//! What a campaign's driver, its term and its leads share.

use crate::{ended::Ended, tracker::Tracker};
use protocols::types::NodeId;
use protocols_clients::env::{Env, tokio::TokioEnv};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
};
use tokio::sync::{mpsc, watch};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Campaigning,
    Leading {
        token: u64,
    },
    /// The belief is over. Nothing is released before the work has stopped.
    Over(Ended),
    /// The driver has ended.
    Done(Ended),
}

/// Who leads after a leader that was asked to finish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Successor {
    Anybody,
    Named(NodeId),
}

/// An order to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// The resource refused the token.
    Refused,
    /// Something that the leader spawned has panicked.
    Panicked,
    /// The closure has ended: wait for what it spawned, then release the lease, if `release` and if that has stopped
    /// in time.
    Finish { release: bool },
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) env: TokioEnv,
    /// This campaign's own number.
    pub(crate) nonce: u64,
    pub(crate) phase: watch::Sender<Phase>,
    /// The end of the belief, nanoseconds of the monotonic clock.
    pub(crate) deadline: AtomicU64,
    pub(crate) tracker: Tracker,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
    /// Whether the leader has been asked to finish, and who is to lead then.
    pub(crate) resigning: watch::Receiver<Option<Successor>>,
}

impl State {
    pub(crate) fn order(&self, order: Order) {
        // A driver that has ended has nothing left to do.
        let _ = self.orders.send(order);
    }

    /// Why the belief is over; `None` while it holds. The clock is read anew: a process may have been paused since the
    /// last timer.
    pub(crate) fn over(&self) -> Option<Ended> {
        match *self.phase.borrow() {
            Phase::Over(why) | Phase::Done(why) => Some(why),
            Phase::Campaigning => Some(Ended::Lost),
            Phase::Leading { .. } if self.env.now().mono >= self.deadline.load(Ordering::Acquire) => {
                Some(Ended::Expired)
            }
            Phase::Leading { .. } => None,
        }
    }

    /// Runs `work` while the leadership lasts, and drops it then. The clock is read before each step: after a pause the
    /// work must not go on before the driver has noticed.
    pub(crate) async fn while_leading<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (mut work, mut over) = (pin!(work), pin!(self.until_over()));
        poll_fn(|context| match over.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => work.as_mut().poll(context).map(Some),
        })
        .await
    }

    /// Waits until the belief is over. The clock is read at each poll: after a pause whoever waits for this must learn it
    /// before the driver has.
    pub(crate) async fn until_over(&self) -> Ended {
        let mut phase = self.phase.subscribe();
        let mut told = pin!(phase.wait_for(|phase| matches!(phase, Phase::Over(_) | Phase::Done(_))));
        poll_fn(|context| {
            // For its wake-up; the reference that it gives would block the next borrow.
            let told = told.as_mut().poll(context).map(drop);
            match self.over() {
                Some(why) => Poll::Ready(why),
                None => told.map(|()| Ended::Lost),
            }
        })
        .await
    }

    /// Waits until the driver has ended.
    pub(crate) async fn until_done(&self) -> Ended {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as this.
        match phase.wait_for(|phase| matches!(phase, Phase::Done(_))).await.map(|phase| *phase) {
            Ok(Phase::Done(why)) => why,
            _ => Ended::UncleanStop,
        }
    }
}
