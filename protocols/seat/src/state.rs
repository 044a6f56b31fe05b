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
        poll_fn(|context| {
            if over.as_mut().poll(context).is_ready() || self.over().is_some() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }

    /// Waits until the belief is over.
    pub(crate) async fn until_over(&self) -> Ended {
        let mut phase = self.phase.subscribe();
        loop {
            if let Phase::Over(why) | Phase::Done(why) = *phase.borrow_and_update() {
                return why;
            }
            if phase.changed().await.is_err() {
                return Ended::Lost;
            }
        }
    }
}
